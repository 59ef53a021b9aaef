import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from 'aws-lambda';
import { localAccount, localRegion } from './local-client.ts';
import { listenOnLoopback, readBody } from './loopback-server.ts';

export type Handler = (event: unknown, context: Context) => unknown;

export interface LambdaEndpoint {
  readonly endpoint: string;
  /** Invocations that have not ended. */
  running(): number;
  stop(): Promise<void>;
}

/** Lambda's bound on a synchronous request and answer. */
const maxPayloadBytes = 6 * 1024 * 1024;

/**
 * Lambda's Invoke endpoint on 127.0.0.1 for the functions given by name: what a function provider calls. An error
 * that a function throws is answered as Lambda does, with `X-Amz-Function-Error` and its type and message as payload.
 */
export async function startLambda(functions: Readonly<Record<string, Handler>>): Promise<LambdaEndpoint> {
  let running = 0;
  const server = await listenOnLoopback((request, response) => {
    running += 1;
    answer(functions, request, response)
      .catch((error: unknown) => {
        if (!response.headersSent) refuse(response, 500, 'ServiceException', errorName(error));
      })
      .finally(() => {
        running -= 1;
      });
  });
  return { endpoint: server.url, running: () => running, stop: () => server.close() };
}

/** What a handler gets as its second argument. The time left is real; nothing here ends a handler that ignores it. */
export function lambdaContext(functionName: string, timeoutSeconds: number): Context {
  const deadline = Date.now() + timeoutSeconds * 1_000;
  const unsupported = () => {
    throw new Error('Callbacks of the context are gone since Node 24: return a promise.');
  };
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:${localRegion}:${localAccount}:function:${functionName}`,
    memoryLimitInMB: '512',
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: 'local',
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
    done: unsupported,
    fail: unsupported,
    succeed: unsupported,
  };
}

async function answer(
  functions: Readonly<Record<string, Handler>>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://local').pathname;
  const asked = /^\/2015-03-31\/functions\/([^/]+)\/invocations\/?$/.exec(path)?.[1];
  const body = await readBody(request, maxPayloadBytes);
  if (request.method !== 'POST' || asked === undefined)
    return refuse(response, 404, 'UnknownOperationException', path);
  const name = functionName(decodeURIComponent(asked));
  const handler = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (!handler) return refuse(response, 404, 'ResourceNotFoundException', `Function not found: ${name}`);
  if (!body)
    return refuse(response, 413, 'RequestTooLargeException', 'Request must be smaller than 6291456 bytes');
  let event: unknown;
  try {
    event = body.length > 0 ? JSON.parse(body.toString()) : {};
  } catch {
    return refuse(response, 400, 'InvalidRequestContentException', 'Could not parse request body into json');
  }

  const type = request.headers['x-amz-invocation-type'] ?? 'RequestResponse';
  if (type === 'DryRun') return void response.writeHead(204).end();
  const context = lambdaContext(name, 900);
  if (type === 'Event') {
    response.writeHead(202).end();
    await invoke(handler, event, context);
    return;
  }
  const outcome = await invoke(handler, event, context);
  response.writeHead(200, {
    'content-type': 'application/json',
    'x-amz-executed-version': '$LATEST',
    'x-amzn-requestid': context.awsRequestId,
    ...(outcome.failed && { 'x-amz-function-error': 'Unhandled' }),
  });
  response.end(outcome.payload);
}

async function invoke(handler: Handler, event: unknown, context: Context) {
  try {
    const payload = JSON.stringify((await handler(event, context)) ?? null);
    if (Buffer.byteLength(payload) <= maxPayloadBytes) return { failed: false, payload };
    return failed(
      'Function.ResponseSizeTooLarge',
      'Response payload size exceeded maximum allowed payload size.',
    );
  } catch (error) {
    return error instanceof Error
      ? failed(error.name, error.message, error.stack?.split('\n'))
      : failed(typeof error, String(error));
  }
}

function failed(errorType: string, errorMessage: string, trace: string[] = []) {
  return { failed: true, payload: JSON.stringify({ errorType, errorMessage, trace }) };
}

/** A name, `name:qualifier`, a partial or a whole ARN. */
function functionName(identifier: string): string {
  return /(?:^|:)function:([^:]+)/.exec(identifier)?.[1] ?? identifier.split(':')[0] ?? identifier;
}

function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': type });
  response.end(JSON.stringify({ Type: 'User', Message: message }));
}

function errorName(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}
