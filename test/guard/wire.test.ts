import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createGuard, type GuardOptions, type RequestCall } from '../../shared/guard/index.ts';
import { type Authority, createAuthority, type ServerIdentity } from './certificates.ts';
import { type Answering, type Receiver, scriptedResolver, startReceiver } from './receiver.ts';

const HOST = 'hooks.example.com';
let authority: Authority;
let identity: ServerIdentity;
const receivers: Receiver[] = [];

beforeAll(async () => {
  authority = await createAuthority();
  identity = await authority.issue([HOST]);
});

afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});

async function receive(answer?: Answering, as: ServerIdentity = identity): Promise<Receiver> {
  const receiver = await startReceiver(as, answer);
  receivers.push(receiver);
  return receiver;
}

/** A guard whose resolver leads HOST to this machine, which counts as vetted for that name alone. */
function guardTo(
  answers: ReadonlyArray<readonly string[]> = [['127.0.0.1']],
  options: Partial<GuardOptions> = {},
) {
  const resolver = scriptedResolver({ [HOST]: answers });
  const defaults = { ownHosts: [], resolver, ca: [authority.ca], loopbackNames: [HOST] };
  return { guard: createGuard({ ...defaults, ...options }), resolver };
}

function post(port: number, changes: Partial<RequestCall> = {}): RequestCall {
  return {
    url: `https://${HOST}:${port}/hook?x=1`,
    policy: { purpose: 'webhook', allowedPorts: [port] },
    method: 'POST',
    headers: { authorization: 'Bearer c2VjcmV0', 'content-type': 'application/a2a+json' },
    body: '{"task":{}}',
    deadlineMs: 10_000,
    maxResponseBytes: 1024,
    ...changes,
  };
}

describe('one request', () => {
  it('resolves the name once, connects to what was vetted, and keeps name, SNI and Host', async () => {
    const receiver = await receive((response) =>
      response.writeHead(202, { 'x-a': ['1', '2'] }).end('thanks'),
    );
    const { guard, resolver } = guardTo([['127.0.0.1'], ['10.0.0.1']]);
    const outcome = await guard.request(post(receiver.port));
    expect(outcome).toMatchObject({ kind: 'response', status: 202, headers: { 'x-a': '1, 2' } });
    expect(outcome.kind === 'response' && Buffer.from(outcome.body ?? []).toString()).toBe('thanks');
    expect(resolver.asked).toEqual([HOST]);
    expect(receiver.connections()).toBe(1);
    expect(receiver.seen).toMatchObject([
      {
        method: 'POST',
        path: '/hook?x=1',
        body: '{"task":{}}',
        servername: HOST,
        protocol: 'http/1.1',
        headers: {
          host: `${HOST}:${receiver.port}`,
          authorization: 'Bearer c2VjcmV0',
          'content-length': '11',
        },
      },
    ]);

    const rebound = await guard.request(post(receiver.port));
    expect(rebound).toEqual({ kind: 'refused', rule: 'address', addressClass: 'private' });
    expect(receiver.connections()).toBe(1);
  });

  it('tries the next vetted address when one does not answer', async () => {
    const receiver = await receive();
    const { guard } = guardTo([['127.0.0.2', '127.0.0.1']]);
    expect(await guard.request(post(receiver.port))).toMatchObject({ kind: 'response', status: 200 });
  });

  it('speaks HTTP/1.1 also to a server that prefers HTTP/2', async () => {
    const receiver = await startReceiver(identity, undefined, { ALPNProtocols: ['h2', 'http/1.1'] });
    receivers.push(receiver);
    expect(await guardTo().guard.request(post(receiver.port))).toMatchObject({ kind: 'response' });
    expect(receiver.seen[0]?.protocol).toBe('http/1.1');
  });

  it('does not decompress what it receives', async () => {
    const zipped = gzipSync('x'.repeat(100_000));
    const receiver = await receive((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped),
    );
    const outcome = await guardTo().guard.request(post(receiver.port));
    expect(outcome.kind === 'response' && Buffer.from(outcome.body ?? []).equals(zipped)).toBe(true);
  });

  it.each([
    [302, 'to a loopback URL', (port: number) => `https://127.0.0.1:${port}/`],
    [307, 'to the metadata address', () => 'http://169.254.169.254/latest/meta-data/'],
    [307, 'to another name', (port: number) => `https://elsewhere.example.com:${port}/`],
  ])('does not follow a %i %s', async (status, _where, location) => {
    const second = await receive();
    const receiver = await receive((response) =>
      response.writeHead(status, { location: location(second.port) }).end(),
    );
    const { guard, resolver } = guardTo();
    expect(await guard.request(post(receiver.port))).toMatchObject({ kind: 'response', status });
    expect(receiver.seen).toHaveLength(1);
    expect(second.connections()).toBe(0);
    expect(resolver.asked).toEqual([HOST]);
  });
});

describe('no packet is sent', () => {
  it.each([
    ['a name that resolves to 127.0.0.1', [['127.0.0.1']], 'loopback'],
    ['a set with one bad address', [['8.8.8.8', '127.0.0.1']], 'loopback'],
    ['a name that resolves to the metadata address', [['169.254.169.254']], 'link-local'],
    ['a name that resolves to an IPv4-mapped address', [['::ffff:127.0.0.1']], 'embedded-ipv4'],
  ])('to %s', async (_what, answers, addressClass) => {
    const receiver = await receive();
    const { guard } = guardTo(answers, { loopbackNames: [] });
    expect(await guard.request(post(receiver.port))).toEqual({
      kind: 'refused',
      rule: 'address',
      addressClass,
    });
    expect(receiver.connections()).toBe(0);
  });

  it.each(['127.0.0.1', '2130706433', '127.1', '[::ffff:7f00:1]', 'hooks.example.com@127.0.0.1'])(
    'to https://%s, for which undici would call no look-up',
    async (authorityText) => {
      const receiver = await receive();
      const { guard, resolver } = guardTo();
      const call = post(receiver.port, { url: `https://${authorityText}:${receiver.port}/` });
      expect(await guard.request(call)).toMatchObject({ kind: 'refused' });
      expect(receiver.connections()).toBe(0);
      expect(resolver.asked).toEqual([]);
    },
  );

  it.each([
    ['CR LF in the credential', { authorization: 'Bearer a\r\nX-Injected: 1' }],
    ['a NUL in the credential', { authorization: 'Bearer a\0' }],
    ['a non-ASCII credential', { authorization: 'Bearer \u00e4' }],
    ['a header name with a line end', { 'x\r\ny': '1' }],
    ['a Host header', { Host: 'internal.example.com' }],
    ['a framing header', { 'transfer-encoding': 'chunked' }],
    ['a proxy header', { 'proxy-authorization': 'Basic eA==' }],
  ] as ReadonlyArray<[string, Record<string, string>]>)('with %s', async (_what, headers) => {
    const receiver = await receive();
    const { guard, resolver } = guardTo();
    expect(await guard.request(post(receiver.port, { headers }))).toEqual({
      kind: 'refused',
      rule: 'header',
    });
    expect(receiver.connections()).toBe(0);
    expect(resolver.asked).toEqual([]);
  });

  it('when the name has no address now, which is not a refusal', async () => {
    const receiver = await receive();
    const empty = await guardTo([[]]).guard.request(post(receiver.port));
    expect(empty).toEqual({ kind: 'dns-failure', reason: 'empty' });
    const { guard } = guardTo([], { resolver: scriptedResolver({}) });
    expect(await guard.request(post(receiver.port))).toEqual({ kind: 'dns-failure', reason: 'not-found' });
    expect(receiver.connections()).toBe(0);
  });

  it('when the caller had given up before', async () => {
    const receiver = await receive();
    const { guard, resolver } = guardTo();
    const outcome = await guard.request(post(receiver.port, { signal: AbortSignal.abort() }));
    expect(outcome).toEqual({ kind: 'aborted' });
    expect([resolver.asked, receiver.connections()]).toEqual([[], 0]);
  });
});

describe('the certificate', () => {
  it('for another name is refused before anything is sent', async () => {
    const receiver = await receive(undefined, await authority.issue(['other.example.com']));
    const outcome = await guardTo().guard.request(post(receiver.port));
    expect(outcome).toEqual({ kind: 'tls-failure', code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect(receiver.seen).toEqual([]);
  });

  it('of an authority that is not trusted is refused before anything is sent', async () => {
    const receiver = await receive(undefined, await (await createAuthority()).issue([HOST]));
    const outcome = await guardTo().guard.request(post(receiver.port));
    expect(outcome).toMatchObject({ kind: 'tls-failure' });
    expect(receiver.seen).toEqual([]);
  });

  it('of a private authority is refused unless that authority was handed in by code', async () => {
    const receiver = await receive();
    const resolver = scriptedResolver({ [HOST]: [['127.0.0.1']] });
    const guard = createGuard({ ownHosts: [], resolver, loopbackNames: [HOST] });
    expect(await guard.request(post(receiver.port))).toMatchObject({ kind: 'tls-failure' });
    expect(receiver.seen).toEqual([]);
  });
});
