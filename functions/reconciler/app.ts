import middy from '@middy/core';
import { createClientOf } from '../../shared/delegation/client-of.ts';
import { inboxMessageOf } from '../../shared/delegation/message.ts';
import type { ReconcilerServices } from '../../shared/delegation/services.ts';
import { takeMessage } from '../../shared/delegation/take.ts';
import { createGuard } from '../../shared/guard/index.ts';
import { createSecretBox } from '../../shared/registry/index.ts';
import { nameOf } from '../../shared/runs/recover.ts';
import { composeTasks, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { type BatchAnswer, each, type QueueEvent } from '../../shared/runtime/queue-event.ts';
import { composeInboxQueue, composeRunQueue } from '../../shared/runtime/queues.ts';

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
        await takeMessage(services, message);
        return 'done';
      },
      ({ task }, error) => services.log.error('a dependency failed', { task, error: nameOf(error) }),
    );
    tasks.flush();
    return answer;
  });
}
