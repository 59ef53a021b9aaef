import middy from '@middy/core';
import { createGuard } from '../../shared/guard/index.ts';
import { deliver } from '../../shared/push/deliver.ts';
import { outboxMessageOf } from '../../shared/push/message.ts';
import { webhookPolicyOf } from '../../shared/push/policy.ts';
import type { DeliveryServices } from '../../shared/push/services.ts';
import { nameOf } from '../../shared/runs/recover.ts';
import { composeTasks, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { type BatchAnswer, each, type QueueEvent } from '../../shared/runtime/queue-event.ts';
import { composeOutboxQueue } from '../../shared/runtime/queues.ts';

const MARGIN_MS = 5_000;

/** Sends what is due for a config (design §6). The only function that calls a webhook. */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const tasks = composeTasks(environment, 'delivery', seams, { agents: false });
  const { registry } = tasks;
  const publicUrl = environment.SEALPOST_PUBLIC_URL;
  const services: DeliveryServices = {
    ...tasks,
    outboxQueue: composeOutboxQueue(environment, seams),
    guard: createGuard({ ownHosts: publicUrl ? [new URL(publicUrl).host] : [], ...seams.outbound }),
    policyOf: async (id) => webhookPolicyOf(await registry.client(id)),
  };
  return middy<QueueEvent, BatchAnswer>().handler(async (event, context) => {
    const until = services.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS;
    const answer = await each(
      event,
      outboxMessageOf,
      async (message) => {
        await deliver(services, message, until);
        return 'done';
      },
      ({ task }, error) => services.log.error('a delivery failed', { task, error: nameOf(error) }),
    );
    tasks.flush();
    return answer;
  });
}
