import { describe, expect, it } from 'vitest';
import { type Properties, readable, synthesise } from './synthesise.ts';

const stack = synthesise();

describe('a work queue', () => {
  const queues = new Map(
    stack.ofType('AWS::SQS::Queue').map(({ id, properties }) => [id, properties] as const),
  );
  const named = (name: string) =>
    [...queues].find(([, properties]) => properties['QueueName'] === `Sealpost-${name}`)!;
  const consumerOf = (queueId: string) => {
    const found = stack
      .ofType('AWS::Lambda::EventSourceMapping')
      .map(({ properties }) => properties)
      .find((properties) => readable(properties['EventSourceArn']) === `<${queueId}.Arn>`)!;
    return { mapping: found, consumer: stack.resources.find(({ id }) => id === found['FunctionName'].Ref)! };
  };

  it.each(['runs', 'projections', 'outbox', 'inbox'])(
    '%s sends what cannot be done to dead letters that only it may send',
    (name) => {
      const [, queue] = named(name);
      const [deadId, dead] = named(`${name}-dead`);
      expect(readable(queue['RedrivePolicy'].deadLetterTargetArn)).toBe(`<${deadId}.Arn>`);
      expect(queue['RedrivePolicy'].maxReceiveCount).toBeGreaterThanOrEqual(5);
      expect(dead['RedriveAllowPolicy'].redrivePermission).toBe('byQueue');
      expect(dead['RedriveAllowPolicy'].sourceQueueArns.map(readable)).toEqual([
        `arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:Sealpost-${name}`,
      ]);
      expect(dead['MessageRetentionPeriod']).toBe(14 * 24 * 3600);
    },
  );

  it.each(['runs', 'projections', 'outbox', 'inbox', 'runs-dead', 'outbox-dead'])(
    '%s hides a message for six times its consumer’s timeout, reports single failures, and never throttles',
    (name) => {
      const [id, queue] = named(name);
      const { mapping, consumer } = consumerOf(id);
      expect(queue['VisibilityTimeout']).toBeGreaterThanOrEqual(6 * consumer.properties['Timeout']);
      expect(mapping['FunctionResponseTypes']).toEqual(['ReportBatchItemFailures']);
      expect(mapping['ScalingConfig'].MaximumConcurrency).toBeGreaterThanOrEqual(2);
      expect(mapping['ScalingConfig'].MaximumConcurrency).toBeLessThanOrEqual(
        consumer.properties['ReservedConcurrentExecutions'],
      );
    },
  );

  it('hands runs to the executor one by one, and their dead letters to dead-letter', () => {
    const runs = consumerOf(named('runs')[0]);
    expect(runs.consumer.id).toBe(stack.function('executor').id);
    expect(runs.mapping['BatchSize']).toBe(1);
    expect(consumerOf(named('runs-dead')[0]).consumer.id).toBe(stack.function('dead-letter').id);
    expect(consumerOf(named('projections')[0]).consumer.id).toBe(stack.function('projection-retry').id);
  });

  it('hands configs to delivery one by one, and their dead letters to outbox-dead-letter', () => {
    const outbox = consumerOf(named('outbox')[0]);
    expect(outbox.consumer.id).toBe(stack.function('delivery').id);
    expect(outbox.mapping['BatchSize']).toBe(1);
    expect(consumerOf(named('outbox-dead')[0]).consumer.id).toBe(stack.function('outbox-dead-letter').id);
  });

  it('hands dependencies to the reconciler one by one; their dead letters wait for a person, and the due index for nobody', () => {
    const inbox = consumerOf(named('inbox')[0]);
    expect(inbox.consumer.id).toBe(stack.function('reconciler').id);
    expect(inbox.mapping['BatchSize']).toBe(1);
    const [dead] = named('inbox-dead');
    const mapped = stack
      .ofType('AWS::Lambda::EventSourceMapping')
      .map(({ properties }) => readable(properties['EventSourceArn']));
    expect(mapped).not.toContain(`<${dead}.Arn>`);
  });

  it('is encrypted and refuses what does not come over TLS', () => {
    for (const [id, properties] of queues) {
      expect(properties['SqsManagedSseEnabled']).toBe(true);
      const policies = stack
        .ofType('AWS::SQS::QueuePolicy')
        .filter((policy) => policy.properties['Queues'].some((queue: Properties) => queue['Ref'] === id));
      expect(JSON.stringify(policies)).toContain('"aws:SecureTransport":"false"');
    }
  });

  it('has alarms on the age of its oldest message and on its dead letters', () => {
    const watched = stack
      .ofType('AWS::CloudWatch::Alarm')
      .map(
        ({ properties }) => `${properties['MetricName']} ${JSON.stringify(properties['Dimensions'] ?? [])}`,
      );
    const watches = (metric: string, queue: string) =>
      watched.some((alarm) => alarm.startsWith(metric) && alarm.includes(queue));
    for (const name of ['runs', 'projections', 'outbox', 'inbox']) {
      expect(watches('ApproximateAgeOfOldestMessage', named(name)[0])).toBe(true);
      expect(watches('ApproximateNumberOfMessagesVisible', named(`${name}-dead`)[0])).toBe(true);
    }
    expect(watches('ApproximateNumberOfMessagesVisible', named('projections-lost')[0])).toBe(true);
  });
});
