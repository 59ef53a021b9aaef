import { keys } from '../storage/keys.ts';
import type { Store } from '../storage/port.ts';
import { type Head, isTombstone, liveHead } from './formats.ts';

/** Where a walk over all heads stands; plain JSON, so that it can be kept and taken up again. */
export interface HeadCursor {
  readonly shard: number;
  readonly after?: Readonly<Record<string, string>>;
}

const PAGE = 50;

/**
 * A page of heads, by the due index: every task stands there from its creation to its purge, and entries only ever move
 * forward, so a walk may meet a task twice and misses none that was there before it began (but for the index's lag,
 * which is why those who must not miss any walk twice).
 */
export async function headsFrom(
  services: { readonly store: Store },
  cursor: HeadCursor | undefined,
): Promise<{ readonly heads: readonly Head[]; readonly next?: HeadCursor }> {
  const shards = keys.dueShards();
  const { shard, after } = cursor ?? { shard: 0 };
  const partition = shards[shard];
  if (partition === undefined) return { heads: [] };
  const page = await services.store.query({
    table: 'state',
    index: 'due',
    partition,
    limit: PAGE,
    ...(after ? { after } : {}),
  });
  const items = await services.store.getMany(
    page.items.map(({ pk, sk }) => ({ table: 'state' as const, key: { pk, sk } })),
  );
  const heads = items.flatMap((item) => (item && !isTombstone(item) ? [liveHead(item)!] : []));
  if (page.next) return { heads, next: { shard, after: page.next } };
  return shard + 1 < shards.length ? { heads, next: { shard: shard + 1 } } : { heads };
}

/** How many there are, about. */
export async function countHeads(services: { readonly store: Store }): Promise<number> {
  const counts = keys
    .dueShards()
    .map((partition) => services.store.count({ table: 'state', index: 'due', partition }));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
