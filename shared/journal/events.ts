import type { StreamResponse } from '../protocol/index.ts';
import { readContent } from '../tasks/content.ts';
import type { Head, Revision } from '../tasks/formats.ts';
import type { TaskServices } from '../tasks/services.ts';
import { endingMessage, statusOf } from '../tasks/snapshot.ts';

/** Number of an event: revision, then its index within the revision (design §2). Sorted by both. */
export interface EventNumber {
  readonly revision: number;
  readonly index: number;
}

export interface TaskEvent {
  readonly number: EventNumber;
  readonly response: StreamResponse;
}

export function formatEventNumber(number: EventNumber): string {
  return `${number.revision}.${number.index}`;
}

/** `undefined` for anything that is not an event number of ours. */
export function parseEventNumber(text: string): EventNumber | undefined {
  const match = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,4})$/.exec(text.trim());
  return match ? { revision: Number(match[1]), index: Number(match[2]) } : undefined;
}

/** Index of the last event of a revision: the status update stands behind its artifact updates. */
export function lastIndex(revision: Pick<Revision, 'result'>): number {
  return revision.result?.artifacts ?? 0;
}

/**
 * The events of one journal entry: artifact updates first, the status update last. Content is opened with the salt of
 * the head handed in, which the caller has just read; content that was removed is left out, the state is not (P9).
 */
export async function eventsOf(services: TaskServices, head: Head, entry: Revision): Promise<TaskEvent[]> {
  const read = await readContent(services, {
    head,
    messages: entry.message && entry.spoken ? [entry.message] : [],
    result: entry.result,
  });
  const content = read === 'removed' ? { messages: [] } : read;
  const artifacts = content.result?.artifacts ?? [];
  const ids = { taskId: head.task, contextId: head.context };
  const message =
    endingMessage({ ...entry, context: head.context }, content.result?.message) ??
    content.messages[0]?.message;
  return [
    ...artifacts.map((artifact, index) => ({
      number: { revision: entry.revision, index },
      response: { artifactUpdate: { ...ids, artifact, lastChunk: true } },
    })),
    {
      number: { revision: entry.revision, index: lastIndex(entry) },
      response: {
        statusUpdate: {
          ...ids,
          status: statusOf(entry, message),
          ...(entry.reason ? { metadata: { reason: entry.reason } } : {}),
        },
      },
    },
  ];
}
