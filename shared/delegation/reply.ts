import type { Clock } from '../runtime/ports.ts';
import { keys } from '../storage/keys.ts';
import type { Action, Store } from '../storage/port.ts';
import type { Head } from '../tasks/formats.ts';
import { dependenciesOf } from './dependencies.ts';
import type { Dependency } from './formats.ts';

export function oldestAsking(dependencies: readonly Dependency[]): Dependency | undefined {
  return dependencies
    .filter(({ state, askedAt }) => state === 'sent' && askedAt !== undefined)
    .sort((a, b) => a.askedAt! - b.askedAt! || (a.id < b.id ? -1 : 1))[0];
}

/**
 * Where our client's reply goes, as part of the transaction that accepts it: to the oldest question. `undefined`: nobody
 * asks, so the task takes no message.
 */
export async function replyAction(
  services: { readonly store: Store; readonly clock: Clock },
  head: Head,
  message: number,
): Promise<Action | undefined> {
  const oldest = oldestAsking(await dependenciesOf(services, head.task, head.turn));
  if (!oldest) return undefined;
  return {
    kind: 'update',
    table: 'delegation',
    key: keys.dependency(head.task, oldest.id),
    changes: {
      set: {
        reply: message,
        ds: keys.dueShard(`${head.task}#${oldest.id}`),
        da: keys.dueAt(services.clock.now() + 20_000),
      },
      remove: ['askedAt', 'asks'],
    },
    when: [
      { attribute: 'state', is: '=', value: 'sent' },
      { attribute: 'askedAt', is: '=', value: oldest.askedAt! },
    ],
  };
}
