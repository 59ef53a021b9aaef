import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createGuard, type RequestCall } from '../../shared/guard/index.ts';
import { type Authority, createAuthority, type ServerIdentity } from './certificates.ts';
import { type Answering, type Receiver, scriptedResolver, startReceiver } from './receiver.ts';

const HOST = 'hooks.example.com';
let authority: Authority;
let identity: ServerIdentity;
const cleanups: Array<() => Promise<unknown> | unknown> = [];

beforeAll(async () => {
  authority = await createAuthority();
  identity = await authority.issue([HOST]);
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function receive(answer?: Answering): Promise<Receiver> {
  const receiver = await startReceiver(identity, answer);
  cleanups.push(() => receiver.close());
  return receiver;
}

/** A server below TLS, for what no HTTP server would do. */
async function listen(onConnection: (socket: Socket) => void): Promise<{ port: number; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

function send(port: number, changes: Partial<RequestCall> = {}) {
  const resolver = scriptedResolver({ [HOST]: [['127.0.0.1']] });
  const guard = createGuard({ ownHosts: [], resolver, ca: [authority.ca], loopbackNames: [HOST] });
  return guard.request({
    url: `https://${HOST}:${port}/`,
    policy: { purpose: 'webhook', allowedPorts: [port] },
    method: 'POST',
    headers: {},
    body: '{}',
    deadlineMs: 10_000,
    maxResponseBytes: 64 * 1024,
    ...changes,
  });
}

describe('the deadline', () => {
  it('ends a request that is never answered, and its connection', async () => {
    const receiver = await receive(() => {});
    const outcome = await send(receiver.port, { deadlineMs: 300 });
    expect(outcome).toEqual({ kind: 'timeout', phase: 'exchange' });
    expect(receiver.seen).toHaveLength(1);
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('ends a look-up that never answers, whether or not the resolver listens', async () => {
    const resolver = { resolve: () => new Promise<never>(() => {}) };
    const guard = createGuard({ ownHosts: [], resolver });
    const call = {
      url: `https://${HOST}/`,
      policy: { purpose: 'webhook' },
      method: 'GET',
      headers: {},
    } as const;
    const outcome = await guard.request({ ...call, deadlineMs: 50, maxResponseBytes: 0 });
    expect(outcome).toEqual({ kind: 'timeout', phase: 'dns' });
  });

  it('ends a TLS handshake that never answers, and its connection', async () => {
    const { port, sockets } = await listen((socket) => socket.resume());
    expect(await send(port, { deadlineMs: 300 })).toEqual({ kind: 'timeout', phase: 'tls' });
    expect(sockets).toHaveLength(1);
    await expect.poll(() => sockets[0]?.destroyed).toBe(true);
  });

  it('holds also for headers that come one by one', async () => {
    const receiver = await receive((_response, _seen, request) => {
      const drip = setInterval(() => request.socket.write('x-drip: 1\r\n'), 20);
      request.socket.write('HTTP/1.1 200 OK\r\n');
      request.socket.on('error', () => {}).once('close', () => clearInterval(drip));
    });
    expect(await send(receiver.port, { deadlineMs: 400 })).toEqual({ kind: 'timeout', phase: 'exchange' });
  });

  it('holds also for a body that comes byte by byte', async () => {
    const receiver = await receive((response) => {
      const drip = setInterval(() => response.write('x'), 20);
      response.once('close', () => clearInterval(drip));
    });
    expect(await send(receiver.port, { deadlineMs: 400 })).toEqual({ kind: 'timeout', phase: 'answer' });
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('is not needed for a connection that takes more than three seconds', async () => {
    const { port } = await listen(() => {});
    const started = performance.now();
    expect(await send(port, { deadlineMs: 20_000 })).toEqual({ kind: 'timeout', phase: 'tls' });
    const took = performance.now() - started;
    expect(took).toBeGreaterThan(2500);
    expect(took).toBeLessThan(6000);
  });
});

describe('the bounds of an answer', () => {
  const endless: Answering = (response) => {
    const chunk = Buffer.alloc(16 * 1024, 'x');
    const more = () => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  };

  it('end an endless body, and its connection', async () => {
    const receiver = await receive(endless);
    expect(await send(receiver.port)).toEqual({ kind: 'response-too-large', part: 'body' });
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('do not matter to a caller that drops the body unread', async () => {
    const receiver = await receive(endless);
    const outcome = await send(receiver.port, { discardBody: true, maxResponseBytes: 0 });
    expect(outcome).toMatchObject({ kind: 'response', status: 200 });
    expect(outcome).not.toHaveProperty('body');
    await expect.poll(() => receiver.open()).toBe(0);
  });

  it('allow exactly the size they name', async () => {
    const receiver = await receive((response) => response.end('12345'));
    expect(await send(receiver.port, { maxResponseBytes: 5 })).toMatchObject({ kind: 'response' });
    const over = await send(receiver.port, { maxResponseBytes: 4 });
    expect(over).toEqual({ kind: 'response-too-large', part: 'body' });
  });

  it('cut headers at 16 KiB', async () => {
    const receiver = await receive((response) =>
      response.writeHead(200, { 'x-long': 'x'.repeat(17 * 1024) }).end(),
    );
    expect(await send(receiver.port)).toEqual({ kind: 'response-too-large', part: 'headers' });
  });
});

describe('a failure says where it happened', () => {
  it('at a closed port', async () => {
    const { port } = await startAndStop();
    expect(await send(port)).toEqual({ kind: 'connect-failure', code: 'ECONNREFUSED' });
  });

  it('at a peer that hangs up during the handshake', async () => {
    const { port } = await listen((socket) => socket.destroy());
    expect(await send(port)).toEqual({ kind: 'reset', phase: 'tls', code: 'ECONNRESET' });
  });

  it('at a peer that does not speak TLS', async () => {
    const { port } = await listen((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect(await send(port)).toMatchObject({ kind: 'tls-failure' });
  });

  it('at a peer that hangs up instead of answering, without a second connection', async () => {
    const receiver = await receive((response) => response.destroy());
    expect(await send(receiver.port)).toMatchObject({ kind: 'reset', phase: 'exchange' });
    expect(receiver.connections()).toBe(1);
  });

  it.each([
    ['of unknown length', {}],
    ['of announced length', { 'content-length': '100' }],
  ])('at a peer that hangs up in the middle of a body %s', async (_what, headers) => {
    const receiver = await receive((response) => {
      response.writeHead(200, headers).write('half', () => response.destroy());
    });
    expect(await send(receiver.port)).toMatchObject({ kind: 'reset', phase: 'answer' });
  });

  it('at a peer that answers something else than HTTP', async () => {
    const receiver = await receive((_response, _seen, request) => request.socket.end('SSH-2.0-x\r\n\r\n'));
    expect(await send(receiver.port)).toMatchObject({ kind: 'malformed-response' });
  });

  it('at a caller that gives up meanwhile', async () => {
    const caller = new AbortController();
    const receiver = await receive(() => caller.abort());
    expect(await send(receiver.port, { signal: caller.signal })).toEqual({ kind: 'aborted' });
    await expect.poll(() => receiver.open()).toBe(0);
  });
});

/** A port that was free a moment ago. */
async function startAndStop(): Promise<{ port: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return { port };
}
