import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import middy from '@middy/core';
import { executionModeStreamifyResponse } from '@middy/core/StreamifyResponse';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Gateway, type GatewayFunction, localUserArn, startGateway } from '../../infra/local/gateway.ts';
import { provideAwsLambda, type StreamHandler } from '../../infra/local/response-stream.ts';
import { routes } from '../../shared/runtime/routes.ts';
import { portIsOpen } from './ports.ts';

provideAwsLambda();
type Answer = { statusCode: number; headers?: Record<string, string>; body: string | Readable };
let answer: (event: APIGatewayProxyEvent) => Answer | Promise<Answer>;
let events: APIGatewayProxyEvent[];
let errors: unknown[];
let gateway: Gateway;

const streamed = (middy as unknown as (handler: unknown, options: unknown) => StreamHandler)(
  async (event: APIGatewayProxyEvent) => {
    events.push(event);
    return answer(event);
  },
  { executionMode: executionModeStreamifyResponse },
);
const functions: Record<string, GatewayFunction> = {
  rpc: { form: 'stream', handler: streamed, timeoutSeconds: 900 },
  card: { form: 'stream', handler: streamed, timeoutSeconds: 30 },
  admin: {
    form: 'result',
    timeoutSeconds: 30,
    handler: async (event) => {
      events.push(event as APIGatewayProxyEvent);
      return { statusCode: 200, headers: { 'x-a': 'b' }, body: '{"ok":true}' };
    },
  },
};

beforeEach(async () => {
  events = [];
  errors = [];
  answer = () => ({ statusCode: 200, headers: { 'content-type': 'application/json' }, body: '{}' });
  gateway = await startGateway({
    routes,
    functions: (name) => functions[name],
    administratorToken: 'key',
    binaryMediaTypes: ['application/octet-stream'],
    onError: (_name, error) => errors.push(error),
  });
});
afterEach(() => gateway.stop());

const post = (path: string, init: RequestInit = {}) =>
  fetch(`${gateway.url}${path}`, { method: 'POST', body: '{"a":"ü"}', ...init });

describe('requests', () => {
  it.each(['/', '/rpc', '/rpc/'])(
    'reach the function of POST %s as a proxy event of a REST API',
    async (path) => {
      const response = await post(`${path}?a=1&b=2&a=3`, {
        headers: {
          'content-type': 'application/a2a+json',
          'A2A-Version': '1.0',
          'x-forwarded-for': '9.9.9.9',
        },
      });
      expect(response.status).toBe(200);
      const { multiValueHeaders, headers, requestContext, ...event } = events[0] as APIGatewayProxyEvent;
      expect(event).toEqual({
        resource: path === '/' ? '/' : '/rpc',
        path,
        httpMethod: 'POST',
        queryStringParameters: { a: '3', b: '2' },
        multiValueQueryStringParameters: { a: ['1', '3'], b: ['2'] },
        pathParameters: null,
        stageVariables: null,
        body: '{"a":"ü"}',
        isBase64Encoded: false,
      });
      expect(multiValueHeaders['X-Forwarded-For']).toEqual(['9.9.9.9, 127.0.0.1']);
      expect(headers['content-type']).toBe('application/a2a+json');
      expect(Object.keys(headers).map((name) => name.toLowerCase())).toContain('a2a-version');
      expect(requestContext).toMatchObject({
        path,
        resourcePath: event.resource,
        stage: 'local',
        httpMethod: 'POST',
        protocol: 'HTTP/1.1',
        domainName: new URL(gateway.url).host,
      });
      expect(requestContext.identity).toMatchObject({ sourceIp: '127.0.0.1', userArn: null });
      expect(requestContext.requestTime).toMatch(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/);
    },
  );

  it('keep the spelling and every value of their headers', async () => {
    const socket = connect({ host: '127.0.0.1', port: gateway.port });
    socket.write(
      'POST /rpc HTTP/1.1\r\nhost: x\r\nX-Odd-Case: 1\r\nx-odd-case: 2\r\ncontent-length: 0\r\n\r\n',
    );
    await once(socket, 'data');
    socket.destroy();
    expect(events[0]?.multiValueHeaders['X-Odd-Case']).toEqual(['1', '2']);
    expect(events[0]?.headers['X-Odd-Case']).toBe('2');
    expect(events[0]?.body).toBeNull();
  });

  it('carry path parameters, and a binary body in base64', async () => {
    await fetch(`${gateway.url}/agents/my-profile/.well-known/agent-card.json`);
    expect(events[0]?.pathParameters).toEqual({ profile: 'my-profile' });
    expect(events[0]?.resource).toBe('/agents/{profile}/.well-known/agent-card.json');
    await post('/rpc', {
      headers: { 'content-type': 'application/octet-stream' },
      body: Buffer.from([0, 255]),
    });
    expect(events[1]).toMatchObject({ isBase64Encoded: true, body: 'AP8=' });
  });

  it.each([
    ['GET', '/rpc'],
    ['POST', '/unknown'],
    ['POST', '/agents//.well-known/agent-card.json'],
    ['OPTIONS', '/rpc'],
    ['POST', '//'],
  ])('to no route (%s %s) are refused as API Gateway refuses them', async (method, path) => {
    const response = await fetch(`${gateway.url}${path}`, { method });
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({ message: 'Missing Authentication Token' });
    expect(events).toHaveLength(0);
  });

  it('above ten megabytes are refused, announced or not', async () => {
    const big = Buffer.alloc(10 * 1024 * 1024 + 1, 'x');
    expect(
      (await post('/rpc', { body: Readable.from([big]), duplex: 'half' } as unknown as RequestInit)).status,
    ).toBe(413);
    const socket = connect({ host: '127.0.0.1', port: gateway.port });
    socket.write(`POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-length: ${big.length}\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toContain('413');
    socket.destroy();
    expect(events).toHaveLength(0);
  });

  it('that stop in the middle of their body harm nothing', async () => {
    const socket = connect({ host: '127.0.0.1', port: gateway.port });
    socket.write('POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{');
    await vi.waitFor(() => expect(gateway.inFlight()).toBe(1));
    socket.destroy();
    await vi.waitFor(() => expect(gateway.inFlight()).toBe(0));
    expect((await post('/rpc')).status).toBe(200);
  });
});

describe('answers', () => {
  it('carry status, headers and body of the function', async () => {
    answer = () => ({
      statusCode: 401,
      headers: { 'WWW-Authenticate': 'Bearer' },
      body: 'x'.repeat(100_000),
    });
    const response = await post('/rpc');
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.text()).toBe('x'.repeat(100_000));
  });

  it('arrive chunk by chunk, the head before the first one', async () => {
    const body = new Readable({ read() {} });
    answer = () => ({ statusCode: 200, headers: { 'content-type': 'text/event-stream' }, body });
    const response = await post('/rpc');
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      body.push(text);
      expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe(text);
    }
    expect(gateway.inFlight()).toBe(0);
    body.push(null);
    expect((await reader.read()).done).toBe(true);
  });

  it('wait for a slow reader instead of piling up', async () => {
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const body = new Readable({
      read() {
        written += chunk.length;
        this.push(written > 200 * 1024 * 1024 ? null : chunk);
      },
    });
    answer = () => ({ statusCode: 200, body });
    const response = await post('/rpc');
    let before = -1;
    await vi.waitFor(
      () => {
        const still = written === before;
        before = written;
        expect(still).toBe(true);
      },
      { interval: 50 },
    );
    expect(written).toBeLessThan(50 * 1024 * 1024);
    await response.body?.cancel();
  });

  it('to a caller that went away go nowhere, and the function is not told', async () => {
    let ended = false;
    let send = () => {};
    const body = Readable.from(
      (async function* () {
        for (let n = 0; n < 50; n += 1) {
          yield Buffer.alloc(64 * 1024, 'x');
          if (n === 0) await new Promise<void>((resolve) => (send = resolve));
        }
        ended = true;
      })(),
    );
    answer = () => ({ statusCode: 200, headers: { 'content-type': 'text/event-stream' }, body });
    const controller = new AbortController();
    const response = await post('/rpc', { signal: controller.signal });
    await response.body?.getReader().read();
    controller.abort();
    send();
    await vi.waitFor(() => expect(ended).toBe(true));
    expect(errors).toEqual([]);
    expect((await post('/rpc').catch(() => undefined))?.status).toBe(200);
  });

  it('of a function that throws are a 502 that tells nothing', async () => {
    answer = () => {
      throw new Error('inner secret');
    };
    const response = await post('/rpc');
    expect(response.status).toBe(502);
    expect(await response.json()).toEqual({ message: 'Internal server error' });
    expect(errors).toHaveLength(1);
  });

  it('that break in the middle break the connection', async () => {
    answer = () => ({
      statusCode: 200,
      body: Readable.from(
        (async function* () {
          yield 'half';
          throw new Error('broken');
        })(),
      ),
    });
    const response = await post('/rpc');
    await expect(response.text()).rejects.toThrow();
    await vi.waitFor(() => expect(errors).toHaveLength(1));
  });

  it('without a prelude are a 502, as a REST API cannot read them', async () => {
    const raw = await startGateway({
      routes,
      functions: () => ({
        form: 'stream',
        timeoutSeconds: 3,
        handler: async (_event, stream) => stream.end('raw'),
      }),
      administratorToken: 'key',
    });
    expect((await fetch(`${raw.url}/rpc`, { method: 'POST' })).status).toBe(502);
    await raw.stop();
  });
});

describe('the administrator’s route', () => {
  const authorization = 'Bearer key';

  it('hands the caller’s identity to the function and answers its result', async () => {
    const response = await post('/admin', { headers: { authorization } });
    expect(await response.json()).toEqual({ ok: true });
    expect(response.headers.get('x-a')).toBe('b');
    expect(events[0]?.requestContext.identity.userArn).toBe(localUserArn);
  });

  it.each([
    ['no token', {}],
    ['a wrong token', { authorization: 'Bearer kez' }],
    ['a browser', { authorization, origin: 'http://127.0.0.1' }],
  ])('refuses %s', async (_case, headers) => {
    expect((await post('/admin', { headers: headers as Record<string, string> })).status).toBe(403);
    expect(events).toHaveLength(0);
  });

  it('refuses a foreign host name that leads here', async () => {
    const socket = connect({ host: '127.0.0.1', port: gateway.port });
    socket.write(
      `POST /admin HTTP/1.1\r\nhost: evil.example\r\nauthorization: ${authorization}\r\ncontent-length: 0\r\n\r\n`,
    );
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toContain('403');
    socket.destroy();
  });
});

it('stops with streams still open and leaves no port behind', async () => {
  answer = () => ({
    statusCode: 200,
    headers: { 'content-type': 'text/event-stream' },
    body: new Readable({ read() {} }),
  });
  const response = await post('/rpc');
  gateway.refuseNew();
  await gateway.stop();
  expect(await portIsOpen(gateway.url)).toBe(false);
  await expect(response.text()).rejects.toThrow();
});
