import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { Environment } from '../runtime/environment.ts';
import { failed, reasonOfStatus } from './failure.ts';
import { buildInvocation, readAnswer } from './function-contract.ts';
import type { FailedResult, ProviderAdapter, ProviderRequest, ProviderResult } from './types.ts';

export type { LambdaClient };

/** What Lambda takes in a synchronous invocation: 6 MB, of 1,024 × 1,024 bytes. */
export const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

/**
 * A client for function providers. One attempt a call: a repeated invocation would run the function twice behind our
 * back, and the chain and the run's attempts already decide what is tried again.
 */
export function createLambdaClient(
  environment: Pick<Environment, 'AWS_REGION' | 'AWS_ENDPOINT_URL_LAMBDA'>,
): LambdaClient {
  return new LambdaClient({
    region: environment.AWS_REGION,
    maxAttempts: 1,
    ...(environment.AWS_ENDPOINT_URL_LAMBDA === undefined
      ? {}
      : { endpoint: environment.AWS_ENDPOINT_URL_LAMBDA }),
    // No request timeout: a function may answer after minutes; the attempt's signal ends what takes too long.
    requestHandler: { connectionTimeout: 3000 },
  });
}

/**
 * Where a function's author learns what is wrong with an answer that does not fit the contract: the place, no content.
 */
export type NoteFlaw = (flaw: { readonly function: string; readonly flaw: string }) => void;

/**
 * Invokes a Lambda function synchronously under the contract of `function-contract.ts`. Failures: a payload above 6 MB
 * is `refused` with a fixed text for the client; an error that the function threw is `declared` and retryable;
 * throttling, outages and a missing function have their classes. What the function logged or threw goes nowhere (P10).
 */
export function createFunctionAdapter(
  client: LambdaClient,
  functionName: string,
  noteFlaw: NoteFlaw,
): ProviderAdapter {
  return { run: (request) => invoke(client, functionName, noteFlaw, request) };
}

async function invoke(
  client: LambdaClient,
  functionName: string,
  noteFlaw: NoteFlaw,
  request: ProviderRequest,
): Promise<ProviderResult> {
  const payload = new TextEncoder().encode(JSON.stringify(buildInvocation(request)));
  if (payload.byteLength > MAX_PAYLOAD_BYTES) return failed('refused', { message: [{ text: TOO_LARGE }] });

  let answer: { readonly error?: string | undefined; readonly payload: unknown };
  try {
    const command = new InvokeCommand({
      FunctionName: functionName,
      InvocationType: 'RequestResponse',
      Payload: payload,
    });
    const output = await client.send(command, { abortSignal: request.signal });
    answer = { error: output.FunctionError, payload: parse(output.Payload) };
  } catch (error) {
    return request.signal.aborted ? failed('aborted') : failed(reasonOfError(error));
  }
  if (answer.error !== undefined) return functionError(answer.payload);

  const { progress, result, flaw } = readAnswer(answer.payload);
  if (flaw !== undefined) noteFlaw({ function: functionName, flaw });
  for (const text of progress) await request.progress(text);
  return result;
}

const TOO_LARGE = 'The conversation is too large for this skill.';

function parse(payload: Uint8Array | undefined): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(payload ?? new Uint8Array()));
  } catch {
    return undefined;
  }
}

/** Lambda's own endings of an invocation are told apart by `errorType`; anything else was thrown by the function. */
function functionError(payload: unknown): FailedResult {
  const type = field(payload, 'errorType');
  const message = field(payload, 'errorMessage');
  // Older runtimes report their time limit in words only.
  const timedOut =
    type === 'Sandbox.Timedout' || (typeof message === 'string' && /Task timed out after \d/.test(message));
  if (timedOut) return failed('timeout');
  if (type === 'Function.ResponseSizeTooLarge') return failed('invalid-answer');
  return failed('declared', { retryable: true });
}

function reasonOfError(error: unknown): FailedResult['reason'] {
  const name = field(error, 'name');
  if (name === 'CredentialsProviderError') return 'configuration';
  // Lambda answers 502 for some of what only an administrator can mend.
  if (typeof name === 'string' && MISCONFIGURED.has(name)) return 'configuration';
  if (typeof name === 'string' && /Throttl|TooManyRequests/.test(name)) return 'throttled';
  const status = field(field(error, '$metadata'), 'httpStatusCode');
  return typeof status === 'number' && status >= 400 ? reasonOfStatus(status) : 'unavailable';
}

const MISCONFIGURED: ReadonlySet<string> = new Set([
  'InvalidParameterValueException',
  'InvalidRuntimeException',
  'InvalidSecurityGroupIDException',
  'InvalidSubnetIDException',
  'InvalidZipFileException',
  'KMSAccessDeniedException',
  'KMSDisabledException',
  'KMSInvalidStateException',
  'KMSNotFoundException',
]);

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
