import middy from '@middy/core';
import { advance } from '../../shared/delegation/advance.ts';
import { createClientOf } from '../../shared/delegation/client-of.ts';
import { inboxMessageOf } from '../../shared/delegation/message.ts';
import type { ReconcilerServices } from '../../shared/delegation/services.ts';
import { createGuard } from '../../shared/guard/index.ts';
import { createSecretBox } from '../../shared/registry/index.ts';
import { nameOf } from '../../shared/runs/recover.ts';
import { composeTasks, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { type BatchAnswer, each, type QueueEvent } from '../../shared/runtime/queue-event.ts';
import { composeInboxQueue, composeRunQueue } from '../../shared/runtime/queues.ts';

/** Steps that one message may take at once: send, apply, and on. */
const MAX_STEPS = 8;

/** Moves dependencies on: the only function that calls remote agents (design §8). */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const tasks = composeTasks(environment, 'reconciler', seams);
  const publicUrl = environment.SEALPOST_PUBLIC_URL;
  const guard = createGuard({ ownHosts: publicUrl ? [new URL(publicUrl).host] : [], ...seams.outbound });
  const secrets = createSecretBox(tasks.sealer, 'agent');
  const services: ReconcilerServices = {
    ...tasks,
    runQueue: composeRunQueue(environment, seams),
    inboxQueue: composeInboxQueue(environment, seams),
    publicUrl,
    clientOf: createClientOf({ guard, secrets, clock: tasks.clock, random: tasks.random }),
  };
  return middy<QueueEvent, BatchAnswer>().handler(async (event) => {
    const answer = await each(
      event,
      inboxMessageOf,
      async (message) => {
        for (let steps = 1; ; steps++) {
          const wakeAt = await advance(services, message);
          if (wakeAt === undefined) return 'done';
          const wait = wakeAt - services.clock.now();
          if (wait <= 0 && steps < MAX_STEPS) continue;
          await services.inboxQueue.send(message, Math.min(900, Math.max(1, Math.ceil(wait / 1000))));
          return 'done';
        }
      },
      ({ task }, error) => services.log.error('a dependency failed', { task, error: nameOf(error) }),
    );
    tasks.flush();
    return answer;
  });
}
