import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  type Code,
  Function as LambdaFunction,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Environment } from '../../shared/runtime/environment.ts';
import { BUNDLED_HANDLER, type FunctionName } from '../bundle.ts';
import type { Alarms } from './alarms.ts';
import type { Parameters } from './parameters.ts';

/** What every function of the stack is built on. */
export interface Foundation {
  readonly parameters: Parameters;
  readonly alarms: Alarms;
  /** The bundle of a function. */
  readonly code: (name: FunctionName) => Code;
  /** Under which every function's own metrics stand. */
  readonly metricsNamespace: string;
  /** Told to every function. */
  readonly environment: Readonly<Partial<Record<keyof Environment, string>>>;
}

export interface GatewayFunctionProps {
  readonly name: FunctionName;
  readonly description: string;
  /** MB. */
  readonly memory: number;
  readonly timeout: Duration;
  /** Concurrency set aside for it and its upper bound; absent: it takes from what the account has left. */
  readonly reserved?: number;
  /** Whether it is woken more often than it may run at once: then throttles are no alarm. */
  readonly mayBeThrottled?: true;
  /** Errors within five minutes that raise its alarm, default 1. */
  readonly errors?: number;
}

/**
 * One Lambda: Node 24 on arm64, a role of its own with nothing but what `allow` states, a log group of its own that
 * forgets, tracing, and an alarm on errors (and on throttles, where concurrency is reserved).
 */
export class GatewayFunction extends Construct {
  readonly name: FunctionName;
  readonly role: Role;
  readonly function: LambdaFunction;
  readonly timeout: Duration;

  constructor(scope: Construct, id: string, foundation: Foundation, props: GatewayFunctionProps) {
    super(scope, id);
    this.name = props.name;
    this.timeout = props.timeout;
    const logGroup = new LogGroup(this, 'Logs', { retention: foundation.parameters.logDays });
    this.role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `Sealpost: ${props.description}`,
    });
    this.allow(
      new PolicyStatement({
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [logGroup.logGroupArn],
      }),
    );
    this.function = new LambdaFunction(this, 'Function', {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: foundation.code(props.name),
      handler: BUNDLED_HANDLER,
      memorySize: props.memory,
      timeout: props.timeout,
      role: this.role,
      logGroup,
      tracing: Tracing.ACTIVE,
      environment: { ...foundation.environment, NODE_OPTIONS: '--enable-source-maps' },
      ...(props.reserved !== undefined && foundation.parameters.reserveConcurrency
        ? { reservedConcurrentExecutions: props.reserved }
        : {}),
    });
    Validations.of(this.role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'xray:PutTraceSegments and xray:PutTelemetryRecords know no resource; dynamodb:ListStreams and ' +
        'comprehend:DetectPiiEntities neither.',
    });

    const perFiveMinutes = { period: Duration.minutes(5), statistic: 'Sum' };
    foundation.alarms.watch(this, 'Errors', this.function.metricErrors(perFiveMinutes), {
      description: `${props.name} fails`,
      threshold: props.errors ?? 1,
    });
    if (props.reserved !== undefined && !props.mayBeThrottled) {
      foundation.alarms.watch(this, 'Throttles', this.function.metricThrottles(perFiveMinutes), {
        description: `${props.name} wants more concurrency than it has`,
        threshold: 10,
        periods: 3,
      });
    }
  }

  /** Adds to what its role may do. */
  allow(statement: PolicyStatement): void {
    this.role.addToPolicy(statement);
  }

  tell(variable: keyof Environment, value: string): void {
    this.function.addEnvironment(variable, value);
  }

  /** Amazon Comprehend, for profiles whose redaction asks for it (design §7). */
  allowRedaction(): void {
    this.allow(new PolicyStatement({ actions: ['comprehend:DetectPiiEntities'], resources: ['*'] }));
  }

  /** Lambdas that an administrator named; names and patterns mean functions of this account and Region. */
  allowInvoking(functions: readonly string[]): void {
    const resources = functions.map((named) =>
      named.startsWith('arn:')
        ? named
        : `arn:${this.#stack.partition}:lambda:${this.#region}:function:${named}`,
    );
    this.#allowNamed(['lambda:InvokeFunction'], resources);
  }

  /**
   * Bedrock models that an administrator named. An inference profile (`eu.`, `us.`, `global.` …) needs itself and the
   * model behind it, wherever the profile sends the call.
   */
  allowModels(models: readonly string[]): void {
    const resources = models.flatMap((named) => {
      if (named.startsWith('arn:')) return [named];
      const model = /^(?:us|us-gov|eu|apac|jp|au|ca|global)\.(.+)$/.exec(named)?.[1];
      const bedrock = `arn:${this.#stack.partition}:bedrock`;
      return model === undefined
        ? [`${bedrock}:${this.#stack.region}::foundation-model/${named}`]
        : [
            `${bedrock}:${this.#region}:inference-profile/${named}`,
            `${bedrock}:*::foundation-model/${model}`,
          ];
    });
    this.#allowNamed(['bedrock:InvokeModel', 'bedrock:InvokeModelWithResponseStream'], resources);
  }

  get #stack(): Stack {
    return Stack.of(this);
  }

  get #region(): string {
    return `${this.#stack.region}:${this.#stack.account}`;
  }

  #allowNamed(actions: string[], resources: string[]): void {
    if (resources.length === 0) return;
    this.allow(new PolicyStatement({ actions, resources }));
    for (const resource of resources.filter((named) => named.includes('*'))) {
      Validations.of(this.role).acknowledge({
        id: `AwsSolutions-IAM5[Resource::${readable(this.#stack, resource)}]`,
        reason:
          'A pattern that the administrator who deploys the stack wrote, or the Regions of an inference profile.',
      });
    }
  }
}

/** As cdk-nag writes an ARN in a finding. */
function readable(stack: Stack, resource: string): string {
  return resource
    .replaceAll(stack.partition, '<AWS::Partition>')
    .replaceAll(stack.region, '<AWS::Region>')
    .replaceAll(stack.account, '<AWS::AccountId>');
}
