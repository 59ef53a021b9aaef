import { Duration, Stack } from 'aws-cdk-lib';
import {
  AlarmStatusWidget,
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
  Metric,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import type { Roles } from '../../shared/runtime/roles.ts';
import type { Alarms } from './alarms.ts';
import type { GatewayFunction } from './gateway-function.ts';
import type { HttpApi } from './http-api.ts';
import { type Tables, throttles } from './tables.ts';
import type { FailureQueue, WorkQueue } from './work-queue.ts';

export interface DashboardProps {
  readonly alarms: Alarms;
  readonly api: HttpApi;
  /** Of a role that is off nothing is shown. */
  readonly roles: Roles;
  readonly functions: readonly GatewayFunction[];
  readonly projector: GatewayFunction;
  readonly queues: readonly WorkQueue[];
  readonly lost: FailureQueue;
  readonly tables: Tables;
  readonly keys: readonly IKey[];
  readonly metricsNamespace: string;
}

const period = Duration.minutes(5);
const sum = { period, statistic: 'Sum' };
const most = { period, statistic: 'Maximum' };

/** One page for whoever is on duty, from the clients' side down to the tables. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, props: DashboardProps) {
    super(scope, id);
    const { api, roles, functions, queues, tables } = props;
    const names = tables.inUse;
    /** Our own metrics, whatever their dimensions. */
    const search = (what: string, statistic: string) =>
      new MathExpression({
        expression: `SEARCH('Namespace="${props.metricsNamespace}" ${what}', '${statistic}', 300)`,
        usingMetrics: {},
        label: '',
        period,
      });
    new CloudWatchDashboard(this, 'Dashboard', {
      dashboardName: Stack.of(this).stackName,
      defaultInterval: Duration.hours(6),
      widgets: [
        [new AlarmStatusWidget({ title: 'Alarms', alarms: [...props.alarms.all], width: 24, height: 4 })],
        [
          graph('Requests', [api.api.metricCount({ ...sum, label: 'requests' })]),
          graph('Refused and failed', [
            api.api.metricClientError({ ...sum, label: '4xx' }),
            api.api.metricServerError({ ...sum, label: '5xx' }),
          ]),
          graph('Latency, streams included', [
            api.api.metricLatency({ period, statistic: 'p50', label: 'median' }),
            api.api.metricLatency({ period, statistic: 'p99', label: 'p99' }),
          ]),
        ],
        [
          graph('Tasks and runs', [search('Unit=Count', 'Sum')], 12),
          graph('Durations', [search('Unit=Milliseconds', 'p90')], 12),
        ],
        [
          graph('Approvals: results that wait', [search('MetricName=ApprovalsWaiting', 'Maximum')], 6),
          graph('Purges', [search('MetricName=TaskPurged', 'Sum')], 6),
          graph('Tightening: tasks looked at', [search('MetricName=CeilingLooked', 'Sum')], 6),
          graph(
            'Faults: tightening, sweep, execution, projection',
            [
              search(
                'MetricName=(CeilingFailed OR SweepFailed OR ExecutionFault OR ProjectionFailed)',
                'Sum',
              ),
            ],
            6,
          ),
        ],
        ...(roles.server ? [push(search)] : []),
        ...(roles.client ? [remoteAgents(search)] : []),
        [
          graph(
            'Messages waiting',
            queues.map(({ queue, node }) =>
              queue.metricApproximateNumberOfMessagesVisible({ ...most, label: node.id }),
            ),
          ),
          graph(
            'Age of the oldest message',
            queues.map(({ queue, node }) =>
              queue.metricApproximateAgeOfOldestMessage({ ...most, label: node.id }),
            ),
          ),
          graph('Dead letters and lost records', [
            ...queues.map(({ deadLetters, node }) =>
              deadLetters.metricApproximateNumberOfMessagesVisible({ ...most, label: node.id }),
            ),
            props.lost.queue.metricApproximateNumberOfMessagesVisible({ ...most, label: 'stream' }),
          ]),
        ],
        [
          graph('Lag of the views', [
            props.projector.function.metric('IteratorAge', { ...most, label: 'iterator age' }),
          ]),
          graph(
            'Errors',
            functions.map((one) => one.function.metricErrors({ ...sum, label: one.name })),
          ),
          graph('Throttles', [
            ...functions.map((one) => one.function.metricThrottles({ ...sum, label: one.name })),
            ...names.flatMap((name) =>
              throttles(tables.of(name)).map((metric) =>
                metric.with({ label: `${name}: ${metric.metricName}` }),
              ),
            ),
          ]),
        ],
        [
          graph(
            'Concurrency',
            functions.map((one) => one.function.metric('ConcurrentExecutions', { ...most, label: one.name })),
          ),
          graph(
            'Duration',
            functions.map((one) =>
              one.function.metricDuration({ period, statistic: 'p90', label: one.name }),
            ),
          ),
          graph(
            'Calls of KMS',
            props.keys.map(
              (key) =>
                new Metric({
                  namespace: 'AWS/KMS',
                  metricName: 'SuccessfulRequest',
                  dimensionsMap: { KeyArn: key.keyArn },
                  ...sum,
                  label: key.node.id,
                }),
            ),
          ),
        ],
        [
          graph(
            'Read units',
            names.map((name) => tables.of(name).metricConsumedReadCapacityUnits({ ...sum, label: name })),
            12,
          ),
          graph(
            'Write units',
            names.map((name) => tables.of(name).metricConsumedWriteCapacityUnits({ ...sum, label: name })),
            12,
          ),
        ],
      ],
    });
  }
}

type Search = (what: string, statistic: string) => IMetric;

function push(search: Search): IWidget[] {
  return [
    graph('Push: attempts by class', [search('MetricName=PushAttempt', 'Sum')], 6),
    graph('Push: jobs ended', [search('MetricName=PushJobEnded', 'Sum')], 6),
    graph(
      'Push: paused, stopped, refused, dead letters',
      [search('MetricName=(PushHalted OR GuardRefused OR PushDeadLettered)', 'Sum')],
      6,
    ),
    graph('Push: due jobs, age of the oldest (ms, right)', [search('MetricName=PushJobsDue', 'Maximum')], 6, [
      search('MetricName=PushOldestDue', 'Maximum'),
    ]),
  ];
}

function remoteAgents(search: Search): IWidget[] {
  return [
    graph('Remote agents: dependencies ended', [search('MetricName=DependencyEnded', 'Sum')], 6),
    graph(
      'Remote agents: answers, failures by kind',
      [search('MetricName=(RemoteAnswered OR RemoteFailure OR ReconcileFailed)', 'Sum')],
      6,
    ),
    graph(
      'Remote agents: callbacks taken and refused, signals waiting (right)',
      [search('MetricName=(CallbackAccepted OR CallbackRefused)', 'Sum')],
      6,
      [search('MetricName=SignalsWaiting', 'Maximum')],
    ),
    graph('Remote agents: lag of reconciliation, ms', [search('MetricName=ReconcileLag', 'Maximum')], 6),
  ];
}

function graph(title: string, left: IMetric[], width = 8, right: IMetric[] = []): IWidget {
  return new GraphWidget({ title, left, right, width, height: 6, leftYAxis: { min: 0 } });
}
