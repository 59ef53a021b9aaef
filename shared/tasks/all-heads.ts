import type { Clock } from '../runtime/ports.ts';
import { keys } from '../storage/keys.ts';
import type { Store } from '../storage/port.ts';
import { given, type Head, liveHead } from './formats.ts';

/** Where a walk over all heads stands; plain JSON, so that it can be kept and taken up again. */
export interface HeadCursor {
  readonly shard: number;
  readonly after?: Readonly<Record<string, string>>;
}

const PAGE = 50;

/**
 * Visits the heads from the cursor on, a page of them at most, and stops early once `until` (epoch ms) has passed, yet
 * never before the first. Answers where to go on; `undefined`: that was all.
 *
 * Every task stands in the due index from its creation to its purge. One that ends moves forward in it, so a walk that
 * has not come to its end yet still meets it. One that is resumed may move behind the walk, and the index lags: those who
 * must not miss any walk twice.
 */
export async function visitHeads(
  services: { readonly store: Store; readonly clock: Pick<Clock, 'now'> },
  cursor: HeadCursor | undefined,
  until: number,
  visit: (head: Head) => Promise<void>,
): Promise<HeadCursor | undefined> {
  const shards = keys.dueShards();
  const { shard, after } = cursor ?? { shard: 0 };
  const partition = shards[shard];
  if (partition === undefined) return undefined;
  const page = await services.store.query({
    table: 'state',
    index: 'due',
    partition,
    limit: PAGE,
    ...given({ after }),
  });
  const items = await services.store.getMany(
    page.items.map(({ pk, sk }) => ({ table: 'state' as const, key: { pk, sk } })),
  );
  for (const [i, { pk, sk, ds, da }] of page.items.entries()) {
    const head = liveHead(items[i]);
    if (!head) continue;
    await visit(head);
    if (services.clock.now() >= until) return { shard, after: { pk, sk, ds: String(ds), da: String(da) } };
  }
  if (page.next) return { shard, after: page.next };
  return shard + 1 < shards.length ? { shard: shard + 1 } : undefined;
}

/** How many there are, about. */
export async function countHeads(services: { readonly store: Store }): Promise<number> {
  const counts = keys
    .dueShards()
    .map((partition) => services.store.count({ table: 'state', index: 'due', partition }));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
