import { isTerminal } from '../protocol/index.ts';
import type { CallFailure } from './outcomes.ts';
import type { Progress } from './progress.ts';
import type { StreamEnd } from './stream-items.ts';

export type Step =
  | { readonly kind: 'end'; readonly end: StreamEnd }
  /** By GetTask, once: the agent takes no subscription, to this task or at all. */
  | { readonly kind: 'ask'; readonly taskId: string; readonly failure: CallFailure }
  | { readonly kind: 'resume'; readonly taskId: string; readonly failure: CallFailure };

/** Unsupported operation, and what some agents answer instead. */
const NO_SUBSCRIPTION = [-32004, -32602];

/**
 * What happens after a connection of a stream ended. `failure` is absent where the stream is whole. A stream without a task
 * cannot be taken up again, because nobody knows what of; one that never began ends as its failure.
 */
export function nextStep(
  progress: Progress,
  failure: CallFailure | undefined,
  resumptionsLeft: number,
): Step {
  if (failure === undefined) return { kind: 'end', end: wholeEnd(progress) };
  const { taskId } = progress;
  if (taskId === undefined) return { kind: 'end', end: failure };
  if ('code' in failure && NO_SUBSCRIPTION.includes(failure.code)) return { kind: 'ask', taskId, failure };
  return afterFailure(progress, taskId, failure, resumptionsLeft);
}

/** The same where nothing is left to ask. */
export function afterFailure(
  progress: Progress,
  taskId: string,
  failure: CallFailure,
  resumptionsLeft: number,
): Exclude<Step, { kind: 'ask' }> {
  if (mayResume(failure) && resumptionsLeft > 0) return { kind: 'resume', taskId, failure };
  return { kind: 'end', end: progress.events === 0 ? failure : cutEnd(progress, taskId, failure) };
}

export function cutEnd(progress: Progress, taskId: string, failure: CallFailure): StreamEnd {
  return {
    kind: 'cut',
    taskId,
    ...(progress.state !== undefined && { lastState: progress.state }),
    ...(progress.lastEventId !== '' && { lastEventId: progress.lastEventId }),
    failure,
  };
}

/** The end of a stream that is whole. */
export function wholeEnd({ taskId, state, isAnswered }: Progress): StreamEnd {
  if (isAnswered || taskId === undefined || state === undefined) return { kind: 'answered' };
  return { kind: isTerminal(state) ? 'finished' : 'waiting', taskId, state };
}

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;

/**
 * Milliseconds until the next connection: full jitter below a bound that doubles with each connection in a row that brought
 * nothing, and no less than the agent asked for (`retry:`, `Retry-After`), 30 s at most.
 */
export function resumeDelayMs(
  fruitless: number,
  retryMs: number | undefined,
  failure: CallFailure,
  fraction: number,
): number {
  const bound = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** fruitless);
  const asked = Math.max(retryMs ?? 0, 'retryAfterMs' in failure ? (failure.retryAfterMs ?? 0) : 0);
  return Math.min(LONGEST_DELAY_MS, Math.max(asked, Math.floor(fraction * bound)));
}

function mayResume(failure: CallFailure): boolean {
  return failure.kind !== 'protocol-error' && failure.retryable;
}
