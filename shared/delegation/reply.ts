import type { Clock } from '../runtime/ports.ts';
import { keys } from '../storage/keys.ts';
import type { Action, Store } from '../storage/port.ts';
import type { Head } from '../tasks/formats.ts';
import { dependenciesOf } from './dependencies.ts';
import type { Dependency } from './formats.ts';

/**
 * The run waits for so much longer than for the last of its agents, ms: each is given up, its provider is told and makes
 * of it what it can, before the sweeper would end the whole task.
 */
export const GIVE_UP_MS = 10 * 60_000;

/** How long a run waits for its agents, epoch ms. */
export function waitsUntil(dependencies: readonly Pick<Dependency, 'deadline'>[]): number {
  return Math.max(...dependencies.map(({ deadline }) => deadline)) + GIVE_UP_MS;
}

/** Who asks and was shown; else the one that asked first. */
export function nextAsking(dependencies: readonly Dependency[]): Dependency | undefined {
  return dependencies
    .filter(({ state, askedAt }) => state === 'sent' && askedAt !== undefined)
    .sort(
      (a, b) =>
        Number(b.shown ?? false) - Number(a.shown ?? false) ||
        a.askedAt! - b.askedAt! ||
        (a.id < b.id ? -1 : 1),
    )[0];
}

/**
 * Where our client's reply goes, as part of the transaction that accepts it: to the question that was shown. `undefined`:
 * nobody asks, so the task takes no message. `deadline`: how long the run waits then, epoch ms.
 */
export async function replyAction(
  services: { readonly store: Store; readonly clock: Clock },
  head: Head,
  message: number,
): Promise<{ readonly action: Action; readonly deadline: number } | undefined> {
  const dependencies = await dependenciesOf(services, head.task, head.turn);
  const asking = nextAsking(dependencies);
  if (!asking) return undefined;
  const action: Action = {
    kind: 'update',
    table: 'delegation',
    key: keys.dependency(head.task, asking.id),
    changes: {
      set: {
        reply: message,
        tries: 0,
        ds: keys.dueShard(`${head.task}#${asking.id}`),
        da: keys.dueAt(services.clock.now() + 20_000),
      },
      remove: ['askedAt', 'asks', 'shown'],
    },
    when: [
      { attribute: 'state', is: '=', value: 'sent' },
      { attribute: 'askedAt', is: '=', value: asking.askedAt! },
    ],
  };
  return { action, deadline: waitsUntil(dependencies) };
}
