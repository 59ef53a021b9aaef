import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Construct } from 'constructs';
import { type Alarms, MINUTE } from './alarms.ts';
import type { GatewayFunction } from './gateway-function.ts';

/**
 * Wakes a function every minute, and rings when it is not: what it does is then done by nobody. A call that failed is
 * not repeated, the next one sees the same and more.
 */
export class EveryMinute extends Construct {
  constructor(
    scope: Construct,
    id: string,
    alarms: Alarms,
    woken: GatewayFunction,
    watch: {
      /** What is wrong when it is not woken. */
      readonly silence: string;
      /** Minutes without a call. */
      readonly minutes: number;
    },
  ) {
    super(scope, id);
    const once = { retryAttempts: 0, maxEventAge: MINUTE };
    new Rule(this, 'Rule', {
      description: `Wakes ${woken.name}`,
      schedule: Schedule.rate(MINUTE),
      targets: [new LambdaFunction(woken.function, once)],
    });
    woken.function.configureAsyncInvoke(once);
    alarms.watch(this, 'Silence', woken.function.metricInvocations({ period: MINUTE, statistic: 'Sum' }), {
      description: watch.silence,
      threshold: 1,
      periods: watch.minutes,
      rings: 'below',
    });
  }
}
