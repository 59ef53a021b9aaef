import { type HaltReason, type JobEnd, MAX_ATTEMPTS, type Standing } from './formats.ts';
import { backoffMs, type Verdict } from './outcome.ts';

/** A job as far as the next decision about it goes. */
export interface Position {
  readonly standing: Standing;
  /** Index of the job's last event. */
  readonly last: number;
  /** Epoch ms. */
  readonly deadline: number;
}

/** What comes next. */
export type Settlement =
  | { readonly kind: 'next-event'; readonly single: boolean; readonly spoiled?: JobEnd }
  | { readonly kind: 'job-ended'; readonly state: JobEnd; readonly single: boolean }
  /** The same event again, not before `until`, epoch ms. */
  | { readonly kind: 'wait'; readonly until: number }
  /** A paused config holds its job, a stopped one fails it. */
  | { readonly kind: 'halt'; readonly state: 'paused' | 'stopped'; readonly reason: HaltReason };

/**
 * So long before a job's deadline nothing is waited for any more: who waits would leave the events behind untried
 * (design §6). Time for some 120 events of 15 s, more than a revision with 100 artifacts has.
 */
export const LAST_CALL_MS = 30 * 60_000;

/**
 * Design §6: delivered, the next event; to be retried, later, up to eight attempts, then exhausted and each following
 * event gets a single one until one succeeds; paused and stopped, no more; anything else, the event is given up.
 * `removed`: its content is gone, there is nothing to send (P9). `now` epoch ms, `fraction` the jitter. Pure.
 */
export function settle(
  at: Position,
  verdict: Verdict | { readonly kind: 'removed' },
  now: number,
  fraction: number,
): Settlement {
  const { single, attempts } = at.standing;
  switch (verdict.kind) {
    case 'delivered':
      return advance(at, false);
    case 'removed':
      return advance(at, single);
    case 'failed':
      return advance(at, single, 'failed');
    case 'retry': {
      if (single || areSpent(at.standing)) return advance(at, true, 'exhausted');
      const until = now + backoffMs(attempts, fraction, verdict.retryAfterMs);
      return until < at.deadline - LAST_CALL_MS ? { kind: 'wait', until } : advance(at, true, 'expired');
    }
    case 'pause':
      return { kind: 'halt', state: 'paused', reason: verdict.reason };
    case 'stop':
      return { kind: 'halt', state: 'stopped', reason: verdict.reason };
  }
}

/**
 * Whether the event had all its attempts, those whose worker died included. Where it was to have a single one, that is
 * one whose end is known: an event that perhaps was never sent is not given up for it.
 */
export function areSpent({ attempts }: Pick<Standing, 'attempts'>): boolean {
  return attempts >= MAX_ATTEMPTS;
}

/** A job that ended elsewhere, or before its worker could say so: what it says of the events behind it. */
export function passOver(state: JobEnd, single: boolean): Settlement {
  return { kind: 'job-ended', state, single: state === 'exhausted' || (single && state !== 'delivered') };
}

function advance({ standing, last }: Position, single: boolean, givenUp?: JobEnd): Settlement {
  const spoiled = givenUp ?? standing.spoiled;
  if (standing.index >= last) return { kind: 'job-ended', state: spoiled ?? 'delivered', single };
  return { kind: 'next-event', single, ...(spoiled ? { spoiled } : {}) };
}
