import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { App, type CfnElement } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { AwsSolutionsChecks } from 'cdk-nag';
import type { FunctionName } from '../../infra/bundle.ts';
import { GatewayFunction } from '../../infra/cloud/gateway-function.ts';
import { readParameters } from '../../infra/cloud/parameters.ts';
import { SealpostStack } from '../../infra/cloud/stack.ts';
import type { Statement } from './policy.ts';

// biome-ignore lint/suspicious/noExplicitAny: a template is JSON of Amazon's making; tests say what they expect of it.
export type Properties = Record<string, any>;

export interface Resource {
  readonly id: string;
  readonly type: string;
  readonly properties: Properties;
  readonly deletionPolicy: string | undefined;
}

export interface Synthesised {
  readonly resources: readonly Resource[];
  readonly outputs: Readonly<Record<string, { readonly Value: unknown }>>;
  /** Findings of cdk-nag that nobody acknowledged, as `rule: path`. */
  readonly findings: readonly string[];
  readonly stack: SealpostStack;
  ofType(type: string): Resource[];
  function(name: FunctionName): Resource;
  /** All that the function's role may do, its resources as `readable` writes them. */
  statements(name: FunctionName): Statement[];
}

/** The stack as `cdk synth` builds it, with the context of `cdk.json`, but without bundles and without an account. */
export function synthesise(
  given: Readonly<Record<string, unknown>> = {},
  alter: (stack: SealpostStack) => void = () => {},
): Synthesised {
  const { context } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../cdk.json'), 'utf8')) as {
    context: Record<string, unknown>;
  };
  const app = new App({ context: { ...context, ...given } });
  const parameters = readParameters(app.node.getAllContext());
  const stack = new SealpostStack(app, 'Sealpost', {
    stackName: parameters.stackName,
    parameters,
    code: () => Code.fromInline('export const handler = () => {};'),
  });
  alter(stack);
  const template = Template.fromStack(stack).toJSON() as {
    Resources: Record<string, { Type: string; Properties?: Properties; DeletionPolicy?: string }>;
    Outputs: Synthesised['outputs'];
  };
  const resources = Object.entries(template.Resources).map(([id, resource]) => ({
    id,
    type: resource.Type,
    properties: resource.Properties ?? {},
    deletionPolicy: resource.DeletionPolicy,
  }));
  const functions = new Map(
    stack.node
      .findAll()
      .filter((construct) => construct instanceof GatewayFunction)
      .map((construct) => [construct.name, construct]),
  );
  const logicalId = (construct: { readonly node: { readonly defaultChild?: unknown } }) =>
    stack.getLogicalId(construct.node.defaultChild as CfnElement);
  const byId = (id: string) => resources.find((resource) => resource.id === id)!;

  return {
    resources,
    outputs: template.Outputs,
    get findings() {
      return findingsOf(app);
    },
    stack,
    ofType: (type) => resources.filter((resource) => resource.type === type),
    function: (name) => byId(logicalId(functions.get(name)!.function)),
    statements: (name) => {
      const role = logicalId(functions.get(name)!.role);
      return resources
        .filter((resource) => resource.type === 'AWS::IAM::Policy')
        .filter(({ properties }) => properties['Roles'].some((held: Properties) => held['Ref'] === role))
        .flatMap(({ properties }) => properties['PolicyDocument'].Statement as Properties[])
        .map(statement);
    },
  };
}

export function statement(raw: Properties): Statement {
  return {
    effect: raw['Effect'],
    actions: [raw['Action']].flat(),
    resources: [raw['Resource']].flat().map(readable),
    conditions: raw['Condition'] ?? {},
  };
}

/** A reference as `<logical id>` or `<logical id>.<attribute>`, inside whatever text it stands in. */
export function readable(value: unknown): string {
  if (typeof value === 'string') return value;
  const { Ref, 'Fn::GetAtt': attribute, 'Fn::Join': joined } = value as Properties;
  if (Ref !== undefined) return `<${Ref}>`;
  if (attribute !== undefined) return `<${attribute.join('.')}>`;
  if (joined !== undefined) return joined[1].map(readable).join(joined[0]);
  throw new Error(`cannot read ${JSON.stringify(value)}`);
}

function findingsOf(app: App): string[] {
  const report = new AwsSolutionsChecks(app).validateScope(app);
  return report.violations.flatMap((violation) =>
    violation.violatingResources.map(
      (resource) => `${violation.ruleName}: ${(resource as { constructPath?: string }).constructPath}`,
    ),
  );
}
