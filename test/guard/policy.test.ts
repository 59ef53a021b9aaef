import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type CallPolicy,
  checkCredential,
  createGuard,
  type GuardOptions,
  REFUSAL_MESSAGE,
} from '../../shared/guard/index.ts';
import { scriptedResolver } from './receiver.ts';

const PRIVATE = 'llm.corp.internal';
const webhook: CallPolicy = { purpose: 'webhook' };
const provider: CallPolicy = { purpose: 'provider', trustedHosts: [PRIVATE, 'vpce.example.com'] };

function guardWith(options: Partial<GuardOptions> = {}) {
  const resolver = scriptedResolver({ 'hooks.example.com': [['8.8.8.8']], [PRIVATE]: [['10.0.0.5']] });
  return { guard: createGuard({ ownHosts: ['gw.example.net'], resolver, ...options }), resolver };
}

describe('check', () => {
  it('says that a URL may be used, or which rule refuses it, and why it cannot say', async () => {
    const { guard } = guardWith();
    expect(await guard.check('https://hooks.example.com/', webhook)).toEqual({
      verdict: 'allow',
      rule: null,
    });
    const scheme = await guard.check('http://hooks.example.com/', webhook);
    expect(scheme).toEqual({ verdict: 'refuse', rule: 'scheme' });
    const unknown = await guard.check('https://nowhere.example.com/', webhook);
    expect(unknown).toEqual({ verdict: 'retry', rule: null, reason: 'not-found' });
  });

  it('judges the answers it is given and asks nobody', async () => {
    const { guard, resolver } = guardWith();
    const mixed = await guard.check('https://hooks.example.com/', webhook, {
      resolve: ['8.8.8.8', '10.0.0.1'],
    });
    expect(mixed).toEqual({ verdict: 'refuse', rule: 'address', addressClass: 'private' });
    const none = await guard.check('https://hooks.example.com/', webhook, { resolve: [] });
    expect(none).toEqual({ verdict: 'retry', rule: null, reason: 'empty' });
    expect(resolver.asked).toEqual([]);
  });
});

describe('an administrator', () => {
  it('can vouch for a private name of a provider', async () => {
    const { guard } = guardWith();
    expect(guard.checkText(`https://${PRIVATE}/v1`, provider)).toMatchObject({ verdict: 'allow' });
    expect(await guard.check(`https://${PRIVATE}/v1`, provider)).toMatchObject({ verdict: 'allow' });
    const vpce = await guard.check('https://vpce.example.com/', provider, { resolve: ['172.31.0.9'] });
    expect(vpce).toMatchObject({ verdict: 'allow' });
  });

  it('vouches for no other name, and never for loopback or metadata', async () => {
    const { guard } = guardWith();
    const other = await guard.check('https://other.example.com/', provider, { resolve: ['10.0.0.5'] });
    expect(other).toMatchObject({ verdict: 'refuse', addressClass: 'private' });
    for (const address of ['127.0.0.1', '169.254.169.254', 'fd00:ec2::254']) {
      const result = await guard.check(`https://${PRIVATE}/`, provider, { resolve: [address] });
      expect(result).toMatchObject({ verdict: 'refuse', rule: 'address' });
    }
  });

  it('cannot vouch for the host of a webhook, even where the types were got round', async () => {
    const { guard } = guardWith();
    const forged = { ...webhook, trustedHosts: [PRIVATE, 'vpce.example.com'] };
    expect(guard.checkText(`https://${PRIVATE}/`, forged)).toMatchObject({ rule: 'special-use' });
    const vpce = await guard.check('https://vpce.example.com/', forged, { resolve: ['10.0.0.5'] });
    expect(vpce).toMatchObject({ verdict: 'refuse', addressClass: 'private' });
  });
});

describe('the loopback permission', () => {
  const servers: Array<ReturnType<typeof createServer>> = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  async function plainServer(): Promise<{ port: number; hits: () => number }> {
    let hits = 0;
    const server = createServer((_request, response) => {
      hits += 1;
      response.end('ok');
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { port: (server.address() as AddressInfo).port, hits: () => hits };
  }

  const call = {
    policy: webhook,
    method: 'GET',
    headers: {},
    deadlineMs: 10_000,
    maxResponseBytes: 1024,
  } as const;

  it('opens http on any port of this machine, and asks no resolver for it', async () => {
    const { port, hits } = await plainServer();
    const { guard, resolver } = guardWith({ allowLoopback: true });
    for (const host of ['127.0.0.1', 'localhost']) {
      const outcome = await guard.request({ ...call, url: `http://${host}:${port}/` });
      expect(outcome).toMatchObject({ kind: 'response', status: 200 });
    }
    expect([hits(), resolver.asked]).toEqual([2, []]);
  });

  it('does not open this gateway itself, under whatever name of this machine', async () => {
    const { port, hits } = await plainServer();
    const { guard } = guardWith({ allowLoopback: true, ownHosts: [`127.0.0.1:${port}`] });
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
      const outcome = await guard.request({ ...call, url: `http://${host}:${port}/` });
      expect(outcome).toMatchObject({ kind: 'refused', rule: 'own-host' });
    }
    expect(hits()).toBe(0);
  });

  it('is off unless it was handed in', async () => {
    const { port, hits } = await plainServer();
    const { guard } = guardWith();
    for (const url of [
      `http://127.0.0.1:${port}/`,
      `http://localhost:${port}/`,
      `https://localhost:${port}/`,
    ]) {
      expect(await guard.request({ ...call, url })).toMatchObject({ kind: 'refused' });
    }
    expect(hits()).toBe(0);
  });

  it('opens no name that resolves to this machine', async () => {
    const { guard } = guardWith({ allowLoopback: true });
    const result = await guard.check('https://hooks.example.com/', webhook, { resolve: ['127.0.0.1'] });
    expect(result).toMatchObject({ verdict: 'refuse', addressClass: 'loopback' });
  });
});

describe('a credential', () => {
  it.each(['c2VjcmV0', 'a b~!"#', ''])('of printable ASCII is kept: %j', (value) => {
    expect(checkCredential(value)).toEqual({ verdict: 'allow' });
  });

  it.each(['a\r', 'a\nb', 'a\r\nX: 1', '\0', 'a\tb', '\x7f', '\u00e4', '\u{1f600}', '\ud800'])(
    'that no header can carry is refused at creation: %j',
    (value) => {
      expect(checkCredential(value)).toEqual({ verdict: 'refuse', rule: 'credential' });
    },
  );
});

it('a refusal tells a remote caller nothing but that', () => {
  expect(REFUSAL_MESSAGE).not.toMatch(/\d|address|private|resolve|port|host/i);
});
