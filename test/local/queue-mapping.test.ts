import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Poller } from '../../infra/local/invoker.ts';
import { localClient } from '../../infra/local/local-client.ts';
import { mapQueue, type QueueMapping } from '../../infra/local/queue-mapping.ts';
import { type Queues, startQueues } from '../../infra/local/queues.ts';

let queues: Queues<'work-dlq' | 'work'>;
let client: SQSClient;
let pollers: Poller[];
beforeEach(async () => {
  queues = await startQueues([
    { name: 'work-dlq', visibilitySeconds: 1 },
    { name: 'work', visibilitySeconds: 1, redrive: { maxReceives: 2, deadLetter: 'work-dlq' } },
  ]);
  client = new SQSClient(localClient(queues.endpoint));
  pollers = [];
});
afterEach(async () => {
  await Promise.all(pollers.map((poller) => poller.stop()));
  client.destroy();
  await queues.stop();
});

function map(handler: (event: SQSEvent) => unknown, options: Partial<QueueMapping> = {}): Poller {
  const poller = mapQueue({
    endpoint: queues.endpoint,
    queue: queues.queues.work,
    target: { name: 'worker', handler: handler as never, timeoutSeconds: 30 },
    batchSize: 10,
    maximumConcurrency: 5,
    ...options,
  });
  pollers.push(poller);
  return poller;
}
const send = (MessageBody: string) =>
  client.send(
    new SendMessageCommand({
      QueueUrl: queues.queues.work.url,
      MessageBody,
      MessageAttributes: { kind: { DataType: 'String', StringValue: 'test' } },
    }),
  );
const receive = (QueueUrl: string) => client.send(new ReceiveMessageCommand({ QueueUrl }));

describe('the mapping of a queue', () => {
  it('hands messages over in the shape of the platform and deletes what was handled', async () => {
    const events: SQSEvent[] = [];
    map(async (event) => void events.push(event));
    await send('{"task":"t1"}');
    await vi.waitFor(() => expect(events).toHaveLength(1));
    expect(events[0]?.Records[0]).toMatchObject({
      messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      receiptHandle: expect.any(String),
      body: '{"task":"t1"}',
      attributes: { ApproximateReceiveCount: '1', SentTimestamp: expect.stringMatching(/^\d{13}$/) },
      messageAttributes: {
        kind: { dataType: 'String', stringValue: 'test', stringListValues: [], binaryListValues: [] },
      },
      eventSource: 'aws:sqs',
      eventSourceARN: queues.queues.work.arn,
      awsRegion: 'us-east-1',
    });
    await pollers[0]?.stop();
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await receive(queues.queues.work.url)).Messages).toBeUndefined();
  });

  it('brings back only the messages that were reported, and gives them to the dead letters at last', async () => {
    const seen: string[] = [];
    const dead: string[] = [];
    map(async ({ Records }) => {
      seen.push(...Records.map(({ body }) => body));
      const bad = Records.filter(({ body }) => body === 'bad');
      return { batchItemFailures: bad.map(({ messageId }) => ({ itemIdentifier: messageId })) };
    });
    map(async ({ Records }) => void dead.push(...Records.map(({ body }) => body)), {
      queue: queues.queues['work-dlq'],
    });
    await Promise.all(['good', 'bad', 'fine'].map(send));
    await vi.waitFor(() => expect(dead).toEqual(['bad']), { timeout: 8_000 });
    expect(seen.sort()).toEqual(['bad', 'bad', 'fine', 'good']);
  });

  it('brings back the whole batch of a function that threw, or that did not end in time', async () => {
    const onError = vi.fn();
    let calls = 0;
    const handler = (): Promise<void> => {
      calls += 1;
      if (calls === 1) throw new Error('broken');
      return new Promise(() => {});
    };
    map(async () => handler(), { onError, target: { name: 'worker', handler, timeoutSeconds: 0.1 } });
    await send('x');
    await vi.waitFor(() => expect(onError).toHaveBeenCalledTimes(2), { timeout: 8_000 });
    expect(onError.mock.calls.map(([name, error]) => [name, error.name])).toEqual([
      ['worker', 'Error'],
      ['worker', 'FunctionTimeout'],
    ]);
  });

  it('runs no more than its maximum concurrency, and what waits was not received', async () => {
    let [running, most] = [0, 0];
    const release: (() => void)[] = [];
    const counts = new Set<string>();
    map(
      async ({ Records }) => {
        most = Math.max(most, ++running);
        for (const { attributes } of Records) counts.add(attributes.ApproximateReceiveCount);
        await new Promise<void>((resolve) => release.push(resolve));
        running -= 1;
      },
      { batchSize: 1, maximumConcurrency: 2 },
    );
    await Promise.all(Array.from({ length: 6 }, (_, n) => send(`${n}`)));
    let ended = 0;
    while (ended < 6) {
      await vi.waitFor(() => expect(release.length).toBeGreaterThan(0));
      release.shift()?.();
      ended += 1;
    }
    await vi.waitFor(() => expect(running).toBe(0));
    expect(most).toBe(2);
    expect([...counts]).toEqual(['1']);
  });

  it('stops at once when idle, and otherwise with the end of the last invocation', async () => {
    let finish = () => {};
    const poller = map(() => new Promise<void>((resolve) => (finish = resolve)));
    await send('x');
    await vi.waitFor(() => expect(poller.running()).toBe(1));
    let stopped = false;
    const stopping = poller.stop().then(() => (stopped = true));
    await send('y');
    expect(stopped).toBe(false);
    finish();
    await stopping;
    // A receive that was given up may have taken it along: then it comes back with its visibility time.
    const left = () => receive(queues.queues.work.url).then(({ Messages }) => Messages?.[0]?.Body);
    await expect.poll(left, { timeout: 5_000, interval: 100 }).toBe('y');

    const idle = map(() => {}, { queue: queues.queues['work-dlq'] });
    const before = Date.now();
    await idle.stop();
    expect(Date.now() - before).toBeLessThan(1_000);
  });
});
