import type { InboxMessage } from '../delegation/services.ts';
import type { OutboxMessage } from '../push/services.ts';
import { required, type Seams } from './compose.ts';
import type { Environment } from './environment.ts';
import type { RunMessage, WorkQueue } from './ports.ts';
import { createSqsClient, createSqsQueue } from './queue-sqs.ts';

export function composeRunQueue(environment: Environment, seams: Seams): WorkQueue<RunMessage> {
  return (
    seams.runQueue ??
    createSqsQueue(
      createSqsClient(environment),
      required(environment.SEALPOST_RUN_QUEUE, 'SEALPOST_RUN_QUEUE'),
    )
  );
}

/** Tasks whose projection failed, by id. */
export function composeProjectionQueue(environment: Environment, seams: Seams): WorkQueue<RunMessage> {
  return (
    seams.projectionQueue ??
    createSqsQueue(
      createSqsClient(environment),
      required(environment.SEALPOST_PROJECTION_QUEUE, 'SEALPOST_PROJECTION_QUEUE'),
    )
  );
}

/** Configs whose delivery is to be woken. Without the variable push is not deployed, and nothing is to be woken. */
export function composeOutboxQueue(environment: Environment, seams: Seams): WorkQueue<OutboxMessage> {
  const url = environment.SEALPOST_OUTBOX_QUEUE;
  return (
    seams.outboxQueue ?? (url ? createSqsQueue(createSqsClient(environment), url) : { send: async () => {} })
  );
}

/** Dependencies that are to be moved on. Without the variable the client role is not deployed. */
export function composeInboxQueue(environment: Environment, seams: Seams): WorkQueue<InboxMessage> {
  const url = environment.SEALPOST_INBOX_QUEUE;
  return (
    seams.inboxQueue ?? (url ? createSqsQueue(createSqsClient(environment), url) : { send: async () => {} })
  );
}
