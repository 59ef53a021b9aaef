import { CfnOutput, Duration, Stack, Validations } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, type IEventSourceDlq } from 'aws-cdk-lib/aws-lambda';
import { Queue, QueueEncryption, RedrivePermission } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Environment } from '../../shared/runtime/environment.ts';
import { type Alarms, MINUTE } from './alarms.ts';
import type { GatewayFunction } from './gateway-function.ts';

export interface WorkQueueProps {
  /** Last part of the queue's name, e.g. `runs`; the dead-letter queue is `<name>-dead`. */
  readonly name: string;
  readonly alarms: Alarms;
  /** Longest timeout of a function that reads the queue or its dead letters. */
  readonly consumerTimeout: Duration;
  /** Receives before a message becomes a dead letter. */
  readonly receives: number;
  /** A message older than this means that nobody works: alarm. */
  readonly oldest: Duration;
  /** Whether a function drains the dead letters: then only those that stay raise the alarm. */
  readonly deadLettersDrained: boolean;
}

export interface Consumption {
  /** Messages handed to one invocation. */
  readonly batch: number;
  /** Invocations at once, 2 to 1000; more would be throttled, and each throttle uses up a receive. */
  readonly concurrency: number;
}

/**
 * A standard queue with all that belongs to it: dead letters that only it may send, encryption, TLS, visibility of six
 * times the consumer's timeout, an alarm on the age of the oldest message and one on dead letters. Its messages carry
 * ids only (design §4), so SQS's own encryption is enough.
 */
export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, props: WorkQueueProps) {
    super(scope, id);
    const stack = Stack.of(this);
    // Named, because queue and dead letters name each other and CloudFormation could make neither first.
    const queueName = `${stack.stackName}-${props.name}`;
    const visibilityTimeout = Duration.seconds(6 * props.consumerTimeout.toSeconds());
    this.deadLetters = new Queue(this, 'DeadLetters', {
      queueName: `${queueName}-dead`,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
      visibilityTimeout,
      redriveAllowPolicy: {
        redrivePermission: RedrivePermission.BY_QUEUE,
        sourceQueues: [
          Queue.fromQueueArn(this, 'Source', stack.formatArn({ service: 'sqs', resource: queueName })),
        ],
      },
    });
    this.queue = new Queue(this, 'Queue', {
      queueName,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(4),
      visibilityTimeout,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: props.receives },
    });
    props.alarms.watch(
      this,
      'Age',
      this.queue.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: 'Maximum' }),
      {
        description: `queue ${props.name}: the oldest message waits too long`,
        threshold: props.oldest.toSeconds(),
        periods: 3,
      },
    );
    props.alarms.watch(
      this,
      'DeadLetters',
      this.deadLetters.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: 'Maximum' }),
      {
        description: `queue ${props.name} has dead letters`,
        threshold: 1,
        periods: props.deadLettersDrained ? 5 : 1,
      },
    );
  }

  sentBy(sender: GatewayFunction, variable: keyof Environment): void {
    sender.tell(variable, this.queue.queueUrl);
    sender.allow(new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.queue.queueArn] }));
  }

  consumedBy(consumer: GatewayFunction, consumption: Consumption): void {
    consume(this.queue, consumer, consumption);
  }

  deadLettersConsumedBy(consumer: GatewayFunction, consumption: Consumption): void {
    consume(this.deadLetters, consumer, consumption);
  }
}

/** Where a stream mapping leaves word of records that it gave up. */
export class FailureQueue extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, id: string, props: { readonly name: string; readonly alarms: Alarms }) {
    super(scope, id);
    this.queue = new Queue(this, 'Queue', {
      queueName: `${Stack.of(this).stackName}-${props.name}`,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    Validations.of(this.queue).acknowledge({
      id: 'AwsSolutions-SQS3',
      reason:
        'It is itself where failures end: nothing reads it but a person, and its messages have an alarm.',
    });
    props.alarms.watch(
      this,
      'Depth',
      this.queue.metricApproximateNumberOfMessagesVisible({ period: MINUTE, statistic: 'Maximum' }),
      { description: `${props.name}: stream records were given up; run \`admin task repair\``, threshold: 1 },
    );
  }

  /** As a mapping's destination: leave to send, and no more. */
  destinationOf(sender: GatewayFunction): IEventSourceDlq {
    sender.allow(new PolicyStatement({ actions: ['sqs:SendMessage'], resources: [this.queue.queueArn] }));
    return { bind: () => ({ destination: this.queue.queueArn }) };
  }
}

function consume(queue: Queue, consumer: GatewayFunction, consumption: Consumption): void {
  consumer.allow(
    new PolicyStatement({
      actions: [
        'sqs:ReceiveMessage',
        'sqs:DeleteMessage',
        'sqs:ChangeMessageVisibility',
        'sqs:GetQueueAttributes',
      ],
      resources: [queue.queueArn],
    }),
  );
  new EventSourceMapping(queue, 'Mapping', {
    target: consumer.function,
    eventSourceArn: queue.queueArn,
    batchSize: consumption.batch,
    maxConcurrency: consumption.concurrency,
    reportBatchItemFailures: true,
  });
}

export function outputQueue(queue: Queue, id: string, description: string): void {
  new CfnOutput(Stack.of(queue), id, { value: queue.queueUrl, description });
}
