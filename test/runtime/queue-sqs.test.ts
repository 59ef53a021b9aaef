import type { SendMessageCommandInput, SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunMessage } from '../../shared/runtime/ports.ts';
import { createSqsClient, createSqsQueue } from '../../shared/runtime/queue-sqs.ts';

const url = 'http://127.0.0.1:9/000000000000/runs';
let client: SQSClient;
let sent: SendMessageCommandInput[];
beforeEach(() => {
  sent = [];
  client = createSqsClient({ AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_SQS: 'http://127.0.0.1:9' });
  client.middlewareStack.add(
    (next) => async (args) => {
      sent.push(args.input as SendMessageCommandInput);
      return { response: {}, output: { $metadata: {} } } as Awaited<ReturnType<typeof next>>;
    },
    { step: 'initialize', name: 'kept' },
  );
});
afterEach(() => client.destroy());

describe('a work queue', () => {
  it('gets the message as JSON, at once unless a delay is asked', async () => {
    await createSqsQueue<RunMessage>(client, url).send({ task: 'task-1' });
    expect(sent).toEqual([{ QueueUrl: url, MessageBody: '{"task":"task-1"}', DelaySeconds: 0 }]);
  });

  it.each([
    [0.2, 1],
    [900, 900],
    [901, 900],
    [-3, 0],
    [7_200, 900],
  ])('delays %f s as %i s: never early but for the bound of the service', async (asked, delayed) => {
    await createSqsQueue<RunMessage>(client, url).send({ task: 'task-1' }, asked);
    expect(sent[0]?.DelaySeconds).toBe(delayed);
  });
});
