import type { InboxMessage } from '../delegation/services.ts';
import { wakeDependencies } from '../delegation/wake.ts';
import { project } from '../journal/project.ts';
import type { OutboxMessage } from '../push/services.ts';
import type { RunMessage, WorkQueue } from '../runtime/ports.ts';
import { needOf } from './decide.ts';
import { nameOf, type RecoveryServices } from './recover.ts';

export interface FollowOneServices extends RecoveryServices {
  readonly outboxQueue: WorkQueue<OutboxMessage>;
  readonly inboxQueue: WorkQueue<InboxMessage>;
}

export interface FollowServices extends FollowOneServices {
  readonly projectionQueue: WorkQueue<RunMessage>;
}

/**
 * Follows a task's committed state: catches the view up and sends the queue messages that the state still needs, those of
 * a function which died after its commit among them (design §4). Rejects when the projection failed.
 */
export async function follow(services: FollowOneServices, task: string): Promise<void> {
  const { head } = await project(services, task);
  if (head && head.run === 'queued' && needOf(head, services.clock.now()).kind === 'execute') {
    await services.runQueue.send({ task });
  }
  // Whoever projected, the jobs stand; a config with nothing due goes back to rest at once.
  // Sends that came after the suspension, and the cancellation of what nobody waits for any more.
  if (head && head.turns > 0 && (head.waiting > 0 || head.run === 'ended'))
    await wakeDependencies(services, task);
  for (const config of head?.configs ?? []) await services.outboxQueue.send({ task, config: config.id });
}

/** One record of the state table's stream, as far as it matters. */
export interface Change {
  readonly task: string;
  /** The stream's sequence number. */
  readonly at: string;
}

/**
 * Follows every task of a batch once. A task that fails goes to the retry queue by its id and the batch goes on: one bad
 * task never holds up a shard. Only if that queue fails too, the batch is to be delivered again from that record on,
 * whose sequence number is returned.
 */
export async function followAll(
  services: FollowServices,
  changes: readonly Change[],
): Promise<string | undefined> {
  const first = new Map<string, string>();
  for (const { task, at } of changes) if (!first.has(task)) first.set(task, at);
  for (const [task, at] of first) {
    try {
      await follow(services, task);
    } catch (error) {
      services.metrics.count('ProjectionFailed');
      services.log.error('a task could not be projected and is retried', { task, error: nameOf(error) });
      try {
        await services.projectionQueue.send({ task });
      } catch {
        return at;
      }
    }
  }
  return undefined;
}
