import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';

export interface LoopbackServer {
  readonly port: number;
  readonly url: string;
  readonly server: Server;
  /** No new connection from now on; those still open are cut. Resolves when the port is closed. */
  close(): Promise<void>;
}

/** An HTTP server on 127.0.0.1 only; port 0 takes any free one. Rejects when the port is taken. */
export function listenOnLoopback(listener: RequestListener, port = 0): Promise<LoopbackServer> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      const address = server.address();
      const bound = typeof address === 'object' && address ? address.port : port;
      resolve({
        port: bound,
        url: `http://127.0.0.1:${bound}`,
        server,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}

/** The whole body, or undefined when it is longer than `maxBytes` (the rest is read and dropped). */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  return length <= maxBytes ? Buffer.concat(chunks) : undefined;
}
