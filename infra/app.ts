import { resolve } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { AwsSolutionsChecks } from 'cdk-nag';
import { bundleAll } from './bundle.ts';
import { type Parameters, readParameters, UnusableParameters } from './cloud/parameters.ts';
import { SealpostStack } from './cloud/stack.ts';

/** `cdk synth` and `cdk deploy` run this; what can be chosen stands in `cloud/parameters.ts`. */
const app = new App();
const parameters = read();
const bundles = new Map(
  bundleAll(resolve(import.meta.dirname, '..', 'dist')).map((bundle) => [bundle.name, bundle]),
);
new SealpostStack(app, 'Sealpost', {
  stackName: parameters.stackName,
  parameters,
  code: (name) => Code.fromAsset(bundles.get(name)!.directory, { exclude: ['meta.json'] }),
});
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

/** What cannot be used is said in a sentence, without the trace of a program that is in order. */
function read(): Parameters {
  try {
    return readParameters(app.node.getAllContext());
  } catch (error) {
    if (!(error instanceof UnusableParameters)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}
