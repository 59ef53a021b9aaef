import { keys } from '../storage/keys.ts';
import type { Action, Store } from '../storage/port.ts';
import type { StateServices } from '../tasks/services.ts';
import { type Dependency, MAX_REGISTRATIONS } from './formats.ts';

/** How many may be opened now. Read without a lock: who opens some counts them, and is refused where others came first. */
export async function roomForRegistrations({ store }: { readonly store: Store }): Promise<number> {
  const { pk: partition } = keys.openRegistrations();
  const { items } = await store.query({ table: 'delegation', partition, consistent: true });
  return Math.max(0, MAX_REGISTRATIONS - Number(items[0]?.['open'] ?? 0));
}

/** Push is only a signal, so the step is polled; that this is so, and why, an operator should learn (design §8). */
export function noteFull(
  { log, metrics }: Pick<StateServices, 'log' | 'metrics'>,
  { task, id, agent }: Pick<Dependency, 'task' | 'id' | 'agent'>,
): void {
  metrics.count('CallbacksFull');
  log.warn('too many callback addresses are open: a step is polled', { task, dependency: id, agent });
}

/** Open registrations are counted, so that the inbox as a whole is bounded (P8). */
export function countRegistrations(change: number): Action {
  return {
    kind: 'update',
    table: 'delegation',
    key: keys.openRegistrations(),
    changes: { add: { open: change } },
    when:
      change > 0
        ? [
            {
              any: [
                { attribute: 'open', is: 'absent' },
                { attribute: 'open', is: '<=', value: MAX_REGISTRATIONS - change },
              ],
            },
          ]
        : [{ attribute: 'pk', is: 'present' }],
  };
}
