import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  SetQueueAttributesCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { buildApp } from 'fauxqs';
import { localClient } from './local-client.ts';

export interface QueueDefinition {
  readonly name: string;
  /** A message that was received and not deleted comes back after this, seconds. */
  readonly visibilitySeconds: number;
  /** Received this often without being deleted, a message goes to `deadLetter`. */
  readonly redrive?: { readonly maxReceives: number; readonly deadLetter: string };
}

export interface LocalQueue {
  readonly url: string;
  readonly arn: string;
}

export interface Queues<Name extends string = string> {
  readonly endpoint: string;
  readonly queues: Readonly<Record<Name, LocalQueue>>;
  stop(): Promise<void>;
}

/** Dead letters stand before the queues that name them. */
export const queueDefinitions = [
  { name: 'run-dlq', visibilitySeconds: 60 },
  { name: 'projection-dlq', visibilitySeconds: 60 },
  { name: 'outbox-dlq', visibilitySeconds: 60 },
  { name: 'inbox-dlq', visibilitySeconds: 60 },
  { name: 'run', visibilitySeconds: 60, redrive: { maxReceives: 5, deadLetter: 'run-dlq' } },
  { name: 'projection', visibilitySeconds: 30, redrive: { maxReceives: 5, deadLetter: 'projection-dlq' } },
  { name: 'outbox', visibilitySeconds: 60, redrive: { maxReceives: 5, deadLetter: 'outbox-dlq' } },
  { name: 'inbox', visibilitySeconds: 120, redrive: { maxReceives: 5, deadLetter: 'inbox-dlq' } },
] as const satisfies readonly QueueDefinition[];
export type QueueName = (typeof queueDefinitions)[number]['name'];

/**
 * SQS in this process, on 127.0.0.1. Messages live in memory: the emulator that keeps them on disk listens on every
 * interface, and nothing is lost with them, since messages carry ids only and `repair` at the host's start sends again
 * what the committed state still needs (design §4).
 */
export async function startQueues<
  const Definition extends QueueDefinition = (typeof queueDefinitions)[number],
>(
  definitions: readonly Definition[] = queueDefinitions as unknown as readonly Definition[],
): Promise<Queues<Definition['name']>> {
  const app = buildApp({ logger: false });
  const endpoint = await app.listen({ port: 0, host: '127.0.0.1' });
  const client = new SQSClient(localClient(endpoint));
  const queues: Record<string, LocalQueue> = {};
  try {
    for (const definition of definitions) queues[definition.name] = await create(client, definition, queues);
  } finally {
    client.destroy();
  }
  return {
    endpoint,
    queues: queues as Record<Definition['name'], LocalQueue>,
    async stop() {
      // A long poll would hold the close back for 20 s.
      const closed = app.close();
      app.server.closeAllConnections();
      await closed;
    },
  };
}

async function create(
  client: SQSClient,
  { name, visibilitySeconds, redrive }: QueueDefinition,
  made: Readonly<Record<string, LocalQueue>>,
): Promise<LocalQueue> {
  const deadLetter = redrive && made[redrive.deadLetter];
  if (redrive && !deadLetter)
    throw new Error(`The queue ${name} names ${redrive.deadLetter}, which is not defined.`);
  const { QueueUrl: url = '' } = await client.send(
    new CreateQueueCommand({
      QueueName: name,
      Attributes: {
        VisibilityTimeout: String(visibilitySeconds),
        MessageRetentionPeriod: String(14 * 24 * 3_600),
        ...(redrive && {
          RedrivePolicy: JSON.stringify({
            deadLetterTargetArn: deadLetter?.arn,
            maxReceiveCount: redrive.maxReceives,
          }),
        }),
      },
    }),
  );
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] }),
  );
  const arn = Attributes?.['QueueArn'] ?? '';
  if (deadLetter) {
    await client.send(
      new SetQueueAttributesCommand({
        QueueUrl: deadLetter.url,
        Attributes: {
          RedriveAllowPolicy: JSON.stringify({ redrivePermission: 'byQueue', sourceQueueArns: [arn] }),
        },
      }),
    );
  }
  return { url, arn };
}
