import { Duration } from 'aws-cdk-lib';
import { MathExpression, type Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { AUDIT, CLIENT_READ, dataKeyItems, GET, LEVELS_READ } from './access.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import type { HttpApi } from './http-api.ts';
import { overall, ownMetric } from './own-metrics.ts';
import type { SealingKeys } from './sealing-keys.ts';
import type { Tables } from './tables.ts';
import { WorkQueue } from './work-queue.ts';

/** Time for several events of a config; one exchange takes at most 15 s (design §6). */
const DELIVERY = Duration.minutes(2);

/**
 * Push: the outbox queue, delivery, which alone calls webhooks, and outbox-dead-letter, which settles what failed again
 * and again by a fault of ours (design §6, P7). Delivery stands in no VPC, so that nothing private is within its reach
 * even if the guard failed.
 */
export class Push extends Construct {
  readonly queue: WorkQueue;
  readonly delivery: GatewayFunction;
  readonly deadLetter: GatewayFunction;

  constructor(
    scope: Construct,
    id: string,
    foundation: Foundation,
    parts: { readonly tables: Tables; readonly keys: SealingKeys; readonly api: HttpApi },
  ) {
    super(scope, id);
    const { parameters, alarms } = foundation;
    const { tables, keys, api } = parts;
    this.queue = new WorkQueue(this, 'OutboxQueue', {
      name: 'outbox',
      alarms,
      consumerTimeout: DELIVERY,
      receives: 5,
      // A message that wakes somebody later is delayed by up to 15 minutes.
      oldest: Duration.minutes(30),
      deadLettersDrained: true,
    });

    this.delivery = new GatewayFunction(this, 'Delivery', foundation, {
      name: 'delivery',
      description: 'Delivers events to webhooks',
      memory: 512,
      timeout: DELIVERY,
      reserved: parameters.deliveryConcurrency,
    });
    // A webhook that hangs holds one invocation for 15 s, and nobody else's.
    this.queue.consumedBy(this.delivery, { batch: 1, concurrency: parameters.deliveryConcurrency });
    // A webhook that leads back to us is refused by this name.
    this.delivery.tell('SEALPOST_PUBLIC_URL', api.url);
    this.queue.sentBy(this.delivery, 'SEALPOST_OUTBOX_QUEUE');
    // A config that is stopped leaves the head.
    tables.allow(this.delivery, 'state', [...GET, 'UpdateItem']);
    tables.allow(this.delivery, 'view', GET);
    tables.allow(this.delivery, 'outbox', [...GET, 'PutItem', 'UpdateItem', 'ConditionCheckItem']);
    // What the client may have, and what the levels in force leave of content (§7).
    tables.allow(this.delivery, 'registry', GET, {
      partitions: [...CLIENT_READ, ...LEVELS_READ, ...dataKeyItems(['content', 'push'])],
    });
    tables.allow(this.delivery, 'registry', ['PutItem'], { partitions: AUDIT });
    keys.allow(this.delivery, { open: ['content', 'push'] });
    this.delivery.allowRedaction();

    this.deadLetter = new GatewayFunction(this, 'OutboxDeadLetter', foundation, {
      name: 'outbox-dead-letter',
      description: 'Settles deliveries that ran out of retries',
      memory: 512,
      timeout: Duration.seconds(60),
      reserved: 5,
    });
    this.queue.deadLettersConsumedBy(this.deadLetter, { batch: 10, concurrency: 5 });
    tables.allow(this.deadLetter, 'outbox', [...GET, 'UpdateItem']);

    this.#watch(foundation);
  }

  /** What our own code counts; CloudWatch sees of a webhook only what the code says. */
  #watch({ alarms, metricsNamespace }: Foundation): void {
    const delivery = (name: string, statistic: 'Sum' | 'SampleCount', dimensions = {}) =>
      ownMetric(metricsNamespace, name, 'delivery', statistic, dimensions);
    const halted = (state: string, reason: string) => delivery('PushHalted', 'Sum', { state, reason });

    alarms.watch(this, 'Due', ownMetric(metricsNamespace, 'PushJobsDue', 'sweeper', 'Maximum'), {
      description: 'push: many jobs are due that nobody delivers',
      threshold: 1_000,
      periods: 3,
    });
    alarms.watch(this, 'Oldest', ownMetric(metricsNamespace, 'PushOldestDue', 'sweeper', 'Maximum'), {
      // Eight attempts of one event take less than four hours.
      description: 'push: a job waits for longer than retries take',
      threshold: Duration.hours(6).toMilliseconds(),
      periods: 3,
    });
    alarms.watch(this, 'Undelivered', undelivered(delivery), {
      description: 'push: less than half of the attempts deliver',
      threshold: 50,
      periods: 3,
    });
    alarms.watch(this, 'Exhausted', delivery('PushJobEnded', 'Sum', { state: 'exhausted' }), {
      description: 'push: an event was given up after its last attempt; see `admin push show`',
      threshold: 1,
    });
    alarms.watch(this, 'Paused', halted('paused', 'authentication_failed'), {
      description: 'push: a webhook refuses its credential and is paused; see `admin push list`',
      threshold: 1,
    });
    alarms.watch(this, 'Gone', halted('stopped', 'gone'), {
      description: 'push: a webhook is gone and was stopped; see `admin push list`',
      threshold: 1,
    });
    alarms.watch(this, 'Refused', halted('stopped', 'address_refused'), {
      description: 'push: SECURITY: the guard refused the address of a registered webhook, and stopped it',
      threshold: 1,
    });
    // At registration as at delivery.
    alarms.watch(this, 'RefusedUrls', overall(metricsNamespace, 'GuardRefused', 'refusals of the guard'), {
      description: 'push: the guard refuses many URLs; the audit names client and rule',
      threshold: 20,
    });
    const deadLettered = ownMetric(metricsNamespace, 'PushDeadLettered', 'outbox-dead-letter', 'Sum');
    alarms.watch(this, 'DeadLettered', deadLettered, {
      description: 'push: deliveries fail again and again by a fault of the gateway',
      threshold: 1,
    });
  }
}

/** Percent of at least 20 attempts; each attempt measures its duration, whatever became of it. */
function undelivered(
  delivery: (name: string, statistic: 'Sum' | 'SampleCount', dimensions?: Record<string, string>) => Metric,
): MathExpression {
  return new MathExpression({
    expression: 'IF(attempts >= 20, 100 * (attempts - FILL(delivered, 0)) / attempts, 0)',
    usingMetrics: {
      attempts: delivery('PushDuration', 'SampleCount'),
      delivered: delivery('PushAttempt', 'Sum', { class: '2xx' }),
    },
    label: 'attempts that do not deliver, percent',
    period: Duration.minutes(5),
  });
}
