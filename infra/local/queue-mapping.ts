import {
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSMessageAttributes, SQSRecord, SQSRecordAttributes } from 'aws-lambda';
import { failuresOf, type Invocable, invoke, type OnError, type Poller } from './invoker.ts';
import { localClient, localRegion } from './local-client.ts';
import type { LocalQueue } from './queues.ts';

export interface QueueMapping {
  readonly endpoint: string;
  readonly queue: LocalQueue;
  readonly target: Invocable;
  /** Messages an invocation, 1..10. */
  readonly batchSize: number;
  /** Invocations at once; messages beyond them stay in the queue, so waiting uses up no receive. */
  readonly maximumConcurrency: number;
  readonly onError?: OnError;
}

/**
 * The event source mapping of a queue, with `ReportBatchItemFailures`: what the function handled is deleted, what it
 * reported, or all of it when it threw, comes back when its visibility time is over and goes to the dead letters by
 * the queue's own redrive.
 */
export function mapQueue(mapping: QueueMapping): Poller {
  const client = new SQSClient({ ...localClient(mapping.endpoint), maxAttempts: 1 });
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const report = (error: unknown) => mapping.onError?.(mapping.target.name, error);

  const poll = async () => {
    while (!stopping.signal.aborted) {
      if (running.size >= mapping.maximumConcurrency) {
        await Promise.race(running);
        continue;
      }
      let messages: readonly Message[];
      try {
        messages = await receive(client, mapping, stopping.signal);
      } catch (error) {
        if (stopping.signal.aborted) break;
        report(error);
        await pause(stopping.signal);
        continue;
      }
      if (messages.length === 0) continue;
      const work = handle(client, mapping, messages).catch(report);
      running.add(work);
      void work.finally(() => running.delete(work));
    }
    await Promise.all(running);
    client.destroy();
  };
  const done = poll();
  return {
    running: () => running.size,
    stop: () => {
      stopping.abort();
      return done;
    },
  };
}

async function receive(
  client: SQSClient,
  mapping: QueueMapping,
  signal: AbortSignal,
): Promise<readonly Message[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: mapping.queue.url,
    MaxNumberOfMessages: mapping.batchSize,
    WaitTimeSeconds: 20,
    MessageSystemAttributeNames: ['All'],
    MessageAttributeNames: ['All'],
  });
  return (await client.send(command, { abortSignal: signal })).Messages ?? [];
}

async function handle(client: SQSClient, mapping: QueueMapping, messages: readonly Message[]): Promise<void> {
  const event: SQSEvent = { Records: messages.map((message) => record(message, mapping.queue.arn)) };
  const answer = await invoke(mapping.target, event);
  const failures = failuresOf(answer, new Set(event.Records.map(({ messageId }) => messageId)));
  if (!failures)
    throw new Error(`${mapping.target.name} reported failures of messages that were not in its batch`);
  const handled = event.Records.filter(({ messageId }) => !failures.includes(messageId));
  if (handled.length === 0) return;
  await client.send(
    new DeleteMessageBatchCommand({
      QueueUrl: mapping.queue.url,
      Entries: handled.map(({ receiptHandle }, index) => ({
        Id: String(index),
        ReceiptHandle: receiptHandle,
      })),
    }),
  );
}

function record(message: Message, arn: string): SQSRecord {
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    attributes: { ...message.Attributes } as unknown as SQSRecordAttributes,
    messageAttributes: attributes(message),
    md5OfBody: message.MD5OfBody ?? '',
    eventSource: 'aws:sqs',
    eventSourceARN: arn,
    awsRegion: localRegion,
  };
}

function attributes(message: Message): SQSMessageAttributes {
  const entries = Object.entries(message.MessageAttributes ?? {}).map(([name, value]) => [
    name,
    {
      dataType: value.DataType ?? 'String',
      ...(value.StringValue !== undefined && { stringValue: value.StringValue }),
      ...(value.BinaryValue !== undefined && {
        binaryValue: Buffer.from(value.BinaryValue).toString('base64'),
      }),
      stringListValues: [],
      binaryListValues: [],
    },
  ]);
  return Object.fromEntries(entries) as SQSMessageAttributes;
}

/** A queue that does not answer is asked again, not at once. */
function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 200);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
