import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Respond = (response: ServerResponse, seen: Seen) => void;

export interface FakeServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: Seen[];
  /** Resolves when a request has arrived in full. */
  readonly nextRequest: () => Promise<Seen>;
  respond: Respond;
}

/** An HTTP service on 127.0.0.1 that records what it is asked and answers as `respond` says at the time. */
export async function startFakeServer(respond: Respond = () => {}): Promise<FakeServer> {
  const requests: Seen[] = [];
  const waiting: ((seen: Seen) => void)[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const seen = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
    requests.push(seen);
    for (const wake of waiting.splice(0)) wake(seen);
    fake.respond(response, seen);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const fake: FakeServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    nextRequest: () => new Promise((resolve) => waiting.push(resolve)),
    respond,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return fake;
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Respond {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}
