import { type Artifact, isTerminal, type Message, type Task, type TaskStatus } from '../protocol/index.ts';
import { type ContentRead, isWithdrawn, readContent } from './content.ts';
import type { Head, MessageRef, View } from './formats.ts';
import { readHead } from './read-head.ts';
import { reasonMessage } from './reasons.ts';
import type { TaskServices } from './services.ts';

export interface SnapshotOptions {
  /** Most recent messages to include; absent: all that the bounds allow. */
  readonly historyLength?: number | undefined;
  /** Default true. */
  readonly artifacts?: boolean;
  /** The gateway's own bound on `history`. */
  readonly maxHistory: number;
}

/**
 * The task as remote parties see it at the view's revision (P2): committed state, its sealed content opened with the
 * salt of the head that was just read. Content that was removed is left out. `withdrawn`: it went since the head was
 * read, by a purge or a tightening, and the task with it; COMPLETED without its result would be wrong (P1).
 */
export async function snapshot(
  services: TaskServices,
  head: Head,
  view: View,
  options: SnapshotOptions,
): Promise<Task | 'withdrawn'> {
  const wantsArtifacts = options.artifacts ?? true;
  const limit = Math.min(options.historyLength ?? options.maxHistory, options.maxHistory);
  const refs = view.messages.map((slices, i): MessageRef => ({ number: i + 1, slices }));
  const recent = limit === 0 ? [] : refs.slice(-limit);
  const status = refs[view.statusMessage - 1];
  const wanted = status && !recent.includes(status) ? [status, ...recent] : recent;
  const needsResult = view.result && (wantsArtifacts || view.result.message);
  const content = await readContent(services, {
    head,
    messages: wanted,
    result: needsResult ? view.result : undefined,
  });
  if (content !== 'removed') return assemble(view, wanted, content, limit, wantsArtifacts);
  if (await isWithdrawnSince(services, head, view)) return 'withdrawn';
  return assemble(view, wanted, { messages: [] }, limit, wantsArtifacts);
}

/** A task that ended otherwise may have lost its content with its end, and is told by its state and reason alone. */
async function isWithdrawnSince(services: TaskServices, { task }: Head, view: View): Promise<boolean> {
  if (!isTerminal(view.state)) return false;
  if (view.state === 'TASK_STATE_COMPLETED') return true;
  const now = await readHead(services, task);
  return !now || isWithdrawn(services, now);
}

function assemble(
  view: View,
  wanted: readonly MessageRef[],
  content: ContentRead,
  limit: number,
  artifacts: boolean,
): Task {
  const said = new Map(content.messages.map((payload, i) => [wanted[i]!.number, payload.message]));
  const ending = endingMessage(view, content.result?.message);
  const history = [...said.entries()]
    .sort(([a], [b]) => a - b)
    .map(([, message]) => message)
    .concat(ending ? [ending] : []);
  const statusMessage = ending ?? said.get(view.statusMessage);
  return {
    id: view.task,
    contextId: view.context,
    status: statusOf(view, statusMessage),
    ...(artifacts && content.result ? { artifacts: [...content.result.artifacts] as Artifact[] } : {}),
    ...(limit > 0 ? { history: history.slice(-limit) } : {}),
    ...(view.reason ? { metadata: { reason: view.reason } } : {}),
  };
}

/** The words for a reason of the gateway's own; else, of a task that ended, the message in its result. */
export function endingMessage(
  at: Pick<View, 'task' | 'context' | 'revision' | 'state' | 'reason'>,
  inResult: Message | undefined,
): Message | undefined {
  if (at.reason) return reasonMessage(at.task, at.context, at.revision, at.reason);
  return isTerminal(at.state) ? inResult : undefined;
}

export function statusOf(at: Pick<View, 'state' | 'statusAt'>, message: Message | undefined): TaskStatus {
  return {
    state: at.state,
    ...(message ? { message } : {}),
    timestamp: new Date(at.statusAt).toISOString(),
  };
}
