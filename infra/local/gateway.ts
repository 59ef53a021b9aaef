import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { APIGatewayProxyResult } from 'aws-lambda';
import type { Route } from '../../shared/runtime/routes.ts';
import { type Handler, lambdaContext } from './lambda.ts';
import { localAccount } from './local-client.ts';
import { listenOnLoopback, readBody } from './loopback-server.ts';
import { proxyEvent } from './proxy-event.ts';
import { ResponseStream, type StreamHandler } from './response-stream.ts';
import { type Match, matchRoute, requestTarget } from './routing.ts';

/** What a route leads to: in response-streaming form, or one that returns a whole proxy result. */
export type GatewayFunction =
  | { readonly form: 'stream'; readonly handler: StreamHandler; readonly timeoutSeconds: number }
  | { readonly form: 'result'; readonly handler: Handler; readonly timeoutSeconds: number };

export interface GatewayOptions {
  /** 0 takes any free port. */
  readonly port?: number;
  readonly routes: readonly Route[];
  /** By the function's name in `routes`; asked at each request, since they are built when the port is known. */
  readonly functions: (name: string) => GatewayFunction | undefined;
  /** What routes with access `administrator` want as their bearer. */
  readonly administratorToken: string;
  /** Requests that come earlier wait for it. */
  readonly ready?: Promise<unknown>;
  readonly binaryMediaTypes?: readonly string[];
  /** Gets the error a function threw, which the caller never sees. */
  readonly onError?: (functionName: string, error: unknown) => void;
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  /** Requests whose function has not ended, event streams apart: those last until somebody cuts them. */
  inFlight(): number;
  /** Takes no new connection; open ones go on. */
  refuseNew(): void;
  /** Cuts what is still open. Resolves when the port is closed. */
  stop(): Promise<void>;
}

/** The payload limit of API Gateway; the gateway's own limit is lower and answered by itself. */
const maxBodyBytes = 10 * 1024 * 1024;

/** The role of API Gateway on 127.0.0.1 (design §9): requests become proxy events, answers are streamed. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const open = new Set<ServerResponse>();
  const server = await listenOnLoopback((request, response) => {
    open.add(response);
    serve(options, request, response)
      .catch((error: unknown) => {
        response.destroy();
        // Otherwise the caller went away in the middle of its own body.
        if (request.complete) options.onError?.('gateway', error);
      })
      .finally(() => open.delete(response));
  }, options.port);
  return {
    url: server.url,
    port: server.port,
    inFlight: () => [...open].filter((response) => !isEventStream(response)).length,
    refuseNew: () => {
      server.server.close();
      server.server.closeIdleConnections();
    },
    stop: () => server.close(),
  };
}

async function serve(
  options: GatewayOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { path } = requestTarget(request.url);
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) return tooLong(response);
  await options.ready;
  const match = matchRoute(options.routes, request.method ?? '', path);
  const target = match && options.functions(match.route.function);
  if (!match || !target)
    return refuse(response, 403, 'MissingAuthenticationTokenException', 'Missing Authentication Token');
  const administrator = match.route.access === 'administrator';
  if (administrator && !mayAdminister(request, options.administratorToken)) {
    return refuse(response, 403, 'AccessDeniedException', 'Forbidden');
  }
  const body = await readBody(request, maxBodyBytes);
  if (!body) return tooLong(response);
  await invoke(options, target, match, request, body, response, administrator);
}

async function invoke(
  options: GatewayOptions,
  target: GatewayFunction,
  match: Match,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
  administrator: boolean,
): Promise<void> {
  const name = match.route.function;
  const event = proxyEvent(request, body, match, {
    ...(options.binaryMediaTypes && { binaryMediaTypes: options.binaryMediaTypes }),
    ...(administrator && { userArn: localUserArn }),
  });
  const context = lambdaContext(name, target.timeoutSeconds);
  response.setHeader('x-amzn-requestid', event.requestContext.requestId);
  const stream = target.form === 'stream' ? new ResponseStream(response) : undefined;
  try {
    if (target.form === 'stream') await target.handler(event, stream as ResponseStream, context);
    else sendResult(response, (await target.handler(event, context)) as APIGatewayProxyResult);
    if (stream && !stream.writableEnded) stream.end();
  } catch (error) {
    options.onError?.(name, error);
    if (response.headersSent) response.destroy();
    else refuse(response, 502, 'InternalServerErrorException', 'Internal server error');
  }
}

/** Who calls the administrator's route on this machine. */
export const localUserArn = `arn:aws:iam::${localAccount}:user/local`;

/**
 * A page in a browser reaches loopback ports too: it sends an `Origin`, or a foreign host name that was bound to this
 * address, and knows no token.
 */
function mayAdminister(request: IncomingMessage, token: string): boolean {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const right = timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'));
  return request.headers.origin === undefined && (host === '127.0.0.1' || host === 'localhost') && right;
}

function sendResult(response: ServerResponse, result: APIGatewayProxyResult | undefined): void {
  if (typeof result?.statusCode !== 'number') throw new Error('The function returned no proxy result.');
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, String(value));
  for (const [name, values] of Object.entries(result.multiValueHeaders ?? {})) {
    response.setHeader(name, values.map(String));
  }
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'application/json');
  response.writeHead(result.statusCode);
  response.end(result.isBase64Encoded ? Buffer.from(result.body, 'base64') : result.body);
}

function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': type });
  response.end(JSON.stringify({ message }));
}

function tooLong(response: ServerResponse): void {
  response.setHeader('connection', 'close');
  refuse(response, 413, 'RequestEntityTooLargeException', 'Request Too Long');
}

function isEventStream(response: ServerResponse): boolean {
  return String(response.getHeader('content-type') ?? '').startsWith('text/event-stream');
}
