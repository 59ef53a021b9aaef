import { keys } from '../storage/keys.ts';
import { dependenciesOf } from './dependencies.ts';
import type { InboxServices } from './services.ts';

/** Wakes every dependency of a task that still has something to do. */
export async function wakeDependencies(services: InboxServices, task: string): Promise<void> {
  for (const { id, state } of await dependenciesOf(services, task)) {
    if (state !== 'ended') await services.inboxQueue.send({ task, dependency: id });
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
