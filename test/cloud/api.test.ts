import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { type Route, routes } from '../../shared/runtime/routes.ts';
import { type Properties, readable, synthesise } from './synthesise.ts';

const stack = synthesise();
const template = Template.fromStack(stack.stack);
const methods = stack.ofType('AWS::ApiGateway::Method').map(({ properties }) => properties);
const isCallback = (method: Properties) => readable(method['Integration'].Uri).includes('Callback');
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
    const streamed = methods.filter((method) => !isAdmin(method) && !isCallback(method));
    expect(streamed).toHaveLength(
      (routes as readonly Route[]).filter((route) => route.function === 'rpc' || route.function === 'card')
        .length,
    );
    for (const { Integration, AuthorizationType } of streamed) {
      expect(AuthorizationType).toBe('NONE');
      expect(Integration).toMatchObject({ Type: 'AWS_PROXY', ResponseTransferMode: 'STREAM' });
      const uri = readable(Integration.Uri);
      expect(uri).toMatch(/2021-11-15\/functions\/<.*>\/response-streaming-invocations$/);
      expect(Integration.TimeoutInMillis).toBe(uri.includes('Rpc') ? 900_000 : 15_000);
    }
  });

  it('takes callbacks from anybody, and answers them whole', () => {
    const [callback, ...others] = methods.filter(isCallback);
    expect(others).toEqual([]);
    expect(callback!['AuthorizationType']).toBe('NONE');
    const { Integration } = callback!;
    expect(Integration.ResponseTransferMode ?? 'BUFFERED').toBe('BUFFERED');
    expect(readable(Integration.Uri)).toMatch(/2015-03-31\/functions\/<.*Callback.*>\/invocations$/);
    expect(Integration.TimeoutInMillis).toBe(15_000);
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

  it('is the only one: no webhook of ours can lead back to us by the other', () => {
    const disabled = ({ properties }: { readonly properties: Record<string, unknown> }) =>
      properties['DisableExecuteApiEndpoint'];
    expect(synthesise(domain).ofType('AWS::ApiGateway::RestApi').map(disabled)).toEqual([true]);
    expect(stack.ofType('AWS::ApiGateway::RestApi').map(disabled)).toEqual([false]);
  });

  it('gets its record where the zone is named', () => {
    const own = synthesise({ ...domain, hostedZoneId: 'Z1', hostedZoneName: 'example.com' });
    expect(own.ofType('AWS::Route53::RecordSet')[0]!.properties).toMatchObject({
      Name: 'agents.example.com.',
    });
    expect(own.outputs).not.toHaveProperty('DomainTarget');
  });
});
