import { Aws, CfnOutput, Duration, Fn, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import {
  AccessLogFormat,
  AuthorizationType,
  EndpointType,
  GatewayResponse,
  type IRestApi,
  LambdaIntegration,
  LogGroupLogDestination,
  type Method,
  MethodLoggingLevel,
  ResponseTransferMode,
  ResponseType,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import { type A2AFailure, toRpcError, toWireError } from '../../shared/protocol/errors.ts';
import type { Roles } from '../../shared/runtime/roles.ts';
import { type Route, routes } from '../../shared/runtime/routes.ts';
import { apiLogRole } from './api-log-role.ts';
import { CustomDomain } from './custom-domain.ts';
import type { Foundation, GatewayFunction } from './gateway-function.ts';

const STAGE = 'a2a';

/** The most that API Gateway lets a streamed answer last, and a buffered one. */
const STREAMED = Duration.minutes(15);
const BUFFERED = Duration.seconds(29);

/**
 * The front door: a Regional REST API, because only those stream and only Regional ones keep an idle stream for
 * minutes. Its logs hold no content, and what it answers by itself looks like our own errors.
 */
export class HttpApi extends Construct {
  readonly api: RestApi;
  /** Without a trailing slash. */
  readonly url: string;
  readonly domain: CustomDomain | undefined;

  constructor(scope: Construct, id: string, foundation: Foundation) {
    super(scope, id);
    const { parameters, alarms } = foundation;
    const accessLogs = new LogGroup(this, 'AccessLogs', { retention: parameters.logDays });
    this.api = new RestApi(this, 'Api', {
      restApiName: Stack.of(this).stackName,
      description: 'Sealpost, an Agent2Agent gateway',
      endpointConfiguration: { types: [EndpointType.REGIONAL] },
      cloudWatchRole: false,
      // The gateway has one name: else its own webhooks could lead to it by the other (design §6, guard).
      disableExecuteApiEndpoint: parameters.domainName !== undefined,
      deployOptions: {
        stageName: STAGE,
        tracingEnabled: true,
        metricsEnabled: true,
        throttlingRateLimit: parameters.requestsPerSecond,
        throttlingBurstLimit: parameters.requestBurst,
        loggingLevel: MethodLoggingLevel.ERROR,
        // Would log headers and bodies (P10).
        dataTraceEnabled: false,
        accessLogDestination: new LogGroupLogDestination(accessLogs),
        accessLogFormat: AccessLogFormat.custom(ACCESS_LOG),
      },
    });
    // Its own output of its address, beside ours.
    this.api.node.tryRemoveChild('Endpoint');
    this.domain =
      parameters.domainName === undefined
        ? undefined
        : new CustomDomain(this, 'Domain', this.api, parameters);
    this.url = this.domain?.url ?? Fn.join('', ['https://', this.#host(), `/${STAGE}`]);

    const executionLogs = new LogGroup(this, 'ExecutionLogs', {
      // The name that API Gateway writes to, made beforehand so that it forgets too.
      logGroupName: `API-Gateway-Execution-Logs_${this.api.restApiId}/${STAGE}`,
      retention: parameters.logDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.api.deploymentStage.node.addDependency(executionLogs);
    if (parameters.apiLogRole) this.api.deploymentStage.node.addDependency(apiLogRole(this));

    this.#ownAnswers();
    if (parameters.webAclArn !== undefined) {
      new CfnWebACLAssociation(this, 'WebAcl', {
        webAclArn: parameters.webAclArn,
        resourceArn: this.api.deploymentStage.stageArn,
      });
    }
    this.#acknowledge();
    alarms.watch(
      this,
      'ServerErrors',
      this.api.metricServerError({ period: Duration.minutes(5), statistic: 'Sum' }),
      {
        description: 'the API answers with 5xx',
        threshold: 5,
      },
    );
  }

  /** Puts the function behind each route that names it; it answers in streaming form, or with a whole proxy result. */
  serve(served: GatewayFunction, form: 'streamed' | 'whole'): void {
    const own = (routes as readonly Route[]).filter((route) => route.function === served.name);
    if (own.length === 0) throw new Error(`no route names ${served.name}`);
    for (const route of own) this.#route(route, served, form);
  }

  output(roles: Roles): void {
    const stack = Stack.of(this);
    if (roles.server) {
      new CfnOutput(stack, 'Url', { value: this.url, description: 'A2A JSON-RPC endpoint' });
      new CfnOutput(stack, 'CardUrl', {
        value: `${this.url}/.well-known/agent-card.json`,
        description: 'Public agent card',
      });
    }
    new CfnOutput(stack, 'AdminUrl', {
      value: `${this.url}/admin`,
      description: 'For npm run admin, signed with IAM',
    });
    if (this.domain !== undefined && this.domain.hostedZone === undefined) {
      new CfnOutput(stack, 'DomainTarget', {
        value: this.domain.target,
        description: 'What the CNAME of the custom domain must point to',
      });
    }
  }

  #route(route: Route, served: GatewayFunction, form: 'streamed' | 'whole'): void {
    const admin = route.access === 'administrator';
    const resource = this.api.root.resourceForPath(route.path);
    const method = resource.addMethod(
      route.method,
      new LambdaIntegration(served.function, {
        allowTestInvoke: false,
        ...(form === 'streamed' ? { responseTransferMode: ResponseTransferMode.STREAM } : {}),
        timeout: shorter(served.timeout, form === 'streamed' ? STREAMED : BUFFERED),
      }),
      { authorizationType: admin ? AuthorizationType.IAM : AuthorizationType.NONE },
    );
    acknowledgeCallers(method, admin, served.name);
  }

  /** API Gateway answers some calls before any function sees them: in our words, and always as JSON-RPC. */
  #ownAnswers(): void {
    const answers: [ResponseType, A2AFailure, number][] = [
      [ResponseType.THROTTLED, { kind: 'quota-exceeded', retryAfterSeconds: 1 }, 429],
      [ResponseType.REQUEST_TOO_LARGE, { kind: 'body-too-large', limitBytes: 2 * 1024 * 1024 }, 413],
      [ResponseType.INTEGRATION_FAILURE, { kind: 'unavailable', retryAfterSeconds: 1 }, 503],
      [ResponseType.INTEGRATION_TIMEOUT, { kind: 'unavailable', retryAfterSeconds: 1 }, 503],
      [ResponseType.DEFAULT_5XX, { kind: 'internal', correlationId: '$context.requestId' }, 500],
    ];
    for (const [type, failure, status] of answers) {
      const wire = toWireError(failure);
      new GatewayResponse(this, type.responseType, {
        restApi: this.api as IRestApi,
        type,
        statusCode: String(status),
        responseHeaders: Object.fromEntries(
          Object.entries(wire.headers).map(([header, value]) => [header, `'${value}'`]),
        ),
        templates: {
          'application/json': JSON.stringify({ jsonrpc: '2.0', id: null, error: toRpcError(wire) }),
        },
      });
    }
  }

  #acknowledge(): void {
    Validations.of(this.api).acknowledge(
      {
        id: 'AwsSolutions-APIG2',
        reason:
          'The functions check every request themselves and answer in JSON-RPC with the field named; a check by API ' +
          'Gateway could only answer in words of its own.',
      },
      {
        id: 'AwsSolutions-APIG3',
        reason:
          'A web ACL is a choice of the deployment (parameter webAclArn). Without one: throttling, quotas per client, ' +
          'bearer tokens.',
      },
    );
  }

  #host(): string {
    return `${this.api.restApiId}.execute-api.${Aws.REGION}.${Aws.URL_SUFFIX}`;
  }
}

function shorter(one: Duration, other: Duration): Duration {
  return one.toSeconds() < other.toSeconds() ? one : other;
}

/** No header, no query, no path parameter, no body. */
const ACCESS_LOG = JSON.stringify({
  requestId: '$context.requestId',
  extendedRequestId: '$context.extendedRequestId',
  traceId: '$context.xrayTraceId',
  time: '$context.requestTimeEpoch',
  ip: '$context.identity.sourceIp',
  caller: '$context.identity.userArn',
  method: '$context.httpMethod',
  route: '$context.resourcePath',
  status: '$context.status',
  errorType: '$context.error.responseType',
  integrationStatus: '$context.integration.status',
  integrationLatency: '$context.integration.latency',
  latency: '$context.responseLatency',
  bytes: '$context.responseLength',
});

function acknowledgeCallers(method: Method, admin: boolean, served: string): void {
  const reason = admin
    ? 'Administrators are IAM principals of the account and sign their calls.'
    : (REASONS[served] ?? 'Agent cards and the key set that verifies them are public by protocol.');
  Validations.of(method).acknowledge({ id: 'AwsSolutions-COG4', reason });
  if (!admin) Validations.of(method).acknowledge({ id: 'AwsSolutions-APIG4', reason });
}

const REASONS: Readonly<Record<string, string>> = {
  rpc: 'Clients prove themselves with a bearer token that the function checks against its hash (P11).',
  callback: 'Remote agents prove themselves with a bearer that the function checks against its hash (P8).',
};
