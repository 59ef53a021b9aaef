import type { Clock, Random } from '../runtime/ports.ts';
import { type StoreOptions, StoreUnavailable } from './port.ts';

export interface RetryParts {
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
}

export type Attempt<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'again'; readonly why: string };

/** For a caller that names no deadline. */
const DEFAULT_PATIENCE_MS = 5_000;

/** Epoch ms. A call of several requests takes it once, so that it holds for all of them together. */
export function deadlineOf(clock: Clock, options: StoreOptions | undefined): number {
  return options?.deadline ?? clock.now() + DEFAULT_PATIENCE_MS;
}

const FIRST_DELAY_MS = 25;
/** Reached with the seventh try. A conflict is over in milliseconds, a throttle in about a second. */
const LONGEST_DELAY_MS = 1_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Repeats `attempt` until it is done, waiting a random time up to a bound that doubles (full jitter). Past the deadline
 * (epoch ms) no attempt starts, the running one is aborted, and `StoreUnavailable` is thrown.
 */
export async function untilDone<T>(
  parts: RetryParts,
  operation: string,
  deadline: number,
  attempt: (signal: AbortSignal) => Promise<Attempt<T>>,
): Promise<T> {
  let why = 'the deadline had passed before the first try';
  for (let tries = 0; ; tries++) {
    const left = deadline - parts.clock.now();
    if (left <= 0) break;
    const result = await attempt(AbortSignal.timeout(Math.min(Math.ceil(left), LONGEST_TIMER_MS)));
    if (result.kind === 'done') return result.value;
    why = result.why;
    const delay = parts.random.fraction() * Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** tries);
    if (parts.clock.now() + delay >= deadline) break;
    await parts.clock.sleep(delay);
  }
  throw new StoreUnavailable(operation, { cause: new Error(why) });
}
