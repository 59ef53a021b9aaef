import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CommandFailure } from './command-failure.ts';
import type { Surroundings } from './surroundings.ts';

/** Which gateway a command is for; at most one of `url`, `data` and `stack`. */
export interface TargetOptions {
  readonly url?: string;
  readonly data?: string;
  readonly stack?: string;
  readonly region?: string;
  readonly awsProfile?: string;
}

/** Sends one operation to a gateway and gives its result. Throws `CommandFailure`. */
export type Target = (operation: string, input: object) => Promise<object>;

/** Where requests go and what makes them an administrator's. */
export interface Endpoint {
  readonly url: URL;
  readonly headers: (body: string) => Promise<Readonly<Record<string, string>>>;
}

const DEFAULT_FOLDER = '.sealpost';
const HOST_FILE = 'host.json';
const TOKEN_VARIABLE = 'SEALPOST_ADMIN_TOKEN';
/** API Gateway gives up after 29 s. */
const TIMEOUT_MS = 60_000;
const loopback = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * The gateway that the options name: the host at a URL, the one that runs on a data folder (`./.sealpost` by default),
 * or a deployed stack, whose route is found in its outputs and signed for. Throws `CommandFailure`.
 */
export async function findTarget(options: TargetOptions, around: Surroundings): Promise<Target> {
  return sendTo(await findEndpoint(options, around));
}

async function findEndpoint(options: TargetOptions, around: Surroundings): Promise<Endpoint> {
  if (options.stack !== undefined) {
    // Loaded only here: these clients take longer to load than a command to a local host takes altogether.
    const { stackEndpoint } = await import('./stack-cloudformation.ts');
    return stackEndpoint(options.stack, options, around.environment);
  }
  if (options.url !== undefined) return urlEndpoint(options.url, around);
  const folder = options.data ?? DEFAULT_FOLDER;
  const host = await readHost(folder, around);
  if (!host)
    throw new CommandFailure(
      'NO_TARGET',
      options.data === undefined
        ? `no gateway runs on the folder ${DEFAULT_FOLDER} here; start one with "npm start -- --data ${DEFAULT_FOLDER}", or say which one with --data, --url or --stack`
        : `no gateway runs on the folder ${folder}; start one with "npm start -- --data ${folder}"`,
    );
  return bearerEndpoint(new URL(host.url), host.adminToken);
}

async function urlEndpoint(text: string, around: Surroundings): Promise<Endpoint> {
  if (!URL.canParse(text)) throw new CommandFailure('USAGE', '--url must be a URL', 'url');
  const url = new URL(text);
  // The token would cross the network in the clear.
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback.has(url.hostname)))
    throw new CommandFailure('USAGE', '--url must be https, or http on this machine', 'url');
  const host = await readHost(DEFAULT_FOLDER, around);
  const own = host && new URL(host.url).origin === url.origin ? host.adminToken : undefined;
  const token = around.environment[TOKEN_VARIABLE] ?? own;
  if (!token)
    throw new CommandFailure(
      'NO_TOKEN',
      `set ${TOKEN_VARIABLE} to the administrator's token of that host, or use --data`,
    );
  return bearerEndpoint(url, token);
}

/** What a running host leaves in its data folder, readable by its user only. */
async function readHost(
  folder: string,
  around: Surroundings,
): Promise<{ url: string; adminToken: string } | undefined> {
  let read: unknown;
  try {
    read = JSON.parse(await readFile(join(resolve(around.folder, folder), HOST_FILE), 'utf8'));
  } catch {
    return undefined;
  }
  const { url, adminToken } = (read ?? {}) as { readonly url?: unknown; readonly adminToken?: unknown };
  return typeof url === 'string' && URL.canParse(url) && typeof adminToken === 'string'
    ? { url, adminToken }
    : undefined;
}

function bearerEndpoint(base: URL, token: string): Endpoint {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/admin`;
  return { url, headers: async () => ({ authorization: `Bearer ${token}` }) };
}

function sendTo(endpoint: Endpoint): Target {
  return async (operation, input) => {
    const body = JSON.stringify({ operation, arguments: input });
    const headers = await endpoint.headers(body);
    let status: number;
    let text: string;
    try {
      const response = await fetch(endpoint.url, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
        // A redirect would carry token or signature somewhere else.
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      status = response.status;
      text = await response.text();
    } catch (error) {
      throw unreachable(endpoint.url, error);
    }
    return readAnswer(status, text);
  };
}

function unreachable(url: URL, error: unknown): CommandFailure {
  if (error instanceof Error && error.name === 'TimeoutError')
    return new CommandFailure(
      'TIMEOUT',
      `${url.origin} did not answer in time; look whether the change was made`,
    );
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
  const reason = cause && 'code' in cause ? String(cause.code) : (cause?.message ?? 'no connection');
  return new CommandFailure('UNREACHABLE', `no gateway answers at ${url.origin} (${reason}); is it running?`);
}

function readAnswer(status: number, text: string): object {
  const answer = parse(text);
  if (answer?.ok === true && isObject(answer.result)) return answer.result;
  if (answer?.ok === false && isObject(answer.error)) {
    const { code, message, field } = answer.error as Record<string, unknown>;
    throw new CommandFailure(String(code), String(message), typeof field === 'string' ? field : undefined);
  }
  if (status === 401 || status === 403)
    throw new CommandFailure(
      'FORBIDDEN',
      'the gateway does not take these credentials for an administrator’s',
    );
  throw new CommandFailure('UNEXPECTED_ANSWER', `the gateway answered with status ${status} and no result`);
}

function parse(text: string): { ok?: unknown; result?: unknown; error?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
