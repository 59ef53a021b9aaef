import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createRoute } from '../../functions/admin/routes.ts';
import { runCommandLine } from '../../infra/cli/program.ts';
import type { Surroundings } from '../../infra/cli/surroundings.ts';
import { createInstallation, type Installation } from '../admin/installation.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface AdminEndpoint extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly gateway: Installation;
  readonly requests: readonly Received[];
  /** A folder that stands as the data folder of a running host does. */
  readonly folder: string;
  /** Decides who is let in; by default the bearer of the token. */
  admits: (request: Received) => boolean;
  /** Runs a command as from that folder's parent, and gives what came out. */
  run(
    words: readonly string[],
    change?: {
      readonly input?: string;
      readonly environment?: Record<string, string>;
      readonly terminal?: NonNullable<Surroundings['terminal']>;
      readonly sleep?: (ms: number) => Promise<void>;
    },
  ): Promise<Output>;
}

export interface Output {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The administrator's route on 127.0.0.1 with the real operations behind it, and a command line that finds it. */
export async function startAdminEndpoint(
  change: Parameters<typeof createInstallation>[0] = {},
): Promise<AdminEndpoint> {
  const gateway = createInstallation(change);
  const route = createRoute(gateway.admin);
  const requests: Received[] = [];
  const token = 'local-administrator-token';
  const server = createServer(async (request, response) => {
    const received: Received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: (await buffer(request)).toString('utf8'),
    };
    requests.push(received);
    if (!endpoint.admits(received)) {
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"message":"Forbidden"}');
      return;
    }
    const answer = await route({
      body: received.body,
      isBase64Encoded: false,
      requestContext: { requestId: 'r', identity: { userArn: 'arn:aws:iam::000000000000:user/local' } },
    });
    response.writeHead(answer.statusCode, answer.headers).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const home = await mkdtemp(join(tmpdir(), 'sealpost-cli-'));
  const folder = join(home, 'data');
  await mkdir(folder);
  await writeFile(join(folder, 'host.json'), JSON.stringify({ url, adminToken: token }));

  const endpoint: AdminEndpoint = {
    url,
    token,
    gateway,
    requests,
    folder,
    admits: ({ method, path, headers }) =>
      method === 'POST' && path === '/admin' && headers.authorization === `Bearer ${token}`,
    async run(words, { input = '', environment = {}, ...more } = {}) {
      const output = { out: '', err: '' };
      const code = await runCommandLine(words, {
        write: (text) => {
          output.out += text;
        },
        writeError: (text) => {
          output.err += text;
        },
        readInput: async () => input,
        environment,
        folder: home,
        ...more,
      });
      return { code, ...output };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(home, { recursive: true, force: true });
    },
  };
  return endpoint;
}
