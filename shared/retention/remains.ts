import { countRegistrations } from '../delegation/count.ts';
import { dependenciesOf } from '../delegation/dependencies.ts';
import type { Dependency } from '../delegation/formats.ts';
import { dedupKeyOf, keys } from '../storage/keys.ts';
import type { StoredItem } from '../storage/port.ts';
import type { TableName } from '../storage/tables.ts';
import {
  contentOf,
  deleteItems,
  deleteValues,
  placesOfContent,
  type ValuePlace,
} from '../tasks/content-places.ts';
import { FORMAT, isTombstone, revisionOf } from '../tasks/formats.ts';
import type { StateServices } from '../tasks/services.ts';
import { placeOf, workingName } from '../tasks/working.ts';

/** Tombstones of head and view stay this long, so that nothing late brings the task back (design §7). */
const TOMBSTONE_MS = 24 * 3_600_000;

/** What a tombstone tells until the rest of the task is gone. */
interface Tombstone {
  readonly client: string;
  readonly copies: readonly string[];
  readonly working?: string;
  readonly messages: number;
}

/**
 * Removes everything that a purge left but the tombstones. The view's tombstone comes first, so that no late projector
 * publishes anything behind the removal. What says where other items lie goes after them: dependencies, then revisions;
 * last of all the tombstone stops being due and begins to expire. Harmless to repeat; `false`: there was nothing to do.
 */
export async function removeRemains(services: StateServices, task: string): Promise<boolean> {
  const item = await services.store.get('state', keys.head(task), { consistent: true });
  if (!item || !isTombstone(item) || item['da'] === undefined) return false;
  const tombstone = item as unknown as Tombstone;
  const ttl = Math.ceil((services.clock.now() + TOMBSTONE_MS) / 1000);
  const view = { ...keys.view(task), v: FORMAT, gone: true, ttl };
  await services.store.write({ kind: 'put', table: 'view', item: view });
  await deletePartition(services, 'view', keys.view(task).pk, keys.journalPrefix);
  await deletePartition(services, 'outbox', keys.pushConfig(task, '').pk);

  const found = await readPartition(services, 'state', keys.head(task).pk, keys.revisionPrefix);
  const revisions = found.map(revisionOf);
  const content = contentOf(revisions);
  for (const copy of tombstone.copies) await deleteValues(services, placesOfContent(task, content, copy));
  const dependencies = await dependenciesOf(services, task);
  await deleteValues(services, workingPlaces(task, tombstone, dependencies));
  for (const dependency of dependencies) await removeDependency(services, dependency);
  const digests = revisions.flatMap(({ dedup }) => (dedup ? [dedup] : []));
  const entries = digests.map((digest) => dedupKeyOf(tombstone.client, digest));
  await deleteItems(services, 'state', entries, { attribute: 'task', is: '=', value: task });
  await deleteItems(services, 'state', found);
  await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(task),
    changes: { set: { ttl }, remove: ['ds', 'da', 'client', 'copies', 'messages', 'working'] },
    when: [{ attribute: 'gone', is: '=', value: true }],
  });
  return true;
}

/** Everything that the run may have kept. */
function workingPlaces(
  task: string,
  { working, messages }: Tombstone,
  dependencies: readonly Dependency[],
): ValuePlace[] {
  if (working === undefined) return [];
  const names = [
    ...[workingName.draft(), workingName.turn()],
    ...Array.from({ length: messages }, (_, i) => workingName.message(i + 1)),
    ...dependencies.flatMap(({ id }) => [
      ...[workingName.outgoing(id), workingName.credential(id)],
      ...[workingName.question(id), workingName.answer(id)],
    ]),
  ];
  return names.map((name) => placeOf(task, { id: working }, name));
}

/** A dependency with its callback address: callbacks to it are answered like those to an unknown one from now on. */
async function removeDependency(
  services: StateServices,
  { task, id, registration }: Dependency,
): Promise<void> {
  if (registration !== undefined) {
    const remove = { kind: 'delete', table: 'delegation', key: keys.registration(registration) } as const;
    const open = [{ attribute: 'state', is: '=', value: 'open' }] as const;
    const counted = await services.store.transact(
      [{ ...remove, when: open }, countRegistrations(-1)],
      services.random.uuid(),
    );
    if (counted.kind === 'refused') await services.store.write(remove);
  }
  await services.store.write({ kind: 'delete', table: 'delegation', key: keys.dependency(task, id) });
}

async function deletePartition(
  services: StateServices,
  table: TableName,
  partition: string,
  prefix?: string,
): Promise<void> {
  await deleteItems(services, table, await readPartition(services, table, partition, prefix));
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
