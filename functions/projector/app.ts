import middy from '@middy/core';
import { followAll } from '../../shared/runs/follow.ts';
import { composeState, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import type { BatchAnswer } from '../../shared/runtime/queue-event.ts';
import {
  composeInboxQueue,
  composeOutboxQueue,
  composeProjectionQueue,
  composeRunQueue,
} from '../../shared/runtime/queues.ts';
import { changesOf, type StreamEvent } from './event.ts';

/** Follows the state table's stream: the guarantee that what was committed is published (design §4, P3). */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const state = composeState(environment, 'projector', seams);
  const services = {
    ...state,
    runQueue: composeRunQueue(environment, seams),
    outboxQueue: composeOutboxQueue(environment, seams),
    inboxQueue: composeInboxQueue(environment, seams),
    projectionQueue: composeProjectionQueue(environment, seams),
  };
  return middy<StreamEvent, BatchAnswer>().handler(async (event) => {
    const from = await followAll(services, changesOf(event));
    state.flush();
    return { batchItemFailures: from === undefined ? [] : [{ itemIdentifier: from }] };
  });
}
