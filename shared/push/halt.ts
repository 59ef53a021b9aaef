import type { Outcome } from '../guard/index.ts';
import { auditEntry, GATEWAY_ACTOR } from '../registry/audit.ts';
import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import { readHead } from '../tasks/read-head.ts';
import type { Config, Job } from './formats.ts';
import { configsUpdate } from './manage.ts';
import type { DeliveryServices } from './services.ts';
import type { Settlement } from './settle.ts';
import { configUpdate, endJob, RELEASE } from './standing.ts';

const TRIES = 8;

/**
 * Pauses or stops a config, all in one transaction: a stopped one fails the job that it met and leaves the head, so that
 * later revisions make no jobs for it (design §6). What changed meanwhile (deleted, resumed) stays as it is. The audit
 * entry is a security event where the guard refused; it tells the guard's rule and class, and no address.
 */
export async function halt(
  services: DeliveryServices,
  config: Config,
  job: Job,
  { state, reason }: Extract<Settlement, { kind: 'halt' }>,
  outcome: Outcome | undefined,
): Promise<void> {
  const now = services.clock.now();
  const stops = state === 'stopped';
  const refusal =
    outcome?.kind === 'refused'
      ? { rule: outcome.rule, ...(outcome.addressClass ? { addressClass: outcome.addressClass } : {}) }
      : undefined;
  const update = configUpdate(config, {
    set: {
      state,
      reason,
      halted: now,
      generation: config.generation + 1,
      hs: keys.halted(state),
      ha: `${keys.dueAt(now)}#${config.task}#${config.id}`,
    },
    remove: [...RELEASE, 'notBefore'],
  });
  const audit = auditEntry(
    services,
    { actor: GATEWAY_ACTOR, operation: stops ? 'push.stop' : 'push.pause' },
    { kind: 'push', id: `${config.task}/${config.id}`, client: config.client, reason, ...refusal },
  );
  let ending: Action[] = stops ? [endJob(job, 'failed', now)] : [];
  for (let tries = 0; tries < TRIES; tries++) {
    const head = stops ? await readHead(services, config.task) : undefined;
    const left = head?.configs.filter((ref) => ref.id !== config.id);
    const actions = [update, audit, ...ending, ...(head && left ? [configsUpdate(head, left, 'any')] : [])];
    const done = await services.store.transact(actions, services.random.uuid());
    if (done.kind === 'refused') {
      // The config itself changed: somebody else decided.
      if (done.failed.includes(0)) return;
      // The job ended already; the head is read anew.
      if (ending.length > 0 && done.failed.includes(2)) ending = [];
      continue;
    }
    services.metrics.count('PushHalted', 1, { state, reason });
    if (ending.length > 0) services.metrics.count('PushJobEnded', 1, { state: 'failed' });
    if (refusal) services.metrics.count('GuardRefused', 1, { rule: refusal.rule });
    services.log.warn(stops ? 'a push config was stopped' : 'a push config was paused', {
      task: config.task,
      config: config.id,
      reason,
      ...(outcome === undefined ? {} : { outcome: outcome.kind }),
      ...refusal,
    });
    return;
  }
  throw new Error('the configs of the task changed too often');
}
