import { isDeepStrictEqual } from 'node:util';
import { isTerminal } from '../../../shared/protocol/index.ts';
import { keys, type StoredItem } from '../../../shared/storage/index.ts';
import {
  advance,
  type Head,
  headOf,
  type Revision,
  revisionOf,
  type View,
  viewOf,
} from '../../../shared/tasks/formats.ts';
import { isRevision, type Write } from './ledger.ts';
import { brokenSights, brokenStreams } from './observers.ts';
import type { RemoteClient } from './remote-client.ts';
import type { World } from './world.ts';

/** What must hold beside the promises: what this scenario may come to. */
export interface Expected {
  /** `COMPLETED`, or `FAILED EXECUTION_FAILED`: state and reason that a task may end with. */
  readonly ends: readonly string[];
  /** Texts of the artifacts of a completed task. */
  readonly artifacts?: readonly string[];
  /** Tasks that exist; default 1. */
  readonly tasks?: number;
}

export interface TaskDump {
  readonly id: string;
  readonly head?: Head;
  readonly headItem?: StoredItem;
  readonly revisions: readonly Revision[];
  readonly view?: View;
  readonly viewItem?: StoredItem;
  readonly journal: readonly Revision[];
}

/**
 * Holds a world at rest to P1 to P6. Answers what is broken, in words; empty when all holds.
 */
export async function broken(
  world: World,
  clients: readonly RemoteClient[],
  expected: Expected,
): Promise<string[]> {
  const { state, tasks } = await dump(world);
  const found: string[] = [];
  const count = expected.tasks ?? 1;
  if (tasks.length !== count) found.push(`${tasks.length} tasks exist, not ${count}`);
  for (const task of tasks) {
    const name = `task ${task.id.slice(0, 8)}`;
    const say = (words: string) => found.push(`${name}: ${words}`);
    checkHead(task, expected, say);
    checkRevisions(world, task, say);
    checkPublished(world, task, say);
    checkContent(task, state, say);
    checkProvider(world, task, say);
    await checkShown(world, task, expected, say);
  }
  const known = new Set(tasks.map(({ id }) => id));
  for (const client of clients) {
    for (const task of client.handed)
      if (!known.has(task)) found.push(`the id ${task} was handed out and is unknown`);
    for (const answer of client.internal) found.push(`a client was told ${JSON.stringify(answer.error)}`);
  }
  found.push(...brokenSights(tasks, clients), ...brokenStreams(tasks, clients));
  return found;
}

/** P5, P6: one ending, nothing that still moves, nothing due but its purge. */
function checkHead(
  { head, headItem, revisions }: TaskDump,
  expected: Expected,
  say: (words: string) => void,
) {
  if (!head) return say('it has no head');
  const end = [head.state.replace('TASK_STATE_', ''), head.reason].filter(Boolean).join(' ');
  if (!expected.ends.includes(end)) say(`it ended as ${end}, not as ${expected.ends.join(' or ')}`);
  if (!isTerminal(head.state)) say(`it is left as ${head.state}`);
  if (head.run !== 'ended') say(`its run is left as ${head.run}`);
  if (head.lease) say('its lease is left');
  if (head.working) say('its working state can still be read');
  if (headItem?.['da'] !== keys.dueAt(head.statusAt + head.keepSeconds * 1000))
    say('it is due before its last day');
  if (head.attempts > head.maxAttempts) say(`it had ${head.attempts} of ${head.maxAttempts} attempts`);
  const last = revisions.at(-1);
  if (last?.revision !== head.revision || last.commit !== head.commit || last.state !== head.state)
    say('its head is not its last revision');
}

/** P3, P5: numbered without gaps, as they were committed; one of them ends the task, the last one. */
function checkRevisions(world: World, { id, revisions }: TaskDump, say: (words: string) => void) {
  const committed = world.ledger.revisions().filter(({ revision }) => revision.task === id);
  if (!revisions.every(({ revision }, i) => revision === i + 1)) say('its revisions have gaps');
  if (
    !isDeepStrictEqual(
      committed.map(({ revision }) => revision),
      revisions,
    )
  )
    say('its revisions are not those that were committed');
  const endings = revisions.filter(({ state }) => isTerminal(state));
  if (endings.length !== 1 || endings[0] !== revisions.at(-1))
    say(`it has ${endings.length} endings among ${revisions.map(({ state }) => state).join(', ')}`);
  if (!revisions.every(({ statusAt }, i) => i === 0 || statusAt > revisions[i - 1]!.statusAt))
    say('its times do not rise');
  for (const { revision, with: writes } of committed) {
    if (revision.result && slicesIn(writes, `A#${id}#`) !== revision.result.slices)
      say(`revision ${revision.revision} was committed without its result`);
    if (revision.message && slicesIn(writes, `M#${id}#`) !== revision.message.slices)
      say(`revision ${revision.revision} was committed without its message`);
  }
}

/** P2, P3: the journal is the revisions, each published once; the view is what they come to. */
function checkPublished(world: World, task: TaskDump, say: (words: string) => void) {
  const { id, head, revisions, view, viewItem, journal } = task;
  // Which dedup item a revision wrote is the purge's business alone.
  const shown = revisions.map(({ dedup: _, ...revision }) => revision);
  if (!isDeepStrictEqual(journal, shown)) say('its journal is not its revisions');
  const published = world.ledger
    .puts('view')
    .filter(({ item }) => item.pk === `T#${id}` && item.sk.startsWith(keys.journalPrefix))
    .map(({ item }) => revisionOf(item).revision);
  if (
    !isDeepStrictEqual(
      published,
      revisions.map(({ revision }) => revision),
    )
  )
    say(`its revisions were published as ${published.join(', ')}`);
  let fold: View | undefined;
  for (const revision of revisions) fold = head && advance(fold, head, revision);
  if (!isDeepStrictEqual(view, fold)) say('its view is not what its revisions come to');
  if (viewItem?.['gp'] !== undefined) say('it is left among the open tasks');
}

/** Nothing of a task is stored but what a revision speaks of, and that is stored whole. */
function checkContent(
  { id, revisions }: TaskDump,
  state: readonly StoredItem[],
  say: (words: string) => void,
) {
  const left = new Set(
    state.filter(({ pk }) => /^[MA]#/.test(pk) && pk.split('#')[1] === id).map(({ pk }) => pk),
  );
  const take = (prefix: string, slices: number) => {
    const own = [...left].filter((pk) => pk.startsWith(prefix));
    for (const pk of own) left.delete(pk);
    if (own.length !== slices) say(`${own.length} of ${slices} slices are stored as ${prefix}`);
  };
  for (const { message, result } of revisions) {
    if (message) take(`M#${id}#${message.number}#`, message.slices);
    if (result) take(`A#${id}#${result.id}#`, result.slices);
  }
  for (const pk of left) say(`${pk} belongs to no revision`);
}

/** P4: once its completion was committed, nothing that did not sleep through it calls a provider. */
function checkProvider(world: World, { id }: TaskDump, say: (words: string) => void) {
  const { ledger } = world;
  const completed = ledger
    .revisions()
    .find(({ revision }) => revision.task === id && revision.state === 'TASK_STATE_COMPLETED');
  const late = ledger.effects.filter(
    (effect, place) =>
      effect.kind === 'provider' &&
      effect.task === id &&
      !effect.late &&
      completed &&
      place > completed.place,
  );
  if (late.length > 0) say(`a provider was called ${late.length} times after the completing commit`);
}

/** P1, P2: GetTask shows what was committed, with what a completed task is expected to hold, and each message once. */
async function checkShown(world: World, task: TaskDump, expected: Expected, say: (words: string) => void) {
  const { result, error } = await world.gateway.call(task.head?.client ?? '', 'GetTask', { id: task.id });
  if (error) return say(`GetTask answers ${JSON.stringify(error)}`);
  const last = task.revisions.at(-1);
  if (result.status.state !== last?.state) say(`GetTask shows ${result.status.state}`);
  if (result.status.timestamp !== new Date(last?.statusAt ?? 0).toISOString())
    say('GetTask shows another time');
  if (result.status.state === 'TASK_STATE_COMPLETED' && expected.artifacts) {
    const texts = (result.artifacts ?? []).map(
      (artifact: { parts: { text: string }[] }) => artifact.parts[0]?.text,
    );
    if (!isDeepStrictEqual(texts, expected.artifacts)) say(`its artifacts are ${JSON.stringify(texts)}`);
  }
  const said = (result.history ?? []).map(({ messageId }: { messageId: string }) => messageId);
  if (new Set(said).size !== said.length) say('a message stands twice in its history');
  const messages = task.revisions.filter(({ message }) => message).length;
  const ending = last?.reason !== undefined || last?.result?.message === true ? 1 : 0;
  if (said.length !== messages + ending) say(`${said.length} messages are shown, not ${messages + ending}`);
}

/** Everything that is stored, task by task. */
export async function dump(world: World): Promise<{ state: readonly StoredItem[]; tasks: TaskDump[] }> {
  const [state, view] = [await all(world, 'state'), await all(world, 'view')];
  const ids = new Set([...state, ...view].flatMap(({ pk }) => (pk.startsWith('T#') ? [pk.slice(2)] : [])));
  const tasks = [...ids].map((id): TaskDump => {
    const own = state.filter(({ pk }) => pk === `T#${id}`);
    const shown = view.filter(({ pk }) => pk === `T#${id}`);
    const headItem = own.find(({ sk }) => sk === keys.head(id).sk);
    const viewItem = shown.find(({ sk }) => sk === keys.view(id).sk);
    const entries = (items: readonly StoredItem[]) =>
      items.map(revisionOf).sort((a, b) => a.revision - b.revision);
    return {
      id,
      revisions: entries(own.filter(isRevision)),
      journal: entries(shown.filter(({ sk }) => sk.startsWith(keys.journalPrefix))),
      ...(headItem ? { headItem, head: headOf(headItem) } : {}),
      ...(viewItem ? { viewItem, view: viewOf(viewItem) } : {}),
    };
  });
  return { state, tasks };
}

async function all(world: World, table: 'state' | 'view'): Promise<StoredItem[]> {
  const items: StoredItem[] = [];
  let after: Readonly<Record<string, string>> | undefined;
  do {
    const page = await world.store.scan(table, after);
    items.push(...page.items);
    after = page.next;
  } while (after);
  return items;
}

function slicesIn(writes: readonly Write[], prefix: string): number {
  return writes.filter(({ kind, key }) => kind === 'put' && key.pk.startsWith(prefix)).length;
}
