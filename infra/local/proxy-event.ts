import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { localAccount } from './local-client.ts';
import { type Match, requestTarget } from './routing.ts';

export interface ProxyEventOptions {
  /** `image/*` and the all-wildcard allowed; a body of such a type is handed over in base64. */
  readonly binaryMediaTypes?: readonly string[];
  /** Who was authenticated, on routes for administrators. */
  readonly userArn?: string;
  readonly now?: () => number;
}

/**
 * The event that a REST API of API Gateway (payload version 1.0) makes of a request. It looks like one behind a custom
 * domain: the path in the request context carries no stage.
 */
export function proxyEvent(
  request: IncomingMessage,
  body: Buffer,
  { route, parameters }: Match,
  options: ProxyEventOptions = {},
): APIGatewayProxyEvent {
  const target = requestTarget(request.url);
  const now = options.now?.() ?? Date.now();
  const sourceIp = request.socket.remoteAddress ?? '127.0.0.1';
  const domainName = request.headers.host ?? 'localhost';
  const headers = headerLists(request, sourceIp);
  const query = lists(target.query);
  const binary = isBinary(request.headers['content-type'], options.binaryMediaTypes ?? []);
  return {
    resource: route.path,
    path: target.path,
    httpMethod: request.method ?? 'GET',
    headers: lastOfEach(headers),
    multiValueHeaders: headers,
    queryStringParameters: nullIfEmpty(lastOfEach(query)),
    multiValueQueryStringParameters: nullIfEmpty(query),
    pathParameters: nullIfEmpty(parameters),
    stageVariables: null,
    requestContext: {
      accountId: localAccount,
      apiId: 'local',
      authorizer: null,
      domainName,
      domainPrefix: domainName.split('.')[0] ?? domainName,
      extendedRequestId: randomUUID(),
      httpMethod: request.method ?? 'GET',
      identity: {
        accessKey: null,
        accountId: options.userArn === undefined ? null : localAccount,
        apiKey: null,
        apiKeyId: null,
        caller: null,
        clientCert: null,
        cognitoAuthenticationProvider: null,
        cognitoAuthenticationType: null,
        cognitoIdentityId: null,
        cognitoIdentityPoolId: null,
        principalOrgId: null,
        sourceIp,
        user: null,
        userAgent: request.headers['user-agent'] ?? null,
        userArn: options.userArn ?? null,
      },
      path: target.path,
      protocol: `HTTP/${request.httpVersion}`,
      requestId: randomUUID(),
      requestTime: requestTime(now),
      requestTimeEpoch: now,
      resourceId: 'local',
      resourcePath: route.path,
      stage: 'local',
    },
    body: body.length === 0 ? null : body.toString(binary ? 'base64' : 'utf8'),
    isBase64Encoded: binary && body.length > 0,
  };
}

/** Names keep the caller's spelling, as the platform keeps them; the forwarding ones are the gateway's own. */
function headerLists(request: IncomingMessage, sourceIp: string): Record<string, string[]> {
  const lists: Record<string, string[]> = {};
  const own = new Set(['x-forwarded-proto', 'x-forwarded-port', 'connection', 'transfer-encoding']);
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index] ?? '';
    if (own.has(name.toLowerCase())) continue;
    const spelled = Object.keys(lists).find((known) => known.toLowerCase() === name.toLowerCase()) ?? name;
    lists[spelled] = [...(lists[spelled] ?? []), request.rawHeaders[index + 1] ?? ''];
  }
  const forwarded = Object.keys(lists).find((known) => known.toLowerCase() === 'x-forwarded-for');
  const chain = forwarded === undefined ? [] : (lists[forwarded] ?? []);
  if (forwarded !== undefined) delete lists[forwarded];
  return {
    ...lists,
    'X-Amzn-Trace-Id': [
      `Root=1-${Math.floor(Date.now() / 1_000).toString(16)}-${randomUUID().replaceAll('-', '').slice(0, 24)}`,
    ],
    'X-Forwarded-For': [[...chain, sourceIp].join(', ')],
    'X-Forwarded-Port': [String(request.socket.localPort ?? 0)],
    'X-Forwarded-Proto': ['http'],
  };
}

function lists(parameters: URLSearchParams): Record<string, string[]> {
  return Object.fromEntries([...new Set(parameters.keys())].map((name) => [name, parameters.getAll(name)]));
}

function lastOfEach(values: Readonly<Record<string, readonly string[]>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, list]) => [name, list.at(-1) ?? '']));
}

function nullIfEmpty<Value extends object>(value: Value): Value | null {
  return Object.keys(value).length === 0 ? null : value;
}

function isBinary(contentType: string | undefined, patterns: readonly string[]): boolean {
  const type = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return patterns.some((pattern) => {
    if (pattern === '*/*') return true;
    return pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
  });
}

/** Common log format, UTC: `08/Nov/2026:17:05:00 +0000`. */
function requestTime(now: number): string {
  const [, day, month, year, time] = new Date(now).toUTCString().split(' ');
  return `${day}/${month}/${year}:${time} +0000`;
}
