import type { PeerTask, StreamingMethod } from '../protocol/index.ts';
import type { Clock, Random } from '../runtime/ports.ts';
import type { CallOutcome } from './outcomes.ts';
import { advance, isWhole, type Progress } from './progress.ts';
import type { Connection, ConnectionEnd } from './read-stream.ts';
import { afterFailure, cutEnd, nextStep, resumeDelayMs, wholeEnd } from './resumption.ts';
import type { StreamEnd, StreamItem } from './stream-items.ts';

export interface FollowParts {
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  /** At most so many connections after the first. */
  readonly resumptions: number;
  readonly signal: AbortSignal | undefined;
  readonly resubscribe: (taskId: string, progress: Progress) => Connection;
  readonly getTask: (taskId: string) => Promise<CallOutcome<PeerTask>>;
}

/**
 * A stream over as many connections as it takes. A connection that ends before the task does is reported, and the task
 * subscribed to, after the last event's id where events have ids; an agent that takes no subscription is asked for the task
 * once. What cannot be followed to its end is a `cut`, never an end of the task (S06).
 */
export async function* followStream(
  parts: FollowParts,
  first: StreamingMethod,
  start: Progress,
  opening: Connection,
): AsyncGenerator<StreamItem, void> {
  let method = first;
  let connection = opening;
  let progress = start;
  let fruitless = 0;
  for (let resumption = 0; ; ) {
    const eventsBefore = progress.events;
    const ended: ConnectionEnd = yield* connection;
    progress = ended.progress;
    fruitless = progress.events > eventsBefore ? 0 : fruitless + 1;
    const left = parts.resumptions - resumption;
    let step = nextStep(progress, ended.failure, left);
    if (step.kind === 'ask') {
      const asked = await parts.getTask(step.taskId);
      if (asked.kind === 'ok') {
        const event = { kind: 'task', task: asked.value } as const;
        progress = advance(progress, event);
        yield { kind: 'event', event, notices: asked.notices, via: 'get-task' };
        const isEnd = isWhole(method, progress, true);
        return yield end(isEnd ? wholeEnd(progress) : cutEnd(progress, step.taskId, step.failure));
      }
      step = afterFailure(progress, step.taskId, asked, left);
    }
    if (step.kind === 'end') return yield end(step.end);
    resumption += 1;
    method = 'SubscribeToTask';
    const waitMs = resumeDelayMs(fruitless, ended.retryMs, step.failure, parts.random.fraction());
    yield { kind: 'interrupted', failure: step.failure, resumption, waitMs };
    await parts.clock.sleep(waitMs, parts.signal);
    // To a caller that gave up meanwhile this says so, and sends nothing.
    connection = parts.resubscribe(step.taskId, progress);
  }
}

function end(how: StreamEnd): StreamItem {
  return { kind: 'end', end: how };
}
