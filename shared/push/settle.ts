import { keys } from '../storage/keys.ts';
import type { Action, Changes, Condition } from '../storage/port.ts';
import type { Config, HaltReason, Job, JobState, Progress } from './formats.ts';
import { MAX_ATTEMPTS } from './formats.ts';
import { backoffMs, type Verdict } from './outcome.ts';

/** Where the worker stands: the config under its lease, the job, and the event within it. */
export interface Position {
  readonly config: Config;
  readonly job: Job;
  /** Index of the job's last event. */
  readonly last: number;
}

/** What an attempt's verdict writes; the lease is given back with it. Pure. */
export interface Settlement {
  readonly changes: Changes;
  /** How the job ends, if it does. */
  readonly ended?: JobState;
  /** Whether the worker goes on at once. */
  readonly goOn: boolean;
  /** When to come back, epoch ms. */
  readonly wakeAt?: number;
  readonly halt?: { readonly state: 'paused' | 'stopped'; readonly reason: HaltReason };
}

const RELEASE = ['lease', 'until'];

/**
 * Design §6: delivered, the next event; to be retried, later, up to eight attempts, then exhausted and each following
 * event gets a single one until one succeeds; paused and stopped, no more; anything else, the event is given up. `now`
 * epoch ms, `fraction` the jitter.
 */
export function settle(position: Position, verdict: Verdict, now: number, fraction: number): Settlement {
  const { config } = position;
  switch (verdict.kind) {
    case 'delivered':
      return advance(position, { single: false });
    case 'failed':
      return advance(position, { single: config.single, spoiled: 'failed' });
    case 'retry': {
      const most = config.single ? 1 : MAX_ATTEMPTS;
      if (config.attempts >= most) return advance(position, { single: true, spoiled: 'exhausted' });
      const wakeAt = now + backoffMs(config.attempts, fraction, verdict.retryAfterMs);
      if (wakeAt >= position.job.deadline) {
        return {
          ...keep({ set: { notBefore: position.job.deadline }, remove: RELEASE }),
          wakeAt: position.job.deadline,
        };
      }
      return { ...keep({ set: { notBefore: wakeAt }, remove: RELEASE }), wakeAt };
    }
    case 'unsent':
      return { ...keep({ remove: RELEASE }), wakeAt: now + 1_000 };
    case 'pause':
      return halted(position, 'paused', verdict.reason, now);
    case 'stop':
      return { ...halted(position, 'stopped', verdict.reason, now), ended: 'failed' };
  }
}

/** A job whose deadline passed: skipped as a whole. */
export function expire(position: Position): Settlement {
  return nextJob(position.config.progress, { single: position.config.single }, 'expired');
}

function advance(
  { config, job, last }: Position,
  how: { readonly single: boolean; readonly spoiled?: JobState },
): Settlement {
  const spoiled = how.spoiled ?? config.spoiled;
  if (config.progress.index >= last) {
    return nextJob({ revision: job.revision, index: last }, how, spoiled ?? 'delivered');
  }
  return {
    ...keep({
      set: { index: config.progress.index + 1, attempts: 0, single: how.single, spoiled },
      remove: [...RELEASE, 'notBefore'],
    }),
    goOn: true,
  };
}

function nextJob(progress: Progress, how: { readonly single: boolean }, ended: JobState): Settlement {
  return {
    changes: {
      set: { rev: progress.revision + 1, index: 0, attempts: 0, single: how.single },
      remove: [...RELEASE, 'notBefore', 'spoiled'],
    },
    ended,
    goOn: true,
  };
}

function halted(
  { config }: Position,
  state: 'paused' | 'stopped',
  reason: HaltReason,
  now: number,
): Settlement {
  return {
    changes: {
      set: {
        state,
        reason,
        halted: now,
        generation: config.generation + 1,
        hs: keys.halted(state),
        ha: `${keys.dueAt(now)}#${config.task}#${config.id}`,
      },
      remove: [...RELEASE, 'notBefore'],
    },
    goOn: false,
    halt: { state, reason },
  };
}

function keep(changes: Changes): Pick<Settlement, 'changes' | 'goOn'> {
  return { changes, goOn: false };
}

/** The config as it must still be for a write about it to count. */
export function unchanged(config: Config): Condition[] {
  return [
    { attribute: 'state', is: '=', value: config.state },
    { attribute: 'generation', is: '=', value: config.generation },
    { attribute: 'rev', is: '=', value: config.progress.revision },
    { attribute: 'index', is: '=', value: config.progress.index },
    { attribute: 'attempts', is: '=', value: config.attempts },
  ];
}

/** The end of a job: visible state, and out of the due index. */
export function endJob(job: Job, state: JobState, now: number): Exclude<Action, { kind: 'check' }> {
  const key = job.retry
    ? keys.pushRetry(job.task, job.config, job.revision, job.retry.id)
    : keys.pushJob(job.task, job.config, job.revision);
  return {
    kind: 'update',
    table: 'outbox',
    key,
    changes: { set: { state, ended: now }, remove: ['ds', 'da'] },
    when: [{ attribute: 'state', is: '=', value: 'open' }],
  };
}
