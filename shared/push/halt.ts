import { keys } from '../storage/keys.ts';
import { readHead } from '../tasks/read-head.ts';
import type { Config } from './formats.ts';
import { configsUpdate } from './manage.ts';
import type { DeliveryServices } from './services.ts';
import { type Settlement, unchanged } from './settle.ts';

const TRIES = 8;

/**
 * Pauses or stops a config. A stopped one leaves the head in the same transaction, so that later revisions make no jobs
 * for it (design §6). What changed meanwhile (deleted, resumed) stays as it is.
 */
export async function halt(
  services: DeliveryServices,
  config: Config,
  settlement: Settlement,
  outcome: string | undefined,
): Promise<void> {
  const { state, reason } = settlement.halt!;
  const update = {
    kind: 'update',
    table: 'outbox',
    key: keys.pushConfig(config.task, config.id),
    changes: settlement.changes,
    when: unchanged(config),
  } as const;
  for (let tries = 0; tries < TRIES; tries++) {
    const head = state === 'stopped' ? await readHead(services, config.task) : undefined;
    const left = head?.configs.filter((ref) => ref.id !== config.id);
    const actions = head && left ? [configsUpdate(head, left, 'any'), update] : [update];
    const done = await services.store.transact(actions, services.random.uuid());
    if (done.kind === 'done') break;
    // The config itself changed: somebody else decided.
    if (done.failed.includes(actions.length - 1)) return;
  }
  services.metrics.count('PushHalted', 1, { state, reason });
  services.log.warn(state === 'stopped' ? 'a push config was stopped' : 'a push config was paused', {
    task: config.task,
    config: config.id,
    reason,
    ...(outcome === undefined ? {} : { outcome }),
  });
}
