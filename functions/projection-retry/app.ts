import middy from '@middy/core';
import { follow } from '../../shared/runs/follow.ts';
import { nameOf } from '../../shared/runs/recover.ts';
import { composeState, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { type BatchAnswer, eachTask, type QueueEvent } from '../../shared/runtime/queue-event.ts';
import { composeInboxQueue, composeOutboxQueue, composeRunQueue } from '../../shared/runtime/queues.ts';

/** Projects again what failed in the stream, one task by its id (design §4, projection). */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const state = composeState(environment, 'projection-retry', seams);
  const services = {
    ...state,
    runQueue: composeRunQueue(environment, seams),
    outboxQueue: composeOutboxQueue(environment, seams),
    inboxQueue: composeInboxQueue(environment, seams),
  };
  return middy<QueueEvent, BatchAnswer>().handler(async (event) => {
    const answer = await eachTask(
      event,
      async (task) => {
        await follow(services, task);
        return 'done';
      },
      (task, error) => {
        services.metrics.count('ProjectionFailed');
        services.log.error('a task could not be projected', { task, error: nameOf(error) });
      },
    );
    state.flush();
    return answer;
  });
}
