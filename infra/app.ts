import { resolve } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { AwsSolutionsChecks } from 'cdk-nag';
import { bundleAll } from './bundle.ts';
import { readParameters } from './cloud/parameters.ts';
import { SealpostStack } from './cloud/stack.ts';

/** `cdk synth` and `cdk deploy` run this; what can be chosen stands in `cloud/parameters.ts`. */
const app = new App();
const parameters = readParameters((name) => app.node.tryGetContext(name));
const bundles = new Map(
  bundleAll(resolve(import.meta.dirname, '..', 'dist')).map((bundle) => [bundle.name, bundle]),
);
new SealpostStack(app, 'Sealpost', {
  stackName: parameters.stackName,
  parameters,
  code: (name) => Code.fromAsset(bundles.get(name)!.directory, { exclude: ['meta.json'] }),
});
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
