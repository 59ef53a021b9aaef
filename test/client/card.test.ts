import { describe, expect, it } from 'vitest';
import {
  type CachedCard,
  type CardCache,
  type FetchCardOptions,
  fetchAgentCard,
} from '../../shared/client/index.ts';
import { createGuard } from '../../shared/guard/index.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import {
  card,
  type FakeAgent,
  flood,
  json,
  loopbackGuard,
  never,
  POLICY,
  raw,
  startAgent,
} from './fake-agent.ts';

const AT = 'https://agent.example.com/rpc';

function fetchFrom(agent: Pick<FakeAgent, 'url'>, options: Partial<FetchCardOptions> = {}) {
  return fetchAgentCard({
    guard: loopbackGuard,
    policy: POLICY,
    clock: systemClock,
    url: agent.url,
    ...options,
  });
}

function memoryCache(): CardCache & { readonly cards: Map<string, CachedCard> } {
  const cards = new Map<string, CachedCard>();
  return {
    cards,
    get: async (url) => cards.get(url),
    put: async (url, entry) => void cards.set(url, entry),
  };
}

describe('fetching a card', () => {
  it('is a GET with the version header and without any credential (V02)', async () => {
    await using agent = await startAgent(json(200, () => card(AT)));
    expect(await fetchFrom(agent)).toMatchObject({
      kind: 'card',
      card: { name: 'Agent' },
      missing: [],
      isNew: true,
      isVerified: false,
    });
    expect(agent.seen[0]).toMatchObject({
      method: 'GET',
      text: '',
      headers: { 'a2a-version': '1.0', accept: 'application/json' },
    });
    expect(agent.seen[0]?.headers).not.toHaveProperty('authorization');
    expect(agent.seen[0]?.headers).not.toHaveProperty('cookie');
  });

  it('goes through the guard', async () => {
    await using agent = await startAgent(never());
    const outcome = await fetchFrom(agent, { guard: createGuard({ ownHosts: [] }) });
    expect(outcome).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'refused', rule: 'scheme' },
      retryable: false,
    });
    expect(agent.seen).toEqual([]);
  });

  it.each([301, 302, 303, 307, 308])('follows no redirect (%i)', async (code) => {
    await using other = await startAgent(json(200, () => card(AT)));
    await using agent = await startAgent(raw(code, '', { location: other.url }));
    expect(await fetchFrom(agent)).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'redirect' },
      status: code,
      retryable: false,
    });
    expect(other.seen).toEqual([]);
  });

  it.each([
    [404, false],
    [401, false],
    [204, false],
    [429, true],
    [503, true],
  ])('with status %i is a transport error that may pass: %s', async (code, retryable) => {
    await using agent = await startAgent(raw(code, code === 204 ? '' : '<html>no', { 'retry-after': '5' }));
    expect(await fetchFrom(agent)).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'status' },
      status: code,
      retryable,
      retryAfterMs: 5000,
    });
  });

  it('reads at most 256 KiB (T07)', async () => {
    await using agent = await startAgent((response) => flood(response, `{"name":"${'x'.repeat(10_000)}`));
    expect(await fetchFrom(agent)).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'response-too-large' },
      retryable: false,
    });
    await expect.poll(agent.open).toBe(0);
  });

  it('ends after its time, or in silence', async () => {
    await using agent = await startAgent([never(), (response) => void response.writeHead(200).write('{')]);
    expect(await fetchFrom(agent, { timeouts: { totalMs: 100 } })).toMatchObject({
      failure: { kind: 'timeout', phase: 'exchange' },
      retryable: true,
    });
    expect(await fetchFrom(agent, { timeouts: { idleMs: 100 } })).toMatchObject({
      failure: { kind: 'timeout', phase: 'answer' },
    });
  });
});

describe('a card', () => {
  it.each(['name', 'supportedInterfaces', 'capabilities'])(
    'without %s is refused by that name (A02)',
    async (field) => {
      await using agent = await startAgent(json(200, () => card(AT, { [field]: undefined })));
      expect(await fetchFrom(agent)).toEqual({
        kind: 'invalid-card',
        violations: [{ field, description: 'is required' }],
      });
    },
  );

  it('without what an interface needs is refused by the path to it (A02)', async () => {
    const supportedInterfaces = [{ url: AT, protocolBinding: 'JSONRPC' }];
    await using agent = await startAgent(json(200, () => card(AT, { supportedInterfaces })));
    expect(await fetchFrom(agent)).toMatchObject({
      kind: 'invalid-card',
      violations: [{ field: 'supportedInterfaces[0].protocolVersion' }],
    });
  });

  it('without other REQUIRED fields is read, and they are named (A02)', async () => {
    const { name, supportedInterfaces, capabilities } = card(AT);
    await using agent = await startAgent(
      json(200, () => ({ name, supportedInterfaces, capabilities, version: null })),
    );
    expect(await fetchFrom(agent)).toMatchObject({
      kind: 'card',
      card: { description: '', skills: [] },
      missing: ['description', 'version', 'defaultInputModes', 'defaultOutputModes', 'skills'],
    });
  });

  it.each(['<html>', '[]', '"card"', '', '{"name":'])(
    'that is no JSON object is refused: %j',
    async (body) => {
      await using agent = await startAgent(raw(200, body));
      expect(await fetchFrom(agent)).toEqual({
        kind: 'invalid-card',
        violations: [{ field: 'card', description: 'must be a JSON object' }],
        excerpt: body,
      });
    },
  );

  it('of a newer version is read (E01)', async () => {
    const more = {
      carbonFootprint: 1,
      capabilities: { streaming: true, telepathy: true },
      securitySchemes: { new: { quantumScheme: {} } },
      skills: [{ id: 's', name: 's', description: 's', tags: [], level: 9 }],
    };
    await using agent = await startAgent(json(200, () => card(AT, more)));
    const outcome = await fetchFrom(agent);
    expect(outcome).toMatchObject({
      kind: 'card',
      card: { securitySchemes: { new: {} }, skills: [{ id: 's' }] },
      missing: [],
    });
    expect(JSON.stringify(outcome)).not.toMatch(/carbon|telepathy|level/);
  });
});

describe('a cache of cards', () => {
  it('saves the card from being sent again while it holds', async () => {
    const cache = memoryCache();
    await using agent = await startAgent([
      json(200, () => card(AT), { etag: '"v1"' }),
      raw(304, ''),
      json(200, () => card(AT, { name: 'Renamed' }), { etag: 'W/"v2"' }),
      raw(304, ''),
    ]);
    const outcomes = [];
    for (let round = 0; round < 4; round++) outcomes.push(await fetchFrom(agent, { cache }));
    expect(agent.seen.map(({ headers }) => headers['if-none-match'])).toEqual([
      undefined,
      '"v1"',
      '"v1"',
      'W/"v2"',
    ]);
    expect(outcomes.map((outcome) => outcome.kind === 'card' && [outcome.card.name, outcome.isNew])).toEqual([
      ['Agent', true],
      ['Agent', false],
      ['Renamed', true],
      ['Renamed', false],
    ]);
    expect(agent.seen.every(({ headers }) => headers['a2a-version'] === '1.0')).toBe(true);
  });

  it.each(['', 'v1', '"é"', `"${'x'.repeat(300)}"`, '"a"b"'])(
    'keeps no card under a tag that cannot be sent back: %j',
    async (etag) => {
      const cache = memoryCache();
      await using agent = await startAgent((response) => {
        response.setHeader('etag', etag);
        response.end(JSON.stringify(card(AT)));
      });
      expect(await fetchFrom(agent, { cache })).toMatchObject({ kind: 'card' });
      expect(cache.cards.size).toBe(0);
    },
  );

  it('keeps no card that was refused', async () => {
    const cache = memoryCache();
    await using agent = await startAgent(json(200, () => ({ name: 'x' }), { etag: '"v1"' }));
    expect(await fetchFrom(agent, { cache })).toMatchObject({ kind: 'invalid-card' });
    expect(cache.cards.size).toBe(0);
  });

  it('is not needed for "not modified" to be no success', async () => {
    await using agent = await startAgent(raw(304, ''));
    expect(await fetchFrom(agent)).toMatchObject({ kind: 'transport-error', status: 304 });
  });
});
