import type { Fetch } from '../guard/index.ts';
import type { Provider, SealedSecret } from '../registry/types.ts';
import type { Environment } from '../runtime/environment.ts';
import { echoAdapter } from './echo.ts';
import { createFunctionAdapter, type LambdaClient, type NoteFlaw } from './function-lambda.ts';
// Not imported on demand, though that would save a cold start 100 ms: in a bundle of one file the bundler then runs the
// schema library's modules in an order that breaks them.
import { type AwsCredentials, createBedrockAdapter, createOpenAiAdapter } from './models.ts';
import { createRemoteAdapter } from './remote.ts';
import type { ProviderAdapter } from './types.ts';

export interface ProviderPorts {
  readonly lambda: LambdaClient;
  /** The guarded fetch for a model provider: it follows no redirect and knows the provider's trusted hosts. */
  readonly fetchFor: (provider: Extract<Provider, { kind: 'openai' | 'bedrock' }>) => Fetch;
  /** Opens a secret that was sealed for the provider of this id. */
  readonly openSecret: (provider: string, secret: SealedSecret) => Promise<string>;
  readonly noteFlaw: NoteFlaw;
  readonly environment: Pick<Environment, 'AWS_REGION' | 'AWS_ENDPOINT_URL_BEDROCK_RUNTIME'>;
  /** For Bedrock; by default those of the Lambda client, so the usual chain of AWS. */
  readonly credentials?: () => Promise<AwsCredentials>;
}

/** What runs each kind of provider. Secrets are opened and credentials fetched in the run that needs them (P10). */
export function createProviderAdapters(ports: ProviderPorts): (provider: Provider) => ProviderAdapter {
  const credentials = ports.credentials ?? (() => ports.lambda.config.credentials());
  return (provider) => {
    switch (provider.kind) {
      case 'echo':
        return echoAdapter;
      case 'remote':
        return createRemoteAdapter(provider.agent);
      case 'function':
        return createFunctionAdapter(ports.lambda, provider.functionName, ports.noteFlaw);
      case 'openai': {
        const { apiKey } = provider;
        return createOpenAiAdapter(provider, {
          fetch: ports.fetchFor(provider),
          openApiKey: async () => (apiKey === undefined ? undefined : ports.openSecret(provider.id, apiKey)),
        });
      }
      case 'bedrock': {
        const endpoint = ports.environment.AWS_ENDPOINT_URL_BEDROCK_RUNTIME;
        return createBedrockAdapter(provider, {
          fetch: ports.fetchFor(provider),
          credentials,
          region: ports.environment.AWS_REGION,
          ...(endpoint === undefined ? {} : { endpoint }),
        });
      }
    }
  };
}
