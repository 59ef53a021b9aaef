import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import { MAX_REGISTRATIONS } from './formats.ts';

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
