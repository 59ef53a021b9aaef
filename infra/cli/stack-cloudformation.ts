import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { SignatureV4 } from '@smithy/signature-v4';
import { CommandFailure } from './command-failure.ts';
import type { Endpoint, TargetOptions } from './target.ts';

/** The stack's output that names the administrator's route. */
export const ADMIN_OUTPUT = 'AdminUrl';

/**
 * The IAM-signed route of a deployed gateway. Region and credentials come from the options, else from where the AWS
 * command line has them. Throws `CommandFailure`.
 */
export async function stackEndpoint(
  stack: string,
  options: Pick<TargetOptions, 'region' | 'awsProfile'>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Endpoint> {
  const endpoint = environment['AWS_ENDPOINT_URL_CLOUDFORMATION'];
  const client = new CloudFormationClient({
    maxAttempts: 3,
    ...(options.region !== undefined && { region: options.region }),
    ...(options.awsProfile !== undefined && { profile: options.awsProfile }),
    ...(endpoint !== undefined && { endpoint }),
  });
  const url = await adminUrl(client, stack);
  const { credentials, region, sha256 } = client.config;
  const signer = new SignatureV4({ credentials, region, sha256, service: 'execute-api' });
  return {
    url,
    headers: async (body) => {
      const signed = await signer.sign({
        method: 'POST',
        protocol: url.protocol,
        hostname: url.hostname,
        path: url.pathname,
        query: {},
        headers: { host: url.host, 'content-type': 'application/json' },
        body,
      });
      return signed.headers;
    },
  };
}

async function adminUrl(client: CloudFormationClient, stack: string): Promise<URL> {
  const outputs = await describe(client, stack);
  const text = outputs.find(({ OutputKey }) => OutputKey === ADMIN_OUTPUT)?.OutputValue ?? '';
  if (!URL.canParse(text))
    throw new CommandFailure(
      'NO_TARGET',
      `the stack ${stack} has no output ${ADMIN_OUTPUT}; is it a gateway's?`,
    );
  return new URL(text);
}

async function describe(client: CloudFormationClient, stack: string) {
  try {
    const { Stacks } = await client.send(new DescribeStacksCommand({ StackName: stack }));
    return Stacks?.[0]?.Outputs ?? [];
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown reason';
    throw new CommandFailure('NO_TARGET', `the stack ${stack} cannot be looked up (${reason})`);
  }
}
