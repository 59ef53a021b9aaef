import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createGuard, type Outcome } from '../../shared/guard/index.ts';
import { type Authority, createAuthority } from './certificates.ts';
import { type Receiver, scriptedResolver, startReceiver } from './receiver.ts';

const HOST = 'hooks.example.com';
const program = fileURLToPath(new URL('./send-once.ts', import.meta.url));
let authority: Authority;
let receiver: Receiver;
let proxy: Receiver;
let directory: string;

beforeAll(async () => {
  authority = await createAuthority();
  const identity = await authority.issue([HOST]);
  receiver = await startReceiver(identity);
  // A dead proxy that counts: whatever connects to it is noticed and hung up on.
  proxy = await startReceiver(identity, (response) => response.destroy());
  directory = await mkdtemp(join(tmpdir(), 'guard-'));
});

afterAll(async () => {
  await Promise.all([receiver.close(), proxy.close(), rm(directory, { recursive: true })]);
});

beforeEach(() => {
  receiver.seen.length = 0;
});

async function sendWith(env: Record<string, string>, ca: string | undefined): Promise<Outcome> {
  const argument = JSON.stringify({ port: receiver.port, host: HOST, ca });
  const child = promisify(execFile)(process.execPath, [program, argument], {
    env: { ...process.env, ...env },
  });
  return JSON.parse((await child).stdout);
}

describe('the environment', () => {
  it('cannot put a proxy in between', async () => {
    const url = `http://127.0.0.1:${proxy.port}`;
    const names = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];
    const env = {
      ...Object.fromEntries(names.map((name) => [name, url])),
      NODE_USE_ENV_PROXY: '1',
      NO_PROXY: '',
    };
    expect(await sendWith(env, authority.ca)).toMatchObject({ kind: 'response', status: 200 });
    expect(receiver.seen).toHaveLength(1);
    expect(proxy.connections()).toBe(0);
  });

  it('cannot switch off the certificate check', async () => {
    const outcome = await sendWith({ NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' }, undefined);
    expect(outcome).toMatchObject({ kind: 'tls-failure' });
    expect(receiver.seen).toEqual([]);
  });

  it('cannot add an authority', async () => {
    const file = join(directory, 'ca.pem');
    await writeFile(file, authority.ca);
    const outcome = await sendWith({ NODE_EXTRA_CA_CERTS: file, SSL_CERT_FILE: file }, undefined);
    expect(outcome).toMatchObject({ kind: 'tls-failure' });
    expect(receiver.seen).toEqual([]);
  });
});

it('a global dispatcher is not used', async () => {
  const before = getGlobalDispatcher();
  let dialled = 0;
  const spy = new Agent({
    connect: (_options, callback) => {
      dialled += 1;
      callback(new Error('a global dispatcher was used'), null);
    },
  });
  setGlobalDispatcher(spy);
  try {
    const resolver = scriptedResolver({ [HOST]: [['127.0.0.1']] });
    const guard = createGuard({ ownHosts: [], resolver, ca: [authority.ca], loopbackNames: [HOST] });
    const url = `https://${HOST}:${receiver.port}/`;
    const policy = { purpose: 'webhook', allowedPorts: [receiver.port] } as const;
    const call = {
      url,
      policy,
      method: 'GET',
      headers: {},
      deadlineMs: 10_000,
      maxResponseBytes: 1024,
    } as const;
    expect(await guard.request(call)).toMatchObject({ kind: 'response', status: 200 });
    expect(dialled).toBe(0);
  } finally {
    setGlobalDispatcher(before);
    await spy.destroy();
  }
});
