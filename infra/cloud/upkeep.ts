import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Construct } from 'constructs';
import { GET, PROJECT, TASK_WRITE } from './access.ts';
import { MINUTE } from './alarms.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import type { Tables } from './tables.ts';
import type { WorkQueue } from './work-queue.ts';

/** The sweeper, every minute over the due index: no accepted task stays unfinished for ever (P6). */
export class Upkeep extends Construct {
  readonly sweeper: GatewayFunction;

  constructor(
    scope: Construct,
    id: string,
    foundation: Foundation,
    parts: { readonly tables: Tables; readonly runQueue: WorkQueue; readonly outboxQueue: WorkQueue },
  ) {
    super(scope, id);
    this.sweeper = new GatewayFunction(this, 'Sweeper', foundation, {
      name: 'sweeper',
      description: 'Finds what is due: lost queue messages, passed deadlines, unanswered questions',
      memory: 512,
      timeout: Duration.seconds(60),
      // A sweep that takes its minute may overlap with the next one, harmlessly.
      reserved: 2,
    });
    parts.tables.allow(this.sweeper, 'state', TASK_WRITE, { indexes: ['due'] });
    parts.tables.allow(this.sweeper, 'view', PROJECT);
    parts.tables.allow(this.sweeper, 'outbox', [...GET, 'PutItem', 'UpdateItem'], { indexes: ['due'] });
    parts.runQueue.sentBy(this.sweeper, 'SEALPOST_RUN_QUEUE');
    parts.outboxQueue.sentBy(this.sweeper, 'SEALPOST_OUTBOX_QUEUE');

    new Rule(this, 'EveryMinute', {
      description: 'Wakes the sweeper',
      schedule: Schedule.rate(MINUTE),
      // A sweep that failed is not repeated: the next one sees the same and more.
      targets: [new LambdaFunction(this.sweeper.function, { retryAttempts: 0, maxEventAge: MINUTE })],
    });
    this.sweeper.function.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: MINUTE });
    foundation.alarms.watch(
      this,
      'Silence',
      this.sweeper.function.metricInvocations({ period: MINUTE, statistic: 'Sum' }),
      {
        description: 'the sweeper is not woken: deadlines do not pass',
        threshold: 1,
        periods: 5,
        rings: 'below',
      },
    );
  }
}
