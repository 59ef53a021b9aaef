import {
  createSseDecoder,
  decodeStreamResponse,
  SseLimitError,
  type StreamingMethod,
} from '../protocol/index.ts';
import type { Clock } from '../runtime/ports.ts';
import {
  isEventStream,
  type Question,
  type RawAnswer,
  readResult,
  taskMismatch,
  textOf,
  wrongShape,
} from './answers.ts';
import { type OpenAnswer, readWhole } from './exchange.ts';
import { withoutAnswer } from './faults.ts';
import type { ClientLimits } from './limits.ts';
import type { CallFailure, TransportFault } from './outcomes.ts';
import { advance, isOver, isWhole, type Progress, taskOf } from './progress.ts';
import type { SkippedItem, StreamEventItem } from './stream-items.ts';

export interface ConnectionParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly limits: ClientLimits;
  readonly open: () => Promise<OpenAnswer | TransportFault>;
}

/** What one connection of a stream came to. */
export interface ConnectionEnd {
  readonly progress: Progress;
  /** Absent: the stream is whole. */
  readonly failure?: CallFailure;
  /** Milliseconds that the agent asked to wait before the next connection. */
  readonly retryMs?: number | undefined;
}

export type Connection = AsyncGenerator<StreamEventItem | SkippedItem, ConnectionEnd>;

/**
 * Reads one connection of a stream, and leaves it at the event after which nothing comes. Takes what peers answer: events,
 * an error as JSON with any status or as an event, one event as a JSON body. Bounded in line, event and sum.
 */
export async function* readConnection(
  parts: ConnectionParts,
  question: Question<StreamingMethod>,
  progress: Progress,
): Connection {
  const answer = await parts.open();
  if (answer.kind !== 'stream') return { progress, failure: withoutAnswer(question.method, answer) };
  if (answer.status === 200 && isEventStream(answer.headers['content-type']))
    return yield* readEvents(parts.limits, question, answer, progress);
  const whole = await readWhole(answer, parts.limits.bodyBytes, parts.clock.now());
  if ('kind' in whole) return { progress, failure: withoutAnswer(question.method, whole) };
  const read = readEvent(question, progress, { data: textOf(whole), lastEventId: '' }, whole);
  if ('failure' in read) return read;
  yield read.item;
  return endOf(question, read.progress, { kind: 'ended' });
}

async function* readEvents(
  limits: ClientLimits,
  question: Question<StreamingMethod>,
  answer: OpenAnswer,
  start: Progress,
): Connection {
  const decoder = createSseDecoder({ maxLineBytes: limits.lineBytes, maxEventBytes: limits.eventBytes });
  let progress = start;
  let fault: TransportFault = { kind: 'ended' };
  try {
    for await (const chunk of answer.chunks) {
      for (const event of decoder.push(chunk)) {
        if (event.data.trim() === '') continue;
        const read = readEvent(question, progress, event, answer);
        if ('failure' in read) return { ...read, retryMs: decoder.retryMs };
        progress = read.progress;
        yield read.item;
        if (isOver(progress)) return { progress };
      }
    }
  } catch (error) {
    fault =
      error instanceof SseLimitError
        ? { kind: 'stream-limit', what: error.what, limitBytes: error.limitBytes }
        : answer.failure(error);
  }
  return { ...endOf(question, progress, fault), retryMs: decoder.retryMs };
}

type ReadEvent =
  | { readonly item: StreamEventItem | SkippedItem; readonly progress: Progress }
  | { readonly failure: CallFailure; readonly progress: Progress };

function readEvent(
  question: Question<StreamingMethod>,
  before: Progress,
  { data, lastEventId }: { readonly data: string; readonly lastEventId: string },
  answer: Pick<RawAnswer, 'status' | 'retryAfterMs'>,
): ReadEvent {
  const fail = (failure: CallFailure): ReadEvent => ({ failure, progress: before });
  const about = { ...question, method: effectiveMethod(question, before), taskId: before.taskId };
  const read = readResult(about, data, { status: answer.status, retryAfterMs: answer.retryAfterMs });
  if ('kind' in read) return fail(read);
  const decoded = decodeStreamResponse(read.result);
  if (!decoded.ok) return fail(wrongShape(about, answer.status, decoded.error));
  const { value: event, notices } = decoded;
  const progress = { ...before, lastEventId: lastEventId || before.lastEventId };
  if (event.kind === 'unknown') return { item: { kind: 'skipped', notices }, progress };
  const taskId = taskOf(event) ?? '';
  // A message may leave its task out.
  if (taskId !== '' && before.taskId !== undefined && taskId !== before.taskId)
    return fail(taskMismatch(about, answer.status, taskId));
  const id = lastEventId === '' ? {} : { id: lastEventId };
  return {
    item: { kind: 'event', event, ...id, notices, via: 'stream' },
    progress: advance(progress, event),
  };
}

function endOf(
  question: Question<StreamingMethod>,
  progress: Progress,
  fault: TransportFault,
): ConnectionEnd {
  return isWhole(question.method, progress, fault.kind === 'ended')
    ? { progress }
    : { progress, failure: withoutAnswer(effectiveMethod(question, progress), fault) };
}

/** Once the task is known the message has arrived, and reading on has no effects. */
function effectiveMethod({ method }: Question<StreamingMethod>, { taskId }: Progress): StreamingMethod {
  return taskId === undefined ? method : 'SubscribeToTask';
}
