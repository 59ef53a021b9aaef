import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gatewayCard, signCard } from '../../shared/cards/index.ts';
import { encodeAgentCard } from '../../shared/protocol/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import { inputOf, memorySigner, profileOf } from '../cards/samples.ts';
import {
  card,
  error,
  type FakeAgent,
  json,
  type Reply,
  raw,
  result,
  startAgent,
} from '../client/fake-agent.ts';
import { type AdminFunction, createAdminFunction } from './handler-rig.ts';
import { ADA } from './installation.ts';

const CREDENTIAL = 'the-agents-own-credential';
const NO_TASK = error(-32001);

let admin: AdminFunction;
let agent: FakeAgent;
/** What the agent answers for its card, and to a call. */
let cardReply: Reply;
let rpcReply: Reply;

beforeEach(async () => {
  agent = await startAgent((response, seen) =>
    (seen.method === 'GET' ? cardReply : rpcReply)(response, seen),
  );
  cardReply = json(200, () => card(agent.url));
  rpcReply = NO_TASK;
  admin = createAdminFunction();
});
afterEach(() => agent[Symbol.asyncDispose]());

const cardUrl = () => new URL('/.well-known/agent-card.json', agent.url).href;
const add = (more: object = {}) =>
  admin.run('agent.add', { agent: { id: 'far', cardUrl: cardUrl(), credential: CREDENTIAL, ...more } });
const stored = async () =>
  (await admin.store.get('registry', keys.agent('far'), { consistent: true }))?.['data'] as
    | Record<string, unknown>
    | undefined;
const offering = (...interfaces: object[]) =>
  json(200, () => card(agent.url, { supportedInterfaces: interfaces }));
const at = (url: string, more: object = {}) => ({
  url,
  protocolBinding: 'JSONRPC',
  protocolVersion: '1.0',
  ...more,
});

describe('registering a remote agent', () => {
  it('reads the card without the credential and pins its first compatible interface', async () => {
    cardReply = offering(
      at('https://grpc.example.com/', { protocolBinding: 'GRPC' }),
      at(agent.url, { protocolVersion: '0.3' }),
      at(agent.url, { protocolVersion: '1.0.3', tenant: 'acme' }),
      at(`${agent.url}/second`),
    );
    const { result: added } = await add();
    expect(added.agent).toMatchObject({
      id: 'far',
      name: 'Agent',
      description: 'An agent.',
      credential: '***',
      push: 'embedded',
      disabled: false,
      cardKey: 'none',
      interface: { url: agent.url, protocolVersion: '1.0.3', tenant: 'acme' },
    });
    expect(agent.seen).toHaveLength(1);
    expect(agent.seen[0]).toMatchObject({ method: 'GET', headers: { 'a2a-version': '1.0' } });
    expect(agent.seen[0]?.headers).not.toHaveProperty('authorization');
  });

  it('keeps the credential sealed, and out of answers, audit and log', async () => {
    await add();
    const kept = await stored();
    expect(Object.keys(kept?.['credential'] as object).sort()).toEqual(['epoch', 'salt', 'sealed']);
    await admin.run('agent.list');
    await admin.run('agent.show', { id: 'far' });
    await admin.run('agent.test', { id: 'far' });
    const everything = JSON.stringify(await admin.items(), (_name, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    );
    for (const text of [everything, ...admin.answers, JSON.stringify(admin.log.lines)]) {
      expect(text).not.toContain(CREDENTIAL);
    }
    expect(await admin.audits()).toMatchObject([
      { actor: ADA, operation: 'agent.add', kind: 'agent', id: 'far', edition: 1 },
    ]);
  });

  it('looks for the card of a host at its place', async () => {
    expect(await add({ cardUrl: new URL(agent.url).origin })).toMatchObject({
      result: { agent: { cardUrl: cardUrl() } },
    });
    expect(agent.seen[0]?.path).toBe('/.well-known/agent-card.json');
  });

  it('goes by the administrator’s words before the card’s, and warns of what the card leaves out', async () => {
    cardReply = json(200, () => ({ ...card(agent.url), skills: undefined }));
    const { result: added } = await add({
      name: 'Far',
      description: 'Far away.',
      waitSeconds: 60,
      push: 'off',
    });
    expect(added.agent).toMatchObject({
      name: 'Far',
      description: 'Far away.',
      waitSeconds: 60,
      push: 'off',
    });
    expect(added.warnings).toEqual(['the card leaves out skills, which A2A 1.0 requires']);
  });

  it('takes an interface elsewhere only where the administrator allowed that origin', async () => {
    const elsewhere = agent.url.replace('127.0.0.1', 'localhost');
    cardReply = offering(at(elsewhere));
    const refused = await add();
    expect(refused.error).toMatchObject({ code: 'REFUSED', field: 'cardUrl' });
    expect(refused.error?.message).toContain(new URL(elsewhere).origin);
    expect(await stored()).toBeUndefined();
    expect(await add({ allowedOrigins: [new URL(elsewhere).origin] })).toMatchObject({
      result: { agent: { interface: { url: elsewhere } } },
    });
  });

  it('verifies the card against a pinned key', async () => {
    const signer = await memorySigner();
    const { kid: _, ...key } = await signer.publicKey();
    const base = new URL(agent.url).origin;
    const signed = await signCard(
      gatewayCard({ ...inputOf({ profiles: [profileOf({})] }), baseUrl: base }),
      signer,
      `${base}/.well-known/jwks.json`,
    );
    cardReply = json(200, () => encodeAgentCard(signed));
    expect(await add({ cardKey: key })).toMatchObject({ result: { agent: { cardKey: 'pinned' } } });
    expect(await admin.run('agent.test', { id: 'far' })).toMatchObject({
      result: {
        checks: expect.arrayContaining([expect.objectContaining({ check: 'signature', outcome: 'ok' })]),
      },
    });
    cardReply = json(200, () => ({ ...encodeAgentCard(signed), name: 'Another' }));
    const { result: tested } = await admin.run('agent.test', { id: 'far' });
    expect(tested).toMatchObject({ ok: false, checks: [{ check: 'signature', outcome: 'failed' }, {}] });
    expect(await admin.run('agent.refresh', { id: 'far' })).toMatchObject({
      error: { code: 'REFUSED', field: 'cardKey' },
    });
  });

  const pinned = { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) };
  it.each<readonly [string, () => Reply, object, string, string]>([
    [
      'nothing it can speak',
      () =>
        offering(
          at('https://a.example.com', { protocolBinding: 'GRPC' }),
          at('https://b.example.com', { protocolVersion: '0.3.0' }),
        ),
      {},
      'cardUrl',
      'no compatible interface: JSONRPC of version 1.0 is needed, and it offers GRPC 1.0, JSONRPC 0.3.0',
    ],
    ['no interface', () => offering(), {}, 'cardUrl', 'supportedInterfaces must not be empty'],
    [
      'an interface that the guard refuses',
      () => offering(at('https://10.0.0.1/rpc')),
      { allowedOrigins: ['https://10.0.0.1'] },
      'cardUrl',
      'has an address for a host',
    ],
    ['another status', () => raw(404, 'gone'), {}, 'cardUrl', 'status 404'],
    [
      'a redirect',
      () => raw(302, '', { location: 'https://example.com/' }),
      {},
      'cardUrl',
      'no redirect is followed',
    ],
    ['no JSON', () => raw(200, '<html>'), {}, 'cardUrl', 'is no card'],
    ['no card', () => json(200, () => ({ name: 'x' })), {}, 'cardUrl', 'supportedInterfaces'],
    ['no signature', () => json(200, () => card(agent.url)), { cardKey: pinned }, 'cardKey', 'not signed'],
    ['an end', () => (response) => void response.destroy(), {}, 'cardUrl', 'connection was lost'],
  ])(
    'refuses a card URL that answers %s, with the reason, and keeps nothing',
    async (_what, reply, more, field, why) => {
      cardReply = reply();
      const { error: refused } = await add(more);
      expect(refused).toMatchObject({ code: 'REFUSED', field });
      expect(refused?.message).toContain(why);
      expect(await admin.items()).toEqual([]);
    },
  );

  it.each([
    [{ cardUrl: 'http://agent.example.com' }, 'cardUrl'],
    [{ cardUrl: 'https://user@agent.example.com' }, 'cardUrl'],
    [{ credential: 'two words' }, 'credential'],
    [{ push: 'always' }, 'push'],
    [{ allowedOrigins: ['https://agent.example.com/path'] }, 'allowedOrigins[0]'],
    [{ allowedPorts: [0] }, 'allowedPorts[0]'],
    [{ waitSeconds: 0 }, 'waitSeconds'],
    [{ cardKey: { ...pinned, d: 'secret' } }, 'cardKey'],
    [{ cardKey: { ...pinned, crv: 'P-384' } }, 'cardKey.crv'],
    [{ interface: { url: 'https://elsewhere.example.com' } }, 'interface'],
    [{ id: 'Far' }, 'id'],
  ])('refuses %j before anything is fetched', async (more, field) => {
    expect((await add(more)).error).toMatchObject({ code: 'INVALID', field });
    expect(agent.seen).toEqual([]);
  });

  it('refuses an id that is taken, and reads no card for it', async () => {
    await add();
    expect((await add()).error).toMatchObject({ code: 'EXISTS' });
    expect(agent.seen).toHaveLength(1);
  });

  it('is refused where the client role is off', async () => {
    const off = createAdminFunction({}, { SEALPOST_DELEGATION_TABLE: undefined });
    for (const operation of ['agent.list', 'dependency.list']) {
      expect((await off.run(operation)).error).toMatchObject({
        code: 'REFUSED',
        message: expect.stringContaining('client role'),
      });
    }
  });
});

describe('changing a remote agent', () => {
  const set = (input: object) => admin.run('agent.set', { id: 'far', ...input });

  it('changes how steps are handed to it and where its interface may be, and reads no card', async () => {
    await add();
    const origins = ['https://rpc.example.com'];
    expect(await set({ push: 'separate', allowedOrigins: origins })).toMatchObject({
      result: {
        agent: { push: 'separate', allowedOrigins: origins, credential: '***' },
        changed: ['allowedOrigins', 'push'],
      },
    });
    expect((await set({ push: 'off' })).result).toMatchObject({ changed: ['push'] });
    expect(await stored()).toMatchObject({ push: 'off', allowedOrigins: origins });
    expect((await set({ allowedOrigins: [] })).result).toMatchObject({ changed: ['allowedOrigins'] });
    expect(agent.seen).toHaveLength(1);
    const audits = (await admin.audits()).filter(({ operation }) => operation === 'agent.set');
    expect(audits).toHaveLength(3);
    expect(audits[0]).toMatchObject({ actor: ADA, kind: 'agent', id: 'far' });
  });

  it('does not take the pinned interface’s origin away from under it', async () => {
    const elsewhere = 'https://rpc.example.com';
    cardReply = offering(at(`${elsewhere}/rpc`));
    await add({ allowedOrigins: [elsewhere] });
    expect((await set({ allowedOrigins: ['https://other.example.com'] })).error).toMatchObject({
      code: 'REFUSED',
      field: 'allowedOrigins',
      message: expect.stringContaining(elsewhere),
    });
    expect(await stored()).toMatchObject({ allowedOrigins: [elsewhere] });
    expect((await set({ push: 'off' })).error).toBeUndefined();
  });

  it.each([
    [{}, undefined],
    [{ push: 'always' }, 'push'],
    [{ allowedOrigins: ['https://agent.example.com/path'] }, 'allowedOrigins[0]'],
    [{ credential: 'x' }, 'credential'],
    [{ disabled: true }, 'disabled'],
  ])('refuses %j', async (input, field) => {
    await add();
    const { error: refused } = await set(input);
    expect(refused).toMatchObject({ code: 'INVALID', ...(field ? { field } : {}) });
  });

  it('is nothing that an unknown agent can be', async () => {
    expect((await set({ push: 'off' })).error).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('refreshing a remote agent', () => {
  it('asks by ETag, and changes nothing where the card still holds', async () => {
    cardReply = json(200, () => card(agent.url), { etag: '"v1"' });
    await add();
    cardReply = raw(304, '');
    expect(await admin.run('agent.refresh', { id: 'far' })).toMatchObject({
      result: { card: 'unchanged', changed: [] },
    });
    expect(agent.seen[1]?.headers).toMatchObject({ 'if-none-match': '"v1"' });
    expect(agent.seen[1]?.headers).not.toHaveProperty('authorization');
  });

  it('pins what the card offers now, and says what it was before', async () => {
    cardReply = json(200, () => card(agent.url), { etag: '"v1"' });
    await add();
    const moved = new URL('/v2', agent.url).href;
    cardReply = json(200, () => card(moved));
    expect(await admin.run('agent.test', { id: 'far' })).toMatchObject({
      result: {
        checks: expect.arrayContaining([expect.objectContaining({ check: 'interface', outcome: 'warning' })]),
      },
    });
    expect(await admin.run('agent.refresh', { id: 'far' })).toMatchObject({
      result: {
        card: 'read anew',
        changed: ['interface'],
        before: { url: agent.url },
        agent: { interface: { url: moved } },
      },
    });
    // A tag of a card that is not the one in force would have its successor taken for unchanged.
    expect(await stored()).not.toHaveProperty('cardEtag');
    expect((await admin.audits()).at(-1)).toMatchObject({ operation: 'agent.refresh' });
  });

  it('leaves everything as it was where the card went bad, and follows it nowhere else', async () => {
    await add();
    const before = await stored();
    cardReply = offering(at('https://elsewhere.example.com/rpc'));
    expect((await admin.run('agent.refresh', { id: 'far' })).error).toMatchObject({ code: 'REFUSED' });
    expect(await stored()).toEqual(before);
  });
});

describe('testing a remote agent', () => {
  const callOf = async () => {
    const { result: tested } = await admin.run('agent.test', { id: 'far' });
    return { ok: tested.ok, ...tested.checks.at(-1) };
  };

  it('asks for a task that nobody has, as the owner, and nothing else', async () => {
    cardReply = offering(at(agent.url, { tenant: 'acme' }));
    await add();
    expect(await callOf()).toMatchObject({ ok: true, check: 'call', outcome: 'ok' });
    const calls = agent.seen.filter(({ method }) => method === 'POST');
    expect(calls).toHaveLength(1);
    expect(calls[0]?.headers).toMatchObject({ authorization: `Bearer ${CREDENTIAL}`, 'a2a-version': '1.0' });
    expect(calls[0]?.rpc).toMatchObject({ method: 'GetTask', params: { tenant: 'acme', historyLength: 0 } });
    const audits = await admin.audits();
    expect(audits.map((audit) => audit['operation'])).toEqual(['agent.add']);
  });

  it.each<readonly [string, Reply, string]>([
    ['the credential is refused', raw(401, ''), 'does not accept the credential (401)'],
    ['the credential is refused by an error', error(-32000, {}, 401), 'does not accept the credential (401)'],
    ['it is not let in', raw(403, ''), '403'],
    ['there is nothing', raw(404, ''), 'no A2A interface'],
    ['the method is unknown', error(-32601), '-32601'],
    ['it fails', error(-32603), '-32603'],
    ['it answers no JSON', raw(200, 'hello'), 'no JSON'],
    ['it answers for another request', result({}, { id: 'x' }), 'another request'],
    ['it answers another task', result({ id: 't', status: { state: 'TASK_STATE_WORKING' } }), 'another task'],
    ['it redirects', raw(307, '', { location: 'https://example.com' }), 'no redirect is followed'],
    ['it hangs up', (response) => void response.destroy(), 'connection was lost'],
  ])('explains that %s', async (_what, reply, says) => {
    await add();
    rpcReply = reply;
    const call = await callOf();
    expect(call).toMatchObject({ ok: false, outcome: 'failed', says: expect.stringContaining(says) });
  });

  it('explains that a credential is wanted where none is known', async () => {
    await add({ credential: undefined });
    rpcReply = raw(401, '');
    expect((await callOf()).says).toContain('wants a credential');
    expect(agent.seen.at(-1)?.headers).not.toHaveProperty('authorization');
  });

  it('repeats nothing that the agent wrote', async () => {
    await add();
    rpcReply = error(-32050, { message: `you sent ${CREDENTIAL}`, data: [{ secret: 'words of the agent' }] });
    await callOf();
    for (const text of [...admin.answers, JSON.stringify(admin.log.lines)]) {
      expect(text).not.toContain(CREDENTIAL);
      expect(text).not.toContain('words of the agent');
    }
  });
});

describe('a registered remote agent', () => {
  it('is called with its new credential alone once it was rotated', async () => {
    await add();
    expect(await admin.run('agent.rotate', { id: 'far', credential: 'a-newer-one' })).toMatchObject({
      result: { agent: { credential: '***' }, changed: ['credential'] },
    });
    await admin.run('agent.test', { id: 'far' });
    expect(agent.seen.at(-1)?.headers.authorization).toBe('Bearer a-newer-one');
    expect(JSON.stringify(await admin.audits())).not.toContain('a-newer-one');
  });

  it('is disabled and enabled, each with an audit entry', async () => {
    await add();
    expect((await admin.run('agent.disable', { id: 'far' })).result.agent.disabled).toBe(true);
    expect((await admin.run('agent.enable', { id: 'far' })).result.agent.disabled).toBe(false);
    const operations = (await admin.audits()).map((audit) => audit['operation']);
    expect(operations.sort()).toEqual(['agent.add', 'agent.disable', 'agent.enable']);
  });

  it('is removed, but not while a provider names it', async () => {
    await add();
    await admin.run('provider.put', {
      provider: { id: 'p', kind: 'function', functionName: 'f', agents: ['far'] },
    });
    expect((await admin.run('agent.show', { id: 'far' })).result.providers).toEqual(['p']);
    expect((await admin.run('agent.remove', { id: 'far' })).error).toMatchObject({
      code: 'REFUSED',
      message: expect.stringContaining('"p"'),
    });
    await admin.run('provider.put', { provider: { id: 'p', kind: 'function', functionName: 'f' } });
    expect(await admin.run('agent.remove', { id: 'far' })).toMatchObject({ result: { removed: 'far' } });
    expect(await stored()).toBeUndefined();
    expect((await admin.run('agent.remove', { id: 'far' })).error).toMatchObject({ code: 'NOT_FOUND' });
    const operations = (await admin.audits()).map((audit) => audit['operation']);
    expect(operations.filter((operation) => operation === 'agent.remove')).toHaveLength(1);
  });

  it.each(['show', 'test', 'refresh', 'disable', 'enable', 'remove'])('is looked for by %s', async (verb) => {
    for (const id of ['gone', 'No such Agent', 'x#y']) {
      expect((await admin.run(`agent.${verb}`, { id })).error).toMatchObject({ code: 'NOT_FOUND' });
    }
  });

  it('has to be there for a provider to name it, and still when a profile is published', async () => {
    expect(
      (await admin.run('provider.put', { provider: { id: 'p', kind: 'remote', agent: 'far' } })).error,
    ).toEqual({
      code: 'REFUSED',
      field: 'agent',
      message: 'agent: there is no remote agent "far"',
    });
    await add();
    const two = { id: 'f', kind: 'function', functionName: 'f', agents: ['far', 'gone'] };
    expect((await admin.run('provider.put', { provider: two })).error).toMatchObject({ field: 'agents[1]' });
    await admin.run('provider.put', { provider: { id: 'e', kind: 'echo' } });
    await admin.run('provider.put', { provider: { id: 'p', kind: 'remote', agent: 'far' } });
    const profile = { id: 'w', name: 'W', description: 'W.', providers: ['e', 'p'] };
    await admin.run('profile.put', { profile });
    await admin.store.write({ kind: 'delete', table: 'registry', key: keys.agent('far') });
    expect((await admin.run('profile.publish', { id: 'w' })).error).toMatchObject({
      code: 'REFUSED',
      field: 'providers[1]',
      message: expect.stringContaining('"far"'),
    });
  });
});
