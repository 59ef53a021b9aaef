import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  type A2AClient,
  type A2AClientOptions,
  type ClientLimits,
  type ClientTimeouts,
  createA2AClient,
  type StreamItem,
} from '../../shared/client/index.ts';
import { type CallPolicy, createGuard, type Guard } from '../../shared/guard/index.ts';
import type { Message } from '../../shared/protocol/index.ts';
import type { Clock } from '../../shared/runtime/ports.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import type { ServerIdentity } from '../guard/certificates.ts';

/** A request as it arrived. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Name and value by turns, as they stood on the wire. */
  readonly rawHeaders: readonly string[];
  readonly text: string;
  /** The JSON-RPC request; `{}` where there was none. */
  readonly rpc: {
    readonly id?: unknown;
    readonly method?: string;
    readonly params?: Record<string, unknown>;
  };
}

export type Reply = (response: ServerResponse, seen: Seen) => void | Promise<void>;

export interface FakeAgent extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly seen: Seen[];
  /** Connections open now. */
  readonly open: () => number;
}

/** A remote agent on 127.0.0.1 that answers the n-th request with the n-th reply, and all further ones with the last. */
export async function startAgent(
  replies: Reply | readonly Reply[],
  identity?: ServerIdentity,
): Promise<FakeAgent> {
  const script = [replies].flat();
  const seen: Seen[] = [];
  let open = 0;
  const server = identity ? createTlsServer(identity) : createServer();
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
  });
  server.on('request', async (request, response: ServerResponse) => {
    try {
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += chunk;
      const { method = '', url: path = '', headers, rawHeaders } = request;
      const record: Seen = {
        method,
        path,
        headers,
        rawHeaders,
        text,
        rpc: text === '' ? {} : JSON.parse(text),
      };
      seen.push(record);
      await (script[seen.length - 1] ?? script.at(-1))?.(response, record);
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}/rpc`,
    seen,
    open: () => open,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A JSON-RPC result, with the id of the request unless another is named. */
export function result(value: unknown, over: Record<string, unknown> = {}): Reply {
  return json(200, (seen) => ({ jsonrpc: '2.0', id: seen.rpc.id, result: value, ...over }));
}

export function error(code: number, more: Record<string, unknown> = {}, status = 200): Reply {
  return json(status, (seen) => ({
    jsonrpc: '2.0',
    id: seen.rpc.id,
    error: { code, message: 'no', ...more },
  }));
}

export function json(
  status: number,
  body: (seen: Seen) => unknown,
  headers: Record<string, string> = {},
): Reply {
  return (response, seen) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body(seen)));
  };
}

export function raw(status: number, body: string, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
}

/** A stream of these results; `cut` drops the connection after the last instead of ending the answer. */
export function stream(
  events: ReadonlyArray<{ readonly result: unknown; readonly id?: string }>,
  { cut = false, prefix = '' }: { cut?: boolean; prefix?: string } = {},
): Reply {
  return async (response, seen) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const text = events
      .map((event) => {
        const data = JSON.stringify({ jsonrpc: '2.0', id: seen.rpc.id, result: event.result });
        return `${event.id ? `id: ${event.id}\n` : ''}data: ${data}\n\n`;
      })
      .join('');
    await new Promise((resolve) => response.write(`${prefix}: begin\n\n${text}`, resolve));
    if (cut) response.destroy();
    else response.end();
  };
}

/** Writes the same block again and again, no faster than it is read, until `total` bytes or nobody reads any more. */
export async function flood(
  response: ServerResponse,
  block: string | Uint8Array,
  total = Number.POSITIVE_INFINITY,
): Promise<void> {
  const gone = new Promise((resolve) => response.once('close', resolve));
  for (let sent = 0; sent < total && !response.destroyed; sent += block.length) {
    if (response.write(block)) continue;
    await Promise.race([gone, new Promise((resolve) => response.once('drain', resolve))]);
  }
}

export function never(): Reply {
  return () => {};
}

export const POLICY: CallPolicy = { purpose: 'remote-agent' };
export const loopbackGuard: Guard = createGuard({ ownHosts: [], allowLoopback: true });

/** Time runs, but nobody waits: every sleep is over at once and moves the clock on. */
export class ImpatientClock implements Clock {
  #now = Date.UTC(2026, 10, 30);
  readonly slept: number[] = [];

  now(): number {
    return this.#now;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (signal?.aborted) return;
    this.slept.push(ms);
    this.#now += Math.max(0, ms);
  }
}

/** Time stands still; sleeps that can be called off last until they are. */
export const frozenClock: Clock = {
  now: () => Date.UTC(2026, 10, 30),
  async sleep(_, signal) {
    if (signal) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  },
};

interface ClientChanges extends Partial<Omit<A2AClientOptions, 'timeouts' | 'limits'>> {
  readonly tenant?: string;
  readonly timeouts?: Partial<ClientTimeouts>;
  readonly limits?: Partial<ClientLimits>;
}

export function clientOf(
  agent: Pick<FakeAgent, 'url'>,
  { tenant, ...changes }: ClientChanges = {},
): A2AClient {
  const target = { url: agent.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' };
  return createA2AClient({
    guard: loopbackGuard,
    policy: POLICY,
    interface: tenant === undefined ? target : { ...target, tenant },
    clock: systemClock,
    random: { fraction: () => 0 },
    ...changes,
  });
}

export async function collect(items: AsyncIterable<StreamItem>): Promise<StreamItem[]> {
  const all: StreamItem[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export const MESSAGE: Message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] };

export function task(state: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { id: 't-1', contextId: 'c-1', status: { state }, ...more };
}

export function status(state: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { statusUpdate: { taskId: 't-1', contextId: 'c-1', status: { state, ...more } } };
}

export function card(url: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'Agent',
    description: 'An agent.',
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    ...more,
  };
}
