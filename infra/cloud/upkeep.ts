import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { allowEnding, allowPurging, GET, PROJECT, TASK_WRITE } from './access.ts';
import { EveryMinute } from './every-minute.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import { ownMetric } from './own-metrics.ts';
import type { Tables } from './tables.ts';
import type { WorkQueue } from './work-queue.ts';

/**
 * The sweeper, every minute over the due index: no accepted task stays unfinished for ever (P6), and none stays longer
 * than its profile keeps it (P12). It opens no content.
 */
export class Upkeep extends Construct {
  readonly sweeper: GatewayFunction;

  constructor(
    scope: Construct,
    id: string,
    foundation: Foundation,
    parts: {
      readonly tables: Tables;
      readonly runQueue: WorkQueue;
      readonly outboxQueue: WorkQueue | undefined;
      readonly inboxQueue: WorkQueue | undefined;
    },
  ) {
    super(scope, id);
    const { alarms, metricsNamespace } = foundation;
    const { tables, runQueue, outboxQueue, inboxQueue } = parts;
    this.sweeper = new GatewayFunction(this, 'Sweeper', foundation, {
      name: 'sweeper',
      description:
        'Finds what is due: lost queue messages, passed deadlines, unanswered questions, last days',
      memory: 512,
      timeout: Duration.seconds(60),
      // A sweep that takes its minute may overlap with the next one, harmlessly.
      reserved: 2,
    });
    tables.allow(this.sweeper, 'state', TASK_WRITE, { indexes: ['due'] });
    tables.allow(this.sweeper, 'view', PROJECT);
    tables.allow(this.sweeper, 'outbox', [...GET, 'PutItem', 'UpdateItem'], { indexes: ['due'] });
    tables.allow(this.sweeper, 'delegation', ['Query'], { indexes: ['due'] });
    allowEnding(tables, this.sweeper);
    allowPurging(tables, this.sweeper);
    runQueue.sentBy(this.sweeper, 'SEALPOST_RUN_QUEUE');
    outboxQueue?.sentBy(this.sweeper, 'SEALPOST_OUTBOX_QUEUE');
    inboxQueue?.sentBy(this.sweeper, 'SEALPOST_INBOX_QUEUE');
    new EveryMinute(this, 'EveryMinute', alarms, this.sweeper, {
      silence: 'the sweeper is not woken: deadlines do not pass',
      minutes: 5,
    });

    alarms.watch(this, 'Failed', ownMetric(metricsNamespace, 'SweepFailed', 'sweeper', 'Sum'), {
      description: 'the sweeper cannot move on what is due, again and again: deadlines and purges wait',
      threshold: 1,
      periods: 3,
    });
    const expired = { state: 'TASK_STATE_FAILED', reason: 'APPROVAL_EXPIRED' };
    alarms.watch(this, 'Expired', ownMetric(metricsNamespace, 'TaskEnded', 'sweeper', 'Sum', expired), {
      description: 'a result waited for its approval until it expired; see `admin approval list`',
      threshold: 1,
    });
  }
}
