import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localClient } from '../../infra/local/local-client.ts';
import { type Queues, startQueues } from '../../infra/local/queues.ts';
import { portIsOpen } from './ports.ts';

let queues: Queues<'work-dlq' | 'work'>;
let client: SQSClient;
beforeAll(async () => {
  queues = await startQueues([
    { name: 'work-dlq', visibilitySeconds: 30 },
    { name: 'work', visibilitySeconds: 30, redrive: { maxReceives: 2, deadLetter: 'work-dlq' } },
  ]);
  client = new SQSClient(localClient(queues.endpoint));
});
afterAll(() => client.destroy());

const receive = (QueueUrl: string) =>
  client.send(
    new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5, MessageSystemAttributeNames: ['All'] }),
  );

describe('the local queues', () => {
  it('hands a message on to the dead letters after as many receives as the queue allows', async () => {
    const { url } = queues.queues.work;
    await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: 'poison' }));
    for (const count of ['1', '2']) {
      const message = (await receive(url)).Messages?.[0];
      expect(message?.Attributes?.['ApproximateReceiveCount']).toBe(count);
      const { ReceiptHandle } = message ?? {};
      await client.send(
        new ChangeMessageVisibilityCommand({ QueueUrl: url, ReceiptHandle, VisibilityTimeout: 0 }),
      );
    }
    expect((await client.send(new ReceiveMessageCommand({ QueueUrl: url }))).Messages).toBeUndefined();
    expect((await receive(queues.queues['work-dlq'].url)).Messages?.[0]?.Body).toBe('poison');
  });

  it('has the definitions of the gateway: each work queue has a visibility time and dead letters', async () => {
    const own = await startQueues();
    const sqs = new SQSClient(localClient(own.endpoint));
    for (const name of ['run', 'projection'] as const) {
      const { Attributes } = await sqs.send(
        new GetQueueAttributesCommand({ QueueUrl: own.queues[name].url, AttributeNames: ['All'] }),
      );
      const redrive = JSON.parse(Attributes?.['RedrivePolicy'] ?? '{}');
      expect(redrive).toMatchObject({ deadLetterTargetArn: own.queues[`${name}-dlq`].arn });
    }
    sqs.destroy();
    await own.stop();
  });

  it('listens on loopback only, and closes its port at once although a receiver still waits', async () => {
    expect(new URL(queues.endpoint).hostname).toBe('127.0.0.1');
    const waiting = client.send(
      new ReceiveMessageCommand({ QueueUrl: queues.queues.work.url, WaitTimeSeconds: 20 }),
    );
    const cut = expect(waiting).rejects.toThrow();
    const before = Date.now();
    await queues.stop();
    expect(Date.now() - before).toBeLessThan(2_000);
    expect(await portIsOpen(queues.endpoint)).toBe(false);
    client.destroy();
    await cut;
  });
});
