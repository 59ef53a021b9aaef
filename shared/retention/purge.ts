import { contentOf, deleteAll, keysOfContent } from '../ceilings/rewrite.ts';
import { countRegistrations } from '../delegation/count.ts';
import { dependenciesOf } from '../delegation/dependencies.ts';
import type { Dependency } from '../delegation/formats.ts';
import { dedupKeyOf, keys } from '../storage/keys.ts';
import type { Action, Key, StoredItem } from '../storage/port.ts';
import type { TableName } from '../storage/tables.ts';
import { FORMAT, type Head, isTombstone, liveHead, revisionOf } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { StateServices } from '../tasks/services.ts';
import { workingName } from '../tasks/working.ts';

/** Tombstones of head and view stay this long, so that nothing late brings the task back (design §7). */
const TOMBSTONE_MS = 24 * 3_600_000;
const TRIES = 20;

export type Purged = 'purged' | 'unknown';

/**
 * Takes a task away for good (P12). One acknowledged write drops the salts and the content of the head, and with it the
 * push configs, so that no attempt starts any more; from then on the gateway can read nothing of the task. What remains
 * of it is removed after that, resumably: the tombstone stays due until all is gone.
 */
export async function purgeTask(services: StateServices, task: string, only?: Head): Promise<Purged> {
  for (let tries = 0, head = only ?? (await readHead(services, task)); tries < TRIES; tries++) {
    if (!head) return 'unknown';
    const outcome = await services.store.transact(
      purgeActions(head, services.clock.now()),
      services.random.uuid(),
    );
    if (outcome.kind === 'done') {
      services.metrics.count('TaskPurged');
      await removeRemains(services, task);
      return 'purged';
    }
    // A task that changed since it was found due is not purged for being old; one that is purged on demand is.
    if (only) return 'unknown';
    head = await readHead(services, task);
  }
  throw new Error('the task changed too often to be purged');
}

/** What a tombstone keeps, ids only, so that the rest of the task can be found and removed. */
interface Tombstone {
  readonly client: string;
  readonly copies: readonly string[];
  readonly working?: string;
  readonly messages: number;
}

function purgeActions(head: Head, now: number): Action[] {
  const item: StoredItem = {
    ...keys.head(head.task),
    v: FORMAT,
    gone: true,
    client: head.client,
    copies: [head.copy, ...(head.oldCopy ? [head.oldCopy] : [])],
    messages: head.messages,
    ...(head.working ? { working: head.working.id } : {}),
    ttl: Math.ceil((now + TOMBSTONE_MS) / 1000),
    ds: keys.dueShard(head.task),
    da: keys.dueAt(now),
  };
  return [
    {
      kind: 'put',
      table: 'state',
      item,
      when: [
        { attribute: 'rev', is: '=', value: head.revision },
        { attribute: 'copy', is: '=', value: head.copy },
        { attribute: 'configsEdition', is: '=', value: head.configsEdition },
      ],
    },
    ...head.configs.map(
      ({ id }): Action => ({ kind: 'delete', table: 'outbox', key: keys.pushConfig(head.task, id) }),
    ),
    ...(head.approval ? [{ kind: 'delete', table: 'state', key: keys.approval(head.task) } as const] : []),
  ];
}

/**
 * Removes everything that a purge left but the tombstones. The revisions say where the content lies, so they go last;
 * then the tombstone is due no more. Harmless to repeat; `false`: there is no tombstone.
 */
export async function removeRemains(services: StateServices, task: string): Promise<boolean> {
  const item = await services.store.get('state', keys.head(task), { consistent: true });
  if (!item || !isTombstone(item)) return false;
  const tombstone = item as unknown as Tombstone;
  const ttl = Number(item['ttl']);
  await services.store.write({
    kind: 'put',
    table: 'view',
    item: { ...keys.view(task), v: FORMAT, gone: true, ttl },
  });
  await deletePartition(services, 'view', keys.view(task).pk, keys.journalPrefix);
  await deletePartition(services, 'outbox', keys.pushConfig(task, '').pk);
  const found = await readPartition(services, 'state', keys.head(task).pk, keys.revisionPrefix);
  const revisions = found.map(revisionOf);
  const content = contentOf(revisions);
  for (const copy of tombstone.copies) {
    await deleteAll(services, await withRest(services, keysOfContent(task, content, copy)));
  }
  const dependencies = await dependenciesOf(services, task);
  await deleteAll(services, await withRest(services, workingKeys(task, tombstone, dependencies)));
  for (const dependency of dependencies) await removeDependency(services, dependency);
  await deleteAll(
    services,
    revisions.flatMap(({ dedup }) => (dedup ? [dedupKeyOf(tombstone.client, dedup)] : [])),
    { attribute: 'task', is: '=', value: task },
  );
  await deleteAll(
    services,
    found.map(({ pk, sk }) => ({ pk, sk })),
  );
  await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(task),
    changes: { remove: ['ds', 'da', 'client', 'copies', 'messages', 'working'] },
    when: [{ attribute: 'gone', is: '=', value: true }],
  });
  return true;
}

/** Whether what stands there is a tombstone whose task still has remains, and not a head. */
export function hasRemains(item: StoredItem): boolean {
  return liveHead(item) === undefined && item['da'] !== undefined;
}

/** Names of everything a run may have kept, one slice each; `withRest` finds further ones. */
function workingKeys(task: string, tombstone: Tombstone, dependencies: readonly Dependency[]): Key[] {
  const { working, messages } = tombstone;
  if (working === undefined) return [];
  const names = [
    workingName.draft(),
    workingName.turn(),
    ...Array.from({ length: messages }, (_, i) => workingName.message(i + 1)),
    ...dependencies.flatMap(({ id }) => [
      workingName.outgoing(id),
      workingName.credential(id),
      workingName.question(id),
      workingName.answer(id),
    ]),
  ];
  return names.map((name) => keys.working(task, `${working}.${name}`, 0));
}

/** A dependency with its registration, which counts no more; a callback meets an address that is unknown. */
async function removeDependency(
  services: StateServices,
  { task, id, registration }: Dependency,
): Promise<void> {
  if (registration !== undefined) {
    const key = keys.registration(registration);
    const open = [{ attribute: 'state', is: '=', value: 'open' } as const];
    const outcome = await services.store.transact(
      [{ kind: 'delete', table: 'delegation', key, when: open }, countRegistrations(-1)],
      services.random.uuid(),
    );
    if (outcome.kind === 'refused') await services.store.write({ kind: 'delete', table: 'delegation', key });
  }
  await services.store.write({ kind: 'delete', table: 'delegation', key: keys.dependency(task, id) });
}

/** First slices know how many there are: those behind the ones that are known are added. */
async function withRest(services: StateServices, known: readonly Key[]): Promise<Key[]> {
  const items = await services.store.getMany(known.map((key) => ({ table: 'state' as const, key })));
  const rest = items.flatMap((item) => {
    const of = Number(item?.['of'] ?? 0);
    if (!item || of < 2) return [];
    const stem = item.pk.slice(0, item.pk.lastIndexOf('#'));
    return Array.from({ length: of - 1 }, (_, i) => ({ pk: `${stem}#${i + 1}`, sk: item.sk }));
  });
  return [...known, ...rest];
}

async function deletePartition(
  services: StateServices,
  table: TableName,
  partition: string,
  prefix?: string,
): Promise<void> {
  for (const { pk, sk } of await readPartition(services, table, partition, prefix)) {
    await services.store.write({ kind: 'delete', table, key: { pk, sk } });
  }
}

async function readPartition(
  services: StateServices,
  table: TableName,
  partition: string,
  prefix?: string,
): Promise<StoredItem[]> {
  const items: StoredItem[] = [];
  let after: Readonly<Record<string, string>> | undefined;
  do {
    const page = await services.store.query({
      table,
      partition,
      consistent: true,
      ...(prefix === undefined ? {} : { sort: { prefix } }),
      ...(after ? { after } : {}),
    });
    items.push(...page.items);
    after = page.next;
  } while (after);
  return items;
}
