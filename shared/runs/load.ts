import type { Message } from '../protocol/index.ts';
import type { ProviderRequest } from '../providers/index.ts';
import type { Settings } from '../registry/types.ts';
import { keys } from '../storage/keys.ts';
import { type MessagePayload, readContent, readStored } from '../tasks/content.ts';
import {
  type Head,
  isTombstone,
  liveHead,
  type MessageRef,
  type Revision,
  type View,
  viewOf,
} from '../tasks/formats.ts';
import { readRevisions } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';
import { originalOf } from '../tasks/working.ts';

export type Bounds = Pick<
  Settings,
  'maxHistoryMessages' | 'maxContextMessages' | 'maxContextBytes' | 'maxReferenceTasks'
>;

/** What a run is given to work on, opened; lives in memory only. */
export interface RunInput {
  readonly message: Message;
  /** Its number in the task's history. */
  readonly number: number;
  readonly outputModes: readonly string[];
  readonly history: readonly Message[];
  readonly contextMessages: readonly Message[];
  readonly references: ProviderRequest['references'];
  /** Words of status messages that earlier attempts of this run have told already, in order. */
  readonly told: readonly string[];
}

/** Thrown when a run's own messages cannot be read now; the run is tried again. */
export class RunInputMissing extends Error {
  readonly tag = 'RunInputMissing';
  constructor() {
    super('the messages of a run could not be read');
  }
}

/** Tasks of a context that are looked at for earlier messages. */
const MAX_CONTEXT_TASKS = 20;

/**
 * Reads what the run needs (design §5): the message that started or resumed it, the task's history, earlier messages of
 * the context, and the tasks it refers to, each of the same client and within bounds. `started`: the number of the message
 * that started the run, where later ones were passed on to a remote agent.
 */
export async function loadRun(
  services: TaskServices,
  head: Head,
  bounds: Bounds,
  started?: number,
): Promise<RunInput> {
  const revisions = await readRevisions(services, head.task, 1, head.revision);
  if (revisions.length < head.revision) throw new RunInputMissing();
  const own = await readOwn(services, head, revisions, bounds.maxHistoryMessages, started);
  const [contextMessages, references] = await Promise.all([
    readContext(services, head, bounds),
    readReferences(services, head, own.message.message, bounds),
  ]);
  return {
    message: own.message.message,
    number: own.number,
    outputModes: own.message.outputModes ?? [],
    history: own.history.map((payload) => payload.message),
    contextMessages,
    references,
    told: own.told,
  };
}

async function readOwn(
  services: TaskServices,
  head: Head,
  revisions: readonly Revision[],
  max: number,
  started: number | undefined,
) {
  const spoken = revisions.filter((revision) => revision.message);
  const current = (
    started === undefined
      ? spoken.findLast((revision) => !revision.spoken)
      : spoken.find(({ message }) => message?.number === started)
  )?.message;
  if (!current) throw new RunInputMissing();
  const earlier = spoken
    .flatMap(({ message }) => (message && message !== current ? [message] : []))
    .slice(-max);
  const wanted = [...earlier, current];
  const read = await readStored(services, { head, messages: wanted });
  if (read === 'removed') throw new RunInputMissing();
  // What is kept redacted stands in its original in the working state (design §7).
  const originals =
    head.form === 'full'
      ? read.messages
      : await Promise.all(wanted.map((ref, i) => originalOr(services, head, ref, read.messages[i]!)));
  const history = originals.slice(0, -1);
  // In order of their numbers, so what came behind the message is what the run has said since.
  const since = history.filter((_, i) => earlier[i]!.number > current.number);
  const told = since.flatMap(({ message }) => message.parts.flatMap(({ text }) => text ?? []));
  return { message: originals.at(-1)!, number: current.number, history, told };
}

async function originalOr(services: TaskServices, head: Head, ref: MessageRef, kept: MessagePayload) {
  return (await originalOf(services, head, ref.number)) ?? kept;
}

async function readContext(services: TaskServices, head: Head, bounds: Bounds): Promise<Message[]> {
  if (bounds.maxContextMessages === 0) return [];
  const page = await services.store.query({
    table: 'view',
    index: 'context',
    partition: keys.viewOfContext(head.client, head.context),
    descending: true,
    limit: MAX_CONTEXT_TASKS,
  });
  const tasks = page.items.map((item) => item.pk.slice(2)).filter((task) => task !== head.task);
  const earlier = (await readTasks(services, head.client, tasks)).filter(
    (pair) => pair.head.createdAt <= head.createdAt,
  );
  // Newest task first while the bounds are filled, oldest message first in the answer.
  earlier.sort((a, b) => b.head.createdAt - a.head.createdAt);
  const messages: Message[] = [];
  let bytes = 0;
  for (const pair of earlier) {
    for (const message of (await readMessages(services, pair, bounds.maxContextMessages)).toReversed()) {
      if (messages.length >= bounds.maxContextMessages) return messages.toReversed();
      const size = sizeOf(message);
      // One that is too large takes no smaller one with it.
      if (bytes + size > bounds.maxContextBytes) continue;
      bytes += size;
      messages.push(message);
    }
  }
  return messages.toReversed();
}

async function readReferences(
  services: TaskServices,
  head: Head,
  message: Message,
  bounds: Bounds,
): Promise<RunInput['references']> {
  const ids = [...new Set(message.referenceTaskIds ?? [])].slice(0, bounds.maxReferenceTasks);
  const references: RunInput['references'][number][] = [];
  let bytes = 0;
  for (const pair of await readTasks(services, head.client, ids)) {
    const read = await readContent(services, {
      head: pair.head,
      messages: refsOf(pair.view),
      result: pair.view.result,
    });
    if (read === 'removed') continue;
    const reference = {
      task: pair.head.task,
      artifacts: read.result?.artifacts ?? [],
      messages: spokenIn(read.messages, read.result?.message),
    };
    const size = sizeOf(reference);
    if (bytes + size > bounds.maxContextBytes) {
      references.push({ task: pair.head.task, artifacts: [], messages: [], truncated: true });
      continue;
    }
    bytes += size;
    references.push(reference);
  }
  return references;
}

interface Pair {
  readonly head: Head;
  readonly view: View;
}

async function readTasks(services: TaskServices, client: string, tasks: readonly string[]): Promise<Pair[]> {
  const items = await services.store.getMany(
    tasks.flatMap((task) => [
      { table: 'state' as const, key: keys.head(task) },
      { table: 'view' as const, key: keys.view(task) },
    ]),
  );
  const pairs: Pair[] = [];
  for (let i = 0; i < items.length; i += 2) {
    const [head, view] = [items[i], items[i + 1]];
    // Another client's task counts as one that is not there (P11).
    const live = liveHead(head);
    if (live && view && !isTombstone(view) && live.client === client) {
      pairs.push({ head: live, view: viewOf(view) });
    }
  }
  return pairs;
}

/** What was said in a task, and what it brought: an agent that answers with artifacts has to see its own answers too. */
async function readMessages(
  services: TaskServices,
  { head, view }: Pair,
  max: number,
): Promise<readonly Message[]> {
  const messages = refsOf(view).slice(-max);
  const read = await readContent(services, { head, messages, result: view.result });
  if (read === 'removed') return [];
  const parts = (read.result?.artifacts ?? []).flatMap((artifact) => artifact.parts);
  const ids = { messageId: `${head.task}-result`, taskId: head.task, contextId: head.context };
  const answer: Message[] = parts.length > 0 ? [{ ...ids, role: 'ROLE_AGENT', parts }] : [];
  return [
    ...read.messages.map(({ message }) => message),
    ...answer,
    ...(read.result?.message ? [read.result.message] : []),
  ];
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function spokenIn(payloads: readonly MessagePayload[], ending: Message | undefined): readonly Message[] {
  const messages = payloads.map((payload) => payload.message);
  return ending ? [...messages, ending] : messages;
}

function refsOf(view: View): MessageRef[] {
  return view.messages.map((slices, i) => ({ number: i + 1, slices }));
}
