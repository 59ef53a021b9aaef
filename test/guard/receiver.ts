import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { AddressResolver, Resolution } from '../../shared/guard/index.ts';
import type { ServerIdentity } from './certificates.ts';

/** A request as it arrived, body read whole. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The name the client asked for in the TLS handshake. */
  readonly servername: string | false | null | undefined;
  readonly protocol: string | false | null;
}

/** A real HTTPS server on a free port of 127.0.0.1. */
export interface Receiver {
  readonly port: number;
  /** Requests whose body arrived, in order. */
  readonly seen: Seen[];
  /** TCP connections ever accepted: what "no packet" is measured by. */
  readonly connections: () => number;
  /** TCP connections open now. */
  readonly open: () => number;
  close(): Promise<void>;
}

/** How a receiver answers one request; it has been read and recorded by then. */
export type Answering = (response: ServerResponse, seen: Seen, request: IncomingMessage) => void;

/** Starts a receiver that answers 200 with an empty body unless told otherwise. */
export async function startReceiver(
  identity: ServerIdentity,
  answer: Answering = (response) => response.end(),
  options: ServerOptions = {},
): Promise<Receiver> {
  const seen: Seen[] = [];
  let connections = 0;
  let open = 0;
  const listener: RequestListener = async (request, response) => {
    try {
      const record = await read(request);
      seen.push(record);
      answer(response, record, request);
    } catch {
      // The client went away while it was sending; there is nobody to answer.
    }
  };
  const server = createServer({ ...options, ...identity }, listener);
  server.on('connection', (socket) => {
    connections += 1;
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    connections: () => connections,
    open: () => open,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A resolver whose answers are written down: the n-th look-up of a name gets the n-th list, then the last again. */
export function scriptedResolver(
  script: Readonly<Record<string, ReadonlyArray<readonly string[]>>>,
): AddressResolver & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async resolve(name): Promise<Resolution> {
      const turn = asked.filter((earlier) => earlier === name).length;
      asked.push(name);
      const addresses = script[name]?.[turn] ?? script[name]?.at(-1);
      return addresses ? { kind: 'answers', addresses } : { kind: 'dns-failure', reason: 'not-found' };
    },
  };
}

async function read(request: IncomingMessage): Promise<Seen> {
  const { servername, alpnProtocol } = request.socket as TLSSocket;
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  const { method = '', url: path = '', headers } = request;
  return { method, path, headers, body, servername, protocol: alpnProtocol };
}
