import type { Outcome } from '../guard/index.ts';
import { auditEntry, GATEWAY_ACTOR } from '../registry/audit.ts';
import { keys } from '../storage/keys.ts';
import { readHead } from '../tasks/read-head.ts';
import type { Config } from './formats.ts';
import { configsUpdate } from './manage.ts';
import type { DeliveryServices } from './services.ts';
import { type Settlement, unchanged } from './settle.ts';

const TRIES = 8;

/**
 * Pauses or stops a config. A stopped one leaves the head in the same transaction, so that later revisions make no jobs
 * for it (design §6). What changed meanwhile (deleted, resumed) stays as it is. The audit entry, a security event where
 * the guard refused, is part of the transaction; it tells the guard's rule and class, and no address.
 */
export async function halt(
  services: DeliveryServices,
  config: Config,
  settlement: Settlement,
  outcome: Outcome | undefined,
): Promise<void> {
  const { state, reason } = settlement.halt!;
  const update = {
    kind: 'update',
    table: 'outbox',
    key: keys.pushConfig(config.task, config.id),
    changes: settlement.changes,
    when: unchanged(config),
  } as const;
  const refusal =
    outcome?.kind === 'refused'
      ? { rule: outcome.rule, ...(outcome.addressClass ? { addressClass: outcome.addressClass } : {}) }
      : undefined;
  const audit = auditEntry(
    services,
    { actor: GATEWAY_ACTOR, operation: state === 'stopped' ? 'push.stop' : 'push.pause' },
    { kind: 'push', id: `${config.task}/${config.id}`, client: config.client, reason, ...refusal },
  );
  for (let tries = 0; tries < TRIES; tries++) {
    const head = state === 'stopped' ? await readHead(services, config.task) : undefined;
    const left = head?.configs.filter((ref) => ref.id !== config.id);
    const actions = [update, audit, ...(head && left ? [configsUpdate(head, left, 'any')] : [])];
    const done = await services.store.transact(actions, services.random.uuid());
    // The config itself changed: somebody else decided.
    if (done.kind === 'refused' && done.failed.includes(0)) return;
    if (done.kind === 'refused') continue;
    services.metrics.count('PushHalted', 1, { state, reason });
    if (refusal) services.metrics.count('GuardRefused', 1, { rule: refusal.rule });
    services.log.warn(state === 'stopped' ? 'a push config was stopped' : 'a push config was paused', {
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
