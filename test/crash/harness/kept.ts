import { purgeTask } from '../../../shared/retention/index.ts';
import { keys, type StoredItem, type TableName } from '../../../shared/storage/index.ts';
import { isTombstone, liveHead } from '../../../shared/tasks/formats.ts';
import { openAll } from '../../ceilings/rig.ts';
import type { RemoteClient } from './remote-client.ts';
import type { World } from './world.ts';

/** What may be left of what a scenario sent and got. */
export interface Keeping {
  /** Words that must not be readable any more, by anybody. */
  readonly gone: readonly string[];
  /** `COMPLETED`, `FAILED RESULT_NOT_RETAINED`, `purged`: what tasks may have come to. */
  readonly ends: readonly string[];
  /** Texts of the artifacts of a task that is kept as COMPLETED. */
  readonly artifacts?: readonly string[];
}

const TABLES = ['state', 'view', 'outbox', 'delegation'] as const;
type Tables = Record<(typeof TABLES)[number], StoredItem[]>;

/**
 * Holds a world at rest to P1, P5, P9 and P12: how tasks ended, that nothing can be opened which must be gone, that what
 * is COMPLETED has its artifacts, and that a purge of everything then leaves nothing but tombstones: so that nothing
 * stands anywhere of which no head knows.
 */
export async function brokenKeeping(
  world: World,
  clients: readonly RemoteClient[],
  { gone, ends, artifacts }: Keeping,
): Promise<string[]> {
  const found: string[] = [];
  const items = await dumpAll(world);
  const opened = await openAll(world, items);
  for (const word of gone) if (opened.some((text) => text.includes(word))) found.push(`${word} can be read`);
  const log = JSON.stringify(world.log.lines);
  for (const word of gone) if (log.includes(word)) found.push(`${word} stands in the log`);

  const heads = items.state.filter(({ sk }) => sk === keys.head('').sk);
  for (const item of heads) {
    const id = item.pk.slice(2);
    const say = (words: string) => found.push(`task ${id.slice(0, 8)}: ${words}`);
    const head = liveHead(item);
    const end = head
      ? [head.state.replace('TASK_STATE_', ''), head.reason].filter(Boolean).join(' ')
      : 'purged';
    if (!ends.includes(end)) say(`it ended as ${end}, not as ${ends.join(' or ')}`);
    if (!head && item['da'] !== undefined) say('its remains are not removed');
    if (head && (head.run !== 'ended' || head.working || head.lease)) say(`its run is left as ${head.run}`);
    const { result, error } = await world.gateway.call('alice', 'GetTask', { id });
    if (!head && error?.code !== -32001) say('it is shown, though purged');
    if (head && error) say(`GetTask answers ${JSON.stringify(error)}`);
    if (head?.state === 'TASK_STATE_COMPLETED' && artifacts) {
      const texts = (result?.artifacts ?? []).map((one: { parts: { text: string }[] }) => one.parts[0]?.text);
      if (JSON.stringify(texts) !== JSON.stringify(artifacts))
        say(`its artifacts are ${JSON.stringify(texts)}`);
    }
    const revisions = items.state.filter(
      ({ pk, sk }) => pk === item.pk && sk.startsWith(keys.revisionPrefix),
    );
    const endings = revisions.filter(({ state }) => /COMPLETED|FAILED|CANCELED|REJECTED/.test(String(state)));
    if (head && endings.length !== 1) say(`it has ${endings.length} endings`);
  }
  for (const client of clients)
    for (const answer of client.internal) found.push(`a client was told ${JSON.stringify(answer.error)}`);
  found.push(...(await leftAfterPurge(world, heads)));
  return found;
}

async function leftAfterPurge(world: World, heads: readonly StoredItem[]): Promise<string[]> {
  for (const item of heads) await purgeTask(world.gateway.services, item.pk.slice(2));
  const left = await dumpAll(world);
  return TABLES.flatMap((table) =>
    left[table].flatMap((item) =>
      isTombstone(item) ? [] : [`a purge leaves ${table} ${item.pk} ${item.sk}`],
    ),
  );
}

async function dumpAll(world: World): Promise<Tables> {
  const tables = {} as Tables;
  for (const table of TABLES) tables[table] = await allOf(world, table);
  return tables;
}

async function allOf(world: World, table: TableName): Promise<StoredItem[]> {
  const items: StoredItem[] = [];
  let after: Readonly<Record<string, string>> | undefined;
  do {
    const page = await world.store.scan(table, after);
    items.push(...page.items);
    after = page.next;
  } while (after);
  return items;
}
