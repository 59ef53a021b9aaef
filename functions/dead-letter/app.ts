import middy from '@middy/core';
import { nameOf, recoverDeadLetter } from '../../shared/runs/recover.ts';
import { composeState, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { type BatchAnswer, eachTask, type QueueEvent } from '../../shared/runtime/queue-event.ts';
import { composeRunQueue } from '../../shared/runtime/queues.ts';

/** Ends what ran out of retries, or queues it again (design §5, execute; P6). */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const state = composeState(environment, 'dead-letter', seams);
  const services = { ...state, runQueue: composeRunQueue(environment, seams) };
  return middy<QueueEvent, BatchAnswer>().handler(async (event) => {
    const answer = await eachTask(
      event,
      async (task) => {
        await recoverDeadLetter(services, task);
        return 'done';
      },
      (task, error) =>
        services.log.error('a dead letter could not be settled', { task, error: nameOf(error) }),
    );
    state.flush();
    return answer;
  });
}
