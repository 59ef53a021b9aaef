import { Match, Template } from 'aws-cdk-lib/assertions';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { describe, expect, it } from 'vitest';
import { functionNames } from '../../infra/bundle.ts';
import { GatewayFunction } from '../../infra/cloud/gateway-function.ts';
import { readParameters } from '../../infra/cloud/parameters.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { type Route, routes } from '../../shared/runtime/routes.ts';
import { type TableName, tables } from '../../shared/storage/tables.ts';
import { type Properties, readable, synthesise } from './synthesise.ts';

const stack = synthesise();
const template = Template.fromStack(stack.stack);
const methods = stack.ofType('AWS::ApiGateway::Method').map(({ properties }) => properties);
const isAdmin = (method: Properties) => method['AuthorizationType'] === 'AWS_IAM';

describe('the API', () => {
  it('is Regional, the only kind that keeps an idle stream for minutes', () => {
    template.hasResourceProperties('AWS::ApiGateway::RestApi', {
      EndpointConfiguration: { Types: ['REGIONAL'] },
    });
  });

  it('has a method for each route, and no other', () => {
    const parts = new Map(
      stack.ofType('AWS::ApiGateway::Resource').map(({ id, properties }) => [id, properties] as const),
    );
    const pathOf = (resource: Properties): string => {
      const part = parts.get(resource['Ref']);
      return part === undefined ? '' : `${pathOf(part['ParentId'])}/${part['PathPart']}`;
    };
    const built = methods.map((method) => `${method['HttpMethod']} ${pathOf(method['ResourceId']) || '/'}`);
    expect(built.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
  });

  it('streams every answer to clients, for as long as the platform lets it', () => {
    const streamed = methods.filter((method) => !isAdmin(method));
    expect(streamed).toHaveLength(
      (routes as readonly Route[]).filter(({ access }) => access === undefined).length,
    );
    for (const { Integration, AuthorizationType } of streamed) {
      expect(AuthorizationType).toBe('NONE');
      expect(Integration).toMatchObject({ Type: 'AWS_PROXY', ResponseTransferMode: 'STREAM' });
      const uri = readable(Integration.Uri);
      expect(uri).toMatch(/2021-11-15\/functions\/<.*>\/response-streaming-invocations$/);
      expect(Integration.TimeoutInMillis).toBe(uri.includes('Rpc') ? 900_000 : 15_000);
    }
  });

  it('asks administrators for an IAM signature and buffers the answer', () => {
    const admin = methods.filter(isAdmin);
    expect(admin).toHaveLength(1);
    const { Integration } = admin[0]!;
    expect(Integration.ResponseTransferMode ?? 'BUFFERED').toBe('BUFFERED');
    expect(readable(Integration.Uri)).toMatch(/2015-03-31\/functions\/<.*Admin.*>\/invocations$/);
    expect(Integration.TimeoutInMillis).toBeLessThanOrEqual(29_000);
  });

  it('throttles, traces, and logs neither header nor query nor body', () => {
    const [stage] = stack.ofType('AWS::ApiGateway::Stage').map(({ properties }) => properties);
    expect(stage).toMatchObject({
      TracingEnabled: true,
      MethodSettings: [
        {
          DataTraceEnabled: false,
          LoggingLevel: 'ERROR',
          ThrottlingRateLimit: 100,
          ThrottlingBurstLimit: 200,
        },
      ],
    });
    const format = String(stage!['AccessLogSetting'].Format);
    const variables = format.match(/\$context\.[A-Za-z.]+/g)!;
    expect(variables.length).toBeGreaterThan(10);
    expect(format).not.toMatch(
      /\$input|authoriz|override|requestOverride|\$context\.path\b|querystring|header|body/i,
    );
  });

  it('answers in JSON-RPC where no function is asked', () => {
    const answers = stack.ofType('AWS::ApiGateway::GatewayResponse').map(({ properties }) => properties);
    const byType = new Map(answers.map((answer) => [answer['ResponseType'], answer]));
    expect([...byType.keys()].sort()).toEqual([
      'DEFAULT_5XX',
      'INTEGRATION_FAILURE',
      'INTEGRATION_TIMEOUT',
      'REQUEST_TOO_LARGE',
      'THROTTLED',
    ]);
    for (const answer of answers) {
      const body = JSON.parse(answer['ResponseTemplates']['application/json']);
      expect(body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: expect.any(Number) } });
    }
    expect(byType.get('THROTTLED')).toMatchObject({
      StatusCode: '429',
      ResponseParameters: { 'gatewayresponse.header.Retry-After': "'1'" },
    });
    expect(byType.get('REQUEST_TOO_LARGE')!['StatusCode']).toBe('413');
  });

  it('has logs that forget, its own and those that API Gateway would make by itself', () => {
    template.hasResourceProperties('AWS::Logs::LogGroup', {
      LogGroupName: { 'Fn::Join': ['', ['API-Gateway-Execution-Logs_', Match.anyValue(), '/a2a']] },
      RetentionInDays: 30,
    });
    for (const { properties } of stack.ofType('AWS::Logs::LogGroup'))
      expect(properties['RetentionInDays']).toBe(30);
  });

  it('leaves the logging role of an account alone that has one', () => {
    expect(synthesise({ apiLogRole: 'false' }).ofType('AWS::ApiGateway::Account')).toEqual([]);
    const [account] = stack.ofType('AWS::ApiGateway::Account');
    expect(account!.deletionPolicy).toBe('Retain');
  });
});

describe('a table', () => {
  const tableOf = (name: TableName) => {
    const start = `Tables${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    return stack.ofType('AWS::DynamoDB::Table').find(({ id }) => id.startsWith(start))!;
  };
  const names = Object.keys(tables) as TableName[];

  it('is built from its definition: keys, indexes, stream, recovery, time to live', () => {
    for (const name of names) {
      const { properties } = tableOf(name);
      const definition = tables[name];
      const key = (HASH: string, RANGE: string) => [
        { AttributeName: HASH, KeyType: 'HASH' },
        { AttributeName: RANGE, KeyType: 'RANGE' },
      ];
      expect(properties['KeySchema']).toEqual(key('pk', 'sk'));
      expect(properties['GlobalSecondaryIndexes'] ?? []).toEqual(
        definition.indexes.map((index) => ({
          IndexName: index.name,
          KeySchema: key(index.partitionKey, index.sortKey),
          Projection: { ProjectionType: index.projection },
        })),
      );
      expect(properties['StreamSpecification']?.StreamViewType).toBe(definition.stream);
      expect(properties['PointInTimeRecoverySpecification'].PointInTimeRecoveryEnabled).toBe(
        definition.pointInTimeRecovery,
      );
      expect(properties['TimeToLiveSpecification']).toEqual({ AttributeName: 'ttl', Enabled: true });
    }
  });

  it('is on demand, encrypted with the customer key, and outlives the stack', () => {
    for (const name of names) {
      const { properties, deletionPolicy } = tableOf(name);
      expect(properties).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        DeletionProtectionEnabled: true,
        SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
      });
      expect(readable(properties['SSESpecification'].KMSMasterKeyId)).toMatch(/^<TablesKey/);
      expect(deletionPolicy).toBe('Retain');
    }
  });

  it('goes with the stack in a trial', () => {
    const trial = synthesise({ retain: 'false' });
    for (const { properties, deletionPolicy } of trial.ofType('AWS::DynamoDB::Table')) {
      expect(deletionPolicy).toBe('Delete');
      expect(properties['DeletionProtectionEnabled']).toBe(false);
    }
  });
});

describe('the stream of state', () => {
  const [mapping] = stack
    .ofType('AWS::Lambda::EventSourceMapping')
    .map(({ properties }) => properties)
    .filter((properties) => readable(properties['EventSourceArn']).includes('StreamArn'));

  it('wakes the projector for new revisions only, from the oldest record on', () => {
    expect(mapping).toMatchObject({
      StartingPosition: 'TRIM_HORIZON',
      FunctionName: { Ref: expect.any(String) },
    });
    expect(mapping!['FunctionName'].Ref).toMatch(/^ProjectionProjectorFunction/);
    const [filter, ...others] = mapping!['FilterCriteria'].Filters;
    expect(others).toEqual([]);
    expect(JSON.parse(filter.Pattern)).toEqual({
      eventName: ['INSERT'],
      dynamodb: { Keys: { sk: { S: [{ prefix: 'R#' }] } } },
    });
  });

  it('is never blocked by a record: bounded retries and age, bisection, single failures, and word of what is lost', () => {
    expect(mapping).toMatchObject({
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      MaximumRetryAttempts: 10,
    });
    // Records live 24 hours.
    expect(mapping!['MaximumRecordAgeInSeconds']).toBeLessThan(24 * 3600);
    expect(readable(mapping!['DestinationConfig'].OnFailure.Destination)).toMatch(
      /^<ProjectionLostQueue.*\.Arn>$/,
    );
  });
});

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

  it.each(['runs', 'projections'])(
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

  it.each(['runs', 'projections', 'runs-dead'])(
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
    for (const name of ['runs', 'projections']) {
      expect(watches('ApproximateAgeOfOldestMessage', named(name)[0])).toBe(true);
      expect(watches('ApproximateNumberOfMessagesVisible', named(`${name}-dead`)[0])).toBe(true);
    }
    expect(watches('ApproximateNumberOfMessagesVisible', named('projections-lost')[0])).toBe(true);
  });
});

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
            : variable.endsWith('QUEUE')
              ? 'https://sqs.example/q'
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
      executor: 'SEALPOST_DATA_KEY SEALPOST_RUN_QUEUE',
      projector: 'SEALPOST_PROJECTION_QUEUE SEALPOST_RUN_QUEUE',
      'projection-retry': 'SEALPOST_RUN_QUEUE',
      sweeper: 'SEALPOST_RUN_QUEUE',
      'dead-letter': 'SEALPOST_RUN_QUEUE',
      admin: 'SEALPOST_DATA_KEY SEALPOST_RUN_QUEUE',
    });
  });

  it('that works keeps concurrency that waiting calls cannot take, unless the account has none to spare', () => {
    const reserved = (from: typeof stack) =>
      functionNames.filter(
        (name) => from.function(name).properties['ReservedConcurrentExecutions'] !== undefined,
      );
    expect(reserved(stack)).toEqual(['executor', 'projector', 'projection-retry', 'sweeper', 'dead-letter']);
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

describe('the sweeper', () => {
  it('is woken every minute, and its silence is an alarm', () => {
    template.hasResourceProperties('AWS::Events::Rule', {
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: [Match.objectLike({ Arn: { 'Fn::GetAtt': [stack.function('sweeper').id, 'Arn'] } })],
    });
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'Invocations',
      Dimensions: [{ Name: 'FunctionName', Value: { Ref: stack.function('sweeper').id } }],
      ComparisonOperator: 'LessThanThreshold',
      TreatMissingData: 'breaching',
    });
  });
});

describe('operators', () => {
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

describe('a custom domain', () => {
  const domain = {
    domainName: 'agents.example.com',
    certificateArn: 'arn:aws:acm:eu-central-1:111111111111:certificate/1',
  };

  it('is the address of everything, in the cards too', () => {
    const own = synthesise(domain);
    expect(own.outputs['Url']!.Value).toBe('https://agents.example.com');
    expect(own.outputs['AdminUrl']!.Value).toBe('https://agents.example.com/admin');
    expect(own.outputs).toHaveProperty('DomainTarget');
    expect(own.ofType('AWS::Route53::RecordSet')).toEqual([]);
    expect(own.function('card').properties['Environment'].Variables['SEALPOST_PUBLIC_URL']).toBe(
      'https://agents.example.com',
    );
    expect(own.ofType('AWS::ApiGateway::DomainName')[0]!.properties).toMatchObject({
      SecurityPolicy: 'TLS_1_2',
      EndpointConfiguration: { Types: ['REGIONAL'] },
    });
    expect(own.findings).toEqual([]);
  });

  it('gets its record where the zone is named', () => {
    const own = synthesise({ ...domain, hostedZoneId: 'Z1', hostedZoneName: 'example.com' });
    expect(own.ofType('AWS::Route53::RecordSet')[0]!.properties).toMatchObject({
      Name: 'agents.example.com.',
    });
    expect(own.outputs).not.toHaveProperty('DomainTarget');
  });
});

describe('parameters', () => {
  const read = (given: Record<string, unknown>) => () => readParameters((name) => given[name]);

  it('that cannot be used are refused by name', () => {
    expect(read({ domainName: 'a.example.com' })).toThrow(/domainName and certificateArn go together/);
    expect(read({ hostedZoneId: 'Z1' })).toThrow(/hostedZoneId/);
    expect(read({ executorConcurrency: '1' })).toThrow(/executorConcurrency/);
    expect(read({ retain: 'perhaps' })).toThrow(/retain/);
    expect(read({ logDays: '31' })).toThrow(/logDays/);
    expect(read({ alarmEmail: 'nobody' })).toThrow(/alarmEmail/);
    expect(read({ stackName: '1st' })).toThrow(/stackName/);
  });

  it('have defaults, so that a deployment needs none', () => {
    expect(read({})()).toMatchObject({
      stackName: 'Sealpost',
      functionProviders: [],
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
