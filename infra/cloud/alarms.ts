import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IAlarm,
  type IMetric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { Parameters } from './parameters.ts';

export interface Watch {
  /** What is wrong when it rings, in words for whoever is woken. */
  readonly description: string;
  readonly threshold: number;
  /** Periods in a row, default 1. */
  readonly periods?: number;
  /** Default: at or above the threshold. */
  readonly rings?: 'at-or-above' | 'below';
}

/** All alarms of the stack, and who is told of them. Without a topic they stand on the dashboard only. */
export class Alarms extends Construct {
  readonly #all: Alarm[] = [];
  readonly #topics: ITopic[] = [];

  constructor(scope: Construct, id: string, parameters: Pick<Parameters, 'alarmTopicArn' | 'alarmEmail'>) {
    super(scope, id);
    if (parameters.alarmTopicArn !== undefined) {
      this.#topics.push(Topic.fromTopicArn(this, 'GivenTopic', parameters.alarmTopicArn));
    }
    if (parameters.alarmEmail !== undefined) this.#topics.push(this.#topicFor(parameters.alarmEmail));
  }

  get all(): readonly IAlarm[] {
    return this.#all;
  }

  watch(scope: Construct, id: string, metric: IMetric, watch: Watch): void {
    const below = watch.rings === 'below';
    const alarm = new Alarm(scope, `${id}Alarm`, {
      metric,
      alarmDescription: watch.description,
      threshold: watch.threshold,
      evaluationPeriods: watch.periods ?? 1,
      comparisonOperator: below
        ? ComparisonOperator.LESS_THAN_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      // What must happen and leaves no trace has not happened; of what must not happen, silence is good.
      treatMissingData: below ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
    for (const topic of this.#topics) alarm.addAlarmAction(new SnsAction(topic));
    this.#all.push(alarm);
  }

  #topicFor(email: string): Topic {
    const topic = new Topic(this, 'Topic', { enforceSSL: true });
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    topic.addSubscription(new EmailSubscription(email));
    return topic;
  }
}

export const MINUTE = Duration.minutes(1);
