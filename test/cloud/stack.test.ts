import { Match, Template } from 'aws-cdk-lib/assertions';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { describe, expect, it } from 'vitest';
import { functionNames } from '../../infra/bundle.ts';
import { GatewayFunction } from '../../infra/cloud/gateway-function.ts';
import { readParameters } from '../../infra/cloud/parameters.ts';
import type { CallFailure } from '../../shared/client/index.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { METRICS_NAMESPACE } from '../../shared/telemetry/metrics-powertools.ts';
import { type Properties, readable, synthesise } from './synthesise.ts';

const stack = synthesise();
const template = Template.fromStack(stack.stack);

describe('a function', () => {
  it('runs on Node 24 and arm64, is traced, and logs to a group of its own', () => {
    const groups = functionNames.map((name) => {
      const { properties } = stack.function(name);
      expect(properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
        TracingConfig: { Mode: 'Active' },
      });
      return readable(properties['LoggingConfig'].LogGroup);
    });
    expect(new Set(groups).size).toBe(functionNames.length);
  });

  it('is told an environment that it accepts', () => {
    for (const name of functionNames) {
      const { Variables } = stack.function(name).properties['Environment'];
      const deployed = Object.fromEntries(
        Object.entries(Variables).map(([variable, value]) => [
          variable,
          typeof value === 'string'
            ? value
            : /_(QUEUE|URL)$/.test(variable)
              ? 'https://resolved.example/q'
              : 'resolved',
        ]),
      );
      expect(() => readEnvironment(deployed)).not.toThrow();
    }
  });

  it('knows the queues and keys it works with', () => {
    const told = (name: (typeof functionNames)[number]) =>
      Object.keys(stack.function(name).properties['Environment'].Variables)
        .filter((variable) => /_(QUEUE|KEY)$/.test(variable))
        .sort()
        .join(' ');
    expect(Object.fromEntries(functionNames.map((name) => [name, told(name)]))).toEqual({
      rpc: 'SEALPOST_CARD_KEY SEALPOST_DATA_KEY SEALPOST_RUN_QUEUE',
      card: 'SEALPOST_CARD_KEY',
      executor: 'SEALPOST_DATA_KEY SEALPOST_INBOX_QUEUE SEALPOST_RUN_QUEUE',
      projector: 'SEALPOST_INBOX_QUEUE SEALPOST_OUTBOX_QUEUE SEALPOST_PROJECTION_QUEUE SEALPOST_RUN_QUEUE',
      'projection-retry': 'SEALPOST_INBOX_QUEUE SEALPOST_OUTBOX_QUEUE SEALPOST_RUN_QUEUE',
      sweeper: 'SEALPOST_INBOX_QUEUE SEALPOST_OUTBOX_QUEUE SEALPOST_RUN_QUEUE',
      ceiling: 'SEALPOST_DATA_KEY',
      'dead-letter': 'SEALPOST_RUN_QUEUE',
      delivery: 'SEALPOST_DATA_KEY SEALPOST_OUTBOX_QUEUE',
      'outbox-dead-letter': '',
      callback: 'SEALPOST_INBOX_QUEUE',
      reconciler: 'SEALPOST_DATA_KEY SEALPOST_INBOX_QUEUE SEALPOST_RUN_QUEUE',
      admin: 'SEALPOST_DATA_KEY SEALPOST_INBOX_QUEUE SEALPOST_OUTBOX_QUEUE SEALPOST_RUN_QUEUE',
    });
  });

  it('that works keeps concurrency that waiting calls cannot take, unless the account has none to spare', () => {
    const reserved = (from: typeof stack) =>
      functionNames.filter(
        (name) => from.function(name).properties['ReservedConcurrentExecutions'] !== undefined,
      );
    expect(reserved(stack)).toEqual([
      'executor',
      'projector',
      'projection-retry',
      'sweeper',
      'ceiling',
      'dead-letter',
      'delivery',
      'outbox-dead-letter',
      'callback',
      'reconciler',
    ]);
    expect(reserved(synthesise({ reserveConcurrency: 'false' }))).toEqual([]);
  });

  it('has an alarm on its errors', () => {
    for (const name of functionNames) {
      template.hasResourceProperties('AWS::CloudWatch::Alarm', {
        MetricName: 'Errors',
        Dimensions: [{ Name: 'FunctionName', Value: { Ref: stack.function(name).id } }],
      });
    }
  });
});

describe.each(['sweeper', 'ceiling'] as const)('the %s', (name) => {
  it('is woken every minute, and its silence is an alarm', () => {
    template.hasResourceProperties('AWS::Events::Rule', {
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: [Match.objectLike({ Arn: { 'Fn::GetAtt': [stack.function(name).id, 'Arn'] } })],
    });
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'Invocations',
      Dimensions: [{ Name: 'FunctionName', Value: { Ref: stack.function(name).id } }],
      ComparisonOperator: 'LessThanThreshold',
      TreatMissingData: 'breaching',
    });
  });
});

describe('who calls out, delivery and reconciler among them,', () => {
  it('stands in no VPC, so that nothing private is within its reach', () => {
    for (const name of functionNames) {
      expect(stack.function(name).properties['VpcConfig']).toBeUndefined();
    }
    expect(stack.ofType('AWS::EC2::SecurityGroup')).toEqual([]);
  });

  it.each(['delivery', 'reconciler', 'admin'] as const)(
    '%s knows the address of the gateway itself, with a domain and without, so that nothing loops',
    (name) => {
      const told = (from: typeof stack) =>
        readable(from.function(name).properties['Environment'].Variables['SEALPOST_PUBLIC_URL']);
      expect(told(stack)).toBe(readable(stack.outputs['Url']!.Value));
      const named = synthesise({
        domainName: 'agents.example.com',
        certificateArn: 'arn:aws:acm:eu-central-1:111111111111:certificate/1',
      });
      expect(told(named)).toBe('https://agents.example.com');
    },
  );

  it('calls, and takes callbacks, as many at once as the deployment says', () => {
    const few = synthesise({
      deliveryConcurrency: '2',
      reconcilerConcurrency: '3',
      callbackConcurrency: '4',
    });
    const reserved = (name: (typeof functionNames)[number]) =>
      few.function(name).properties['ReservedConcurrentExecutions'];
    expect(['delivery', 'reconciler', 'callback'].map((name) => reserved(name as 'delivery'))).toEqual([
      2, 3, 4,
    ]);
  });
});

describe('operators', () => {
  it('see what becomes of webhooks, remote agents and levels as alarms, on metrics under the dimensions that the code gives them', () => {
    const watched = stack.ofType('AWS::CloudWatch::Alarm').flatMap(({ properties }) => {
      const single = properties['MetricName'] ? [properties] : [];
      const parts = (properties['Metrics'] ?? []) as Properties[];
      const metrics = parts.flatMap((part) => (part['MetricStat'] ? [part['MetricStat'].Metric] : []));
      const queries = parts.flatMap((part) => (part['MetricStat'] ? [] : [String(part['Expression'])]));
      const named = [...single, ...metrics].filter((metric) => metric['Namespace'] === METRICS_NAMESPACE);
      return [
        ...named.map((metric) => {
          const dimensions = (metric['Dimensions'] as { Name: string; Value: string }[])
            .filter(({ Name }) => Name !== 'service')
            .map(({ Name, Value }) => `${Name}=${Value}`)
            .sort();
          return `${metric['MetricName']} ${dimensions.join(' ')}`;
        }),
        ...queries,
      ];
    });
    const failureKinds: CallFailure['kind'][] = [
      'remote-error',
      'unsupported',
      'protocol-error',
      'transport-error',
      'outcome-unknown',
    ];
    const expected = [
      'PushJobsDue function=sweeper',
      'PushOldestDue function=sweeper',
      'PushDuration function=delivery',
      'PushAttempt class=2xx function=delivery',
      'IF(attempts >= 20, 100 * (attempts - FILL(delivered, 0)) / attempts, 0)',
      'PushJobEnded function=delivery state=exhausted',
      'PushHalted function=delivery reason=authentication_failed state=paused',
      'PushHalted function=delivery reason=gone state=stopped',
      'PushHalted function=delivery reason=address_refused state=stopped',
      'PushDeadLettered function=outbox-dead-letter',
      'SELECT SUM(GuardRefused) FROM "Sealpost"',
      'SweepFailed function=sweeper',
      'TaskEnded function=sweeper reason=APPROVAL_EXPIRED state=TASK_STATE_FAILED',
      'CeilingFailed function=ceiling',
      'ExecutionFault function=executor',
      'CallbackRefused function=callback',
      'SignalsWaiting function=callback',
      'ReconcileLag function=reconciler',
      'ReconcileFailed function=reconciler',
      'DependencyEnded function=reconciler outcome=failed',
      'RemoteAnswered function=reconciler',
      ...failureKinds.map((kind) => `RemoteFailure function=reconciler kind=${kind}`),
      expect.stringMatching(/^IF\(FILL\(answered, 0\) \+ .* >= 20, 100 \* /),
    ];
    expect(watched).toHaveLength(expected.length);
    expect(watched).toEqual(expect.arrayContaining(expected));
  });

  it('see lag of the views, server errors and throttled tables as alarms', () => {
    const metrics = new Set(
      stack.ofType('AWS::CloudWatch::Alarm').map(({ properties }) => properties['MetricName']),
    );
    for (const metric of [
      'IteratorAge',
      '5XXError',
      'Throttles',
      'ReadThrottleEvents',
      'WriteThrottleEvents',
    ]) {
      expect(metrics).toContain(metric);
    }
  });

  it('are told of every alarm where they named a topic or an address', () => {
    for (const named of [
      { alarmTopicArn: 'arn:aws:sns:eu-central-1:111111111111:on-duty' },
      { alarmEmail: 'on-duty@example.com' },
    ]) {
      const told = synthesise(named);
      for (const { properties } of told.ofType('AWS::CloudWatch::Alarm')) {
        expect(properties['AlarmActions']).toHaveLength(1);
      }
      expect(told.findings).toEqual([]);
    }
  });

  it('have a dashboard with all of it', () => {
    const [dashboard] = stack.ofType('AWS::CloudWatch::Dashboard');
    const body = readable(dashboard!.properties['DashboardBody']);
    for (const shown of [
      '5XXError',
      'Latency',
      'IteratorAge',
      'ApproximateAgeOfOldestMessage',
      'ConsumedWriteCapacityUnits',
      'WriteThrottleEvents',
      'SuccessfulRequest',
      'Namespace=\\"Sealpost\\"',
      'PushAttempt',
      'PushJobEnded',
      'PushHalted OR GuardRefused OR PushDeadLettered',
      'PushJobsDue',
      'PushOldestDue',
      'ApprovalsWaiting',
      'TaskPurged',
      'CeilingFailed OR SweepFailed OR ExecutionFault',
      'DependencyEnded',
      'RemoteAnswered OR RemoteFailure OR ReconcileFailed',
      'CallbackAccepted OR CallbackRefused',
      'SignalsWaiting',
      'ReconcileLag',
    ]) {
      expect(body).toContain(shown);
    }
  });

  it('find addresses, tables and queues among the outputs', () => {
    expect(Object.keys(stack.outputs).sort()).toEqual(
      [
        'AdminUrl',
        'CardUrl',
        'DashboardName',
        'DelegationTable',
        'InboxDeadLettersUrl',
        'OutboxDeadLettersUrl',
        'OutboxTable',
        'ProjectionDeadLettersUrl',
        'RegionOutput',
        'RegistryTable',
        'RunDeadLettersUrl',
        'RunQueueUrl',
        'StateTable',
        'Url',
        'ViewTable',
      ].sort(),
    );
    const host = /^https:\/\/<HttpApi[^>]*>\.execute-api\.<AWS::Region>\.<AWS::URLSuffix>\/a2a/;
    const url = readable(stack.outputs['Url']!.Value);
    expect(url).toMatch(host);
    expect(readable(stack.outputs['CardUrl']!.Value)).toBe(`${url}/.well-known/agent-card.json`);
    expect(readable(stack.outputs['AdminUrl']!.Value)).toBe(`${url}/admin`);
  });
});

describe('parameters', () => {
  const read = (given: Record<string, unknown>) => () => readParameters(given);

  it('that cannot be used are refused by name', () => {
    expect(read({ domainName: 'a.example.com' })).toThrow(/domainName and certificateArn go together/);
    expect(read({ hostedZoneId: 'Z1' })).toThrow(/hostedZoneId/);
    expect(read({ executorConcurrency: '1' })).toThrow(/executorConcurrency/);
    expect(read({ deliveryConcurrency: '1001' })).toThrow(/deliveryConcurrency/);
    expect(read({ callbackConcurrency: '1' })).toThrow(/callbackConcurrency/);
    expect(read({ roles: 'none' })).toThrow(/roles: must be server, client or both/);
    expect(read({ retain: 'perhaps' })).toThrow(/retain/);
    expect(read({ logDays: '31' })).toThrow(/logDays: must be one of 1, 3, 5/);
    // A slip of the pen would deploy the default.
    expect(read({ role: 'client' })).toThrow(/role: there is no such parameter/);
    expect(read({ '@aws-cdk/core:x': true, 'aws:cdk:y': 1, 'cli-telemetry': false })).not.toThrow();
    expect(read({ alarmEmail: 'nobody' })).toThrow(/alarmEmail/);
    expect(read({ stackName: '1st' })).toThrow(/stackName/);
  });

  it('have defaults, so that a deployment needs none', () => {
    expect(read({})()).toMatchObject({
      stackName: 'Sealpost',
      functionProviders: [],
      roles: { server: true, client: true },
      retain: true,
      logDays: 30,
    });
  });

  it('put a web ACL before the API', () => {
    const guarded = synthesise({ webAclArn: 'arn:aws:wafv2:eu-central-1:111111111111:regional/webacl/a/1' });
    expect(guarded.ofType('AWS::WAFv2::WebACLAssociation')).toHaveLength(1);
  });
});

describe('cdk-nag', () => {
  it('finds nothing that is not acknowledged with a reason', () => {
    expect(stack.findings).toEqual([]);
  });

  it('would find what somebody adds', () => {
    const widened = synthesise({}, (own) => {
      const rpc = own.node.findAll().find((one) => one instanceof GatewayFunction && one.name === 'rpc');
      (rpc as GatewayFunction).allow(new PolicyStatement({ actions: ['dynamodb:*'], resources: ['*'] }));
    });
    expect(widened.findings).toEqual([
      expect.stringMatching(/^AwsSolutions-IAM5\[Action::dynamodb:\*\]: .*Rpc/),
    ]);
  });
});
