import { keys } from '../storage/keys.ts';
import type { Action, Store } from '../storage/port.ts';
import { MAX_REGISTRATIONS } from './formats.ts';

/** How many may be opened now. Read without a lock: who opens some counts them, and is refused where others came first. */
export async function roomForRegistrations({ store }: { readonly store: Store }): Promise<number> {
  const { pk: partition } = keys.openRegistrations();
  const { items } = await store.query({ table: 'delegation', partition, consistent: true });
  return Math.max(0, MAX_REGISTRATIONS - Number(items[0]?.['open'] ?? 0));
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
