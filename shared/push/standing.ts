import { keys } from '../storage/keys.ts';
import type { Action, Changes, Condition, Value } from '../storage/port.ts';
import type { Config, Delivery, Job, JobEnd } from './formats.ts';
import type { Settlement } from './settle.ts';

type Update = Extract<Action, { kind: 'update' }>;

/** The lease is given back. */
export const RELEASE = ['lease', 'until'] as const;

/** How a settlement moves on whoever carries the standing: the config, or an operator's retry. */
export function standingChanges(
  index: number,
  settlement: Extract<Settlement, { kind: 'next-event' | 'wait' }>,
): Changes {
  if (settlement.kind === 'wait') return { set: { notBefore: settlement.until } };
  const { single, spoiled } = settlement;
  return { set: { index: index + 1, attempts: 0, single, spoiled }, remove: ['notBefore'] };
}

/**
 * An update of a config on the condition that nothing of it changed since it was read, its generation included: what was
 * opened of its task in between is still there. Whatever starts an attempt is one of these.
 */
export function configUpdate(config: Config, changes: Changes): Update {
  const update = progressUpdate(config, changes);
  const same = { attribute: 'generation', is: '=', value: config.generation } as const;
  return { ...update, when: [...update.when, same] };
}

/**
 * How far a config has come. A generation that was raised meanwhile, because content of the task went, does not undo an
 * attempt that was made: else its lease would have to run out first.
 */
export function progressUpdate(config: Config, changes: Changes): Update {
  const { index, attempts } = config.standing;
  return {
    kind: 'update',
    table: 'outbox',
    key: keys.pushConfig(config.task, config.id),
    changes,
    when: [
      { attribute: 'state', is: '=', value: config.state },
      { attribute: 'rev', is: '=', value: config.revision },
      { attribute: 'index', is: '=', value: index },
      { attribute: 'attempts', is: '=', value: attempts },
      leaseIs(config),
    ],
  };
}

function leaseIs({ lease }: Config): Condition {
  return lease ? { attribute: 'lease', is: '=', value: lease.token } : { attribute: 'lease', is: 'absent' };
}

/** An update of a job that is open. */
export function jobUpdate(job: Job, changes: Changes): Update {
  const { task, config, revision, retry } = job;
  return {
    kind: 'update',
    table: 'outbox',
    key: retry ? keys.pushRetry(task, config, revision, retry.id) : keys.pushJob(task, config, revision),
    changes,
    when: [{ attribute: 'state', is: '=', value: 'open' }],
  };
}

/** The end of a job: visible state, and out of the due index. */
export function endJob(job: Job, state: JobEnd, now: number, delivery?: Delivery): Update {
  const set = { state, ended: now, delivery: delivery as unknown as Value | undefined };
  return jobUpdate(job, { set, remove: ['ds', 'da'] });
}
