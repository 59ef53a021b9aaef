import middy from '@middy/core';
import { outboxMessageOf } from '../../shared/push/message.ts';
import { settleDeadLetter } from '../../shared/push/sweep.ts';
import { nameOf } from '../../shared/runs/recover.ts';
import { composeState, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { type BatchAnswer, each, type QueueEvent } from '../../shared/runtime/queue-event.ts';
import { composeOutboxQueue } from '../../shared/runtime/queues.ts';

/** Settles deliveries that failed again and again by a fault of ours (design §6). */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const state = composeState(environment, 'outbox-dead-letter', seams);
  const services = { ...state, outboxQueue: composeOutboxQueue(environment, seams) };
  return middy<QueueEvent, BatchAnswer>().handler(async (event) => {
    const answer = await each(
      event,
      outboxMessageOf,
      async (message) => {
        await settleDeadLetter(services, message);
        return 'done';
      },
      ({ task }, error) =>
        services.log.error('a dead letter could not be settled', { task, error: nameOf(error) }),
    );
    state.flush();
    return answer;
  });
}
