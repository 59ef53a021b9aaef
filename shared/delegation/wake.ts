import { nameOf } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import type { Head } from '../tasks/formats.ts';
import { dependenciesOf } from './dependencies.ts';
import { dependencyId } from './formats.ts';
import type { InboxServices } from './services.ts';

/** Wakes every dependency of a task that still has something to do. */
export async function wakeDependencies(services: InboxServices, task: string): Promise<void> {
  for (const { id, state } of await dependenciesOf(services, task)) {
    if (state !== 'ended') await services.inboxQueue.send({ task, dependency: id });
  }
}

/**
 * Wakes the sends of a turn that was suspended just now, so that none of them waits for the stream: one queue request a
 * dependency, and no read. Best effort, never rejects: the stream and the due index wake what this did not (design §4).
 */
export async function wakeTurn(
  services: InboxServices,
  { task, turn, waiting }: Pick<Head, 'task' | 'turn' | 'waiting'>,
): Promise<void> {
  if (turn === undefined) return;
  const ids = Array.from({ length: waiting }, (_, number) => dependencyId(turn, number));
  const sent = await Promise.allSettled(
    ids.map((dependency) => services.inboxQueue.send({ task, dependency })),
  );
  for (const one of sent) {
    if (one.status === 'rejected')
      services.log.warn('a send is left to the stream', { task, error: nameOf(one.reason) });
  }
}

/** Wakes what no queue message wakes any more: polls, retries, deadlines (design §8: polling is the repair path). */
export async function sweepDependencies(services: InboxServices, deadline: number): Promise<void> {
  for (const partition of keys.dueShards()) {
    let after: Readonly<Record<string, string>> | undefined;
    do {
      if (services.clock.now() >= deadline) return;
      const page = await services.store.query({
        table: 'delegation',
        index: 'due',
        partition,
        sort: { to: keys.dueAt(services.clock.now()) },
        limit: 100,
        ...(after ? { after } : {}),
      });
      for (const { pk, sk } of page.items) {
        await services.inboxQueue.send({ task: pk.slice(2), dependency: sk });
      }
      after = page.next;
    } while (after);
  }
}
