import { ChangeMessageVisibilityCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Environment } from './environment.ts';
import type { WorkQueue } from './ports.ts';

/** The service's bound on `DelaySeconds`; longer waits are the due index's business. */
const LONGEST_DELAY_SECONDS = 900;

/** Three attempts of at most 2 s: what a lost message should have done, the stream path or the due index does. */
export function createSqsClient(
  environment: Pick<Environment, 'AWS_REGION' | 'AWS_ENDPOINT_URL_SQS'>,
): SQSClient {
  const endpoint = environment.AWS_ENDPOINT_URL_SQS;
  return new SQSClient({
    region: environment.AWS_REGION,
    ...(endpoint === undefined ? {} : { endpoint }),
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
  });
}

/**
 * A standard queue; the body is the message as JSON. The delay is rounded up to whole seconds and kept within 0 to
 * 900: who wakes early reads the due time and waits again.
 */
export function createSqsQueue<Message extends object>(client: SQSClient, url: string): WorkQueue<Message> {
  return {
    async send(message, delaySeconds = 0) {
      const delay = Math.min(LONGEST_DELAY_SECONDS, Math.max(0, Math.ceil(delaySeconds)));
      await client.send(
        new SendMessageCommand({ QueueUrl: url, MessageBody: JSON.stringify(message), DelaySeconds: delay }),
      );
    },
  };
}

/** Keeps one received message invisible for that long, 0 to 43,200 seconds, counted from now. */
export async function keepInvisible(
  client: SQSClient,
  url: string,
  receipt: string,
  seconds: number,
): Promise<void> {
  await client.send(
    new ChangeMessageVisibilityCommand({
      QueueUrl: url,
      ReceiptHandle: receipt,
      VisibilityTimeout: Math.max(0, Math.ceil(seconds)),
    }),
  );
}
