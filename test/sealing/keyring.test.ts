import { describe, expect, it } from 'vitest';
import { createKeyring, type Keyring } from '../../shared/sealing/index.ts';
import { StoreUnavailable } from '../../shared/storage/index.ts';
import { steppedClock } from '../storage/clock.ts';
import { keyServiceDouble, registryDouble } from './doubles.ts';

const OCTOBER = Date.UTC(2026, 9, 31, 23, 59, 59);

function setUp(options: { maxKeys?: number } = {}) {
  const registry = registryDouble();
  const keyService = keyServiceDouble();
  const clock = steppedClock(OCTOBER);
  const ring = (): Keyring => createKeyring({ store: registry, keyService, clock, ...options });
  return { registry, keyService, clock, ring };
}

describe('a data key', () => {
  it('is made on first use, stored wrapped before it is handed out, and the same for every reader', async () => {
    const { registry, ring } = setUp();
    const { epoch, key } = await ring().current('acme', 'content');
    expect(epoch).toBe('202610');
    expect(key).toHaveLength(32);
    const [stored] = [...registry.items.values()];
    expect(Buffer.from(stored?.['wrapped'] as Uint8Array).includes(Buffer.from(key))).toBe(false);
    expect(await ring().get('acme', 'content', '202610')).toEqual(key);
    expect(await ring().current('acme', 'content')).toEqual({ epoch, key });
  });

  it('is not handed out when it could not be stored', async () => {
    const { registry, ring } = setUp();
    registry.before = (call) => {
      if (call === 'write') throw new StoreUnavailable('a put');
    };
    await expect(ring().current('acme', 'content')).rejects.toMatchObject({
      tag: 'KeyUnavailable',
      retryable: true,
    });
  });

  it('of this month is unwrapped by a function that starts cold, and no other is made', async () => {
    const { registry, keyService, ring } = setUp();
    const { key } = await ring().current('acme', 'content');
    expect(await ring().current('acme', 'content')).toEqual({ epoch: '202610', key });
    expect(keyService.calls).toEqual(['generate', 'unwrap']);
    expect(registry.calls).toEqual(['get', 'write', 'get']);
  });

  it('of another size than 32 bytes is not stored', async () => {
    const { registry, keyService, clock } = setUp();
    const short = {
      ...keyService,
      generate: async () => ({ plaintext: new Uint8Array(16), wrapped: new Uint8Array(9) }),
    };
    const keyring = createKeyring({ store: registry, keyService: short, clock });
    await expect(keyring.current('acme', 'content')).rejects.toThrow();
    expect(registry.items.size).toBe(0);
  });

  it('is another one for each client, purpose and month', async () => {
    const { clock, ring } = setUp();
    const keyring = ring();
    const made = [
      await keyring.current('acme', 'content'),
      await keyring.current('acme', 'push'),
      await keyring.current('bolt', 'content'),
    ];
    clock.advance(2_000);
    const next = await keyring.current('acme', 'content');
    expect(next.epoch).toBe('202611');
    const distinct = new Set([...made, next].map(({ key }) => Buffer.from(key).toString('hex')));
    expect(distinct.size).toBe(4);
    expect(await keyring.get('acme', 'content', '202610')).toEqual(made[0]?.key);
  });

  it('costs no request while it is warm', async () => {
    const { registry, keyService, ring } = setUp();
    const keyring = ring();
    await keyring.current('acme', 'content');
    const before = [registry.calls.length, keyService.calls.length];
    for (let n = 0; n < 5; n++) {
      await keyring.current('acme', 'content');
      await keyring.get('acme', 'content', '202610');
    }
    expect([registry.calls.length, keyService.calls.length]).toEqual(before);
  });

  it('is fetched once for all who wait for it', async () => {
    const { keyService, ring } = setUp();
    const first = ring();
    const made = await Promise.all(Array.from({ length: 20 }, () => first.current('acme', 'content')));
    expect(keyService.calls).toEqual(['generate']);
    const second = ring();
    const read = await Promise.all(Array.from({ length: 20 }, () => second.get('acme', 'content', '202610')));
    expect(keyService.calls).toEqual(['generate', 'unwrap']);
    expect(
      new Set([...made.map(({ key }) => key), ...read].map((key) => Buffer.from(key).toString('hex'))).size,
    ).toBe(1);
  });

  it('is one key when two functions make it at the same time', async () => {
    const { registry, keyService, ring } = setUp();
    // Neither writes before both have read that there is none.
    const both = Promise.withResolvers<void>();
    let writing = 0;
    registry.before = (call) => {
      if (call !== 'write') return;
      if (++writing === 2) both.resolve();
      return both.promise;
    };
    const [a, b] = await Promise.all([ring().current('acme', 'content'), ring().current('acme', 'content')]);
    expect(keyService.calls.filter((call) => call === 'generate')).toHaveLength(2);
    expect(a).toEqual(b);
    expect(await ring().get('acme', 'content', '202610')).toEqual(a?.key);
  });

  it('that a reader missed a moment ago is still made for the one who needs it', async () => {
    const { registry, ring } = setUp();
    const keyring = ring();
    const reading = Promise.withResolvers<void>();
    let reads = 0;
    registry.before = (call) => {
      if (call === 'get' && ++reads === 1) return reading.promise;
      return;
    };
    const missed = keyring.get('acme', 'content', '202610');
    const made = keyring.current('acme', 'content');
    await expect(made).resolves.toMatchObject({ epoch: '202610' });
    reading.resolve();
    await missed;
  });

  it('is read again after a quarter of an hour, so that a disabled one is not used for ever', async () => {
    const { keyService, clock, ring } = setUp();
    const keyring = ring();
    await keyring.get('acme', 'content', (await keyring.current('acme', 'content')).epoch);
    clock.advance(15 * 60_000 - 1);
    await keyring.get('acme', 'content', '202610');
    expect(keyService.calls).toEqual(['generate']);
    keyService.before = () => {
      throw new Error('disabled');
    };
    clock.advance(2);
    await expect(keyring.get('acme', 'content', '202610')).rejects.toMatchObject({ tag: 'KeyUnavailable' });
  });

  it('leaves the cache when more than its bound are in use', async () => {
    const { keyService, ring } = setUp({ maxKeys: 3 });
    const keyring = ring();
    for (const client of ['a', 'b', 'c', 'd']) await keyring.current(client, 'content');
    keyService.calls.length = 0;
    for (const client of ['b', 'c', 'd']) await keyring.get(client, 'content', '202610');
    expect(keyService.calls).toEqual([]);
    await keyring.get('a', 'content', '202610');
    expect(keyService.calls).toEqual(['unwrap']);
  });

  it('that cannot be had now is asked for again by the next caller', async () => {
    const { registry, keyService, ring } = setUp();
    const keyring = ring();
    const failing = (error: Error) => () => {
      throw error;
    };
    keyService.before = failing(new Error('throttled with a secret in the message'));
    const refusal = await keyring.current('acme', 'content').catch((error: unknown) => error);
    expect(refusal).toMatchObject({ tag: 'KeyUnavailable', retryable: true });
    expect(String(refusal)).not.toContain('secret');
    keyService.before = () => {};
    registry.before = failing(new StoreUnavailable('a read'));
    await expect(keyring.get('acme', 'content', '202610')).rejects.toMatchObject({ tag: 'KeyUnavailable' });
    registry.before = () => {};
    await expect(keyring.current('acme', 'content')).resolves.toMatchObject({ epoch: '202610' });
  });

  it('that was never made, or was wrapped for another place, breaks the seal for good', async () => {
    const { registry, ring } = setUp();
    await expect(ring().get('acme', 'content', '202509')).rejects.toMatchObject({ tag: 'SealBroken' });
    await ring().current('acme', 'content');
    await ring().current('bolt', 'content');
    const [acme, bolt] = [...registry.items.entries()];
    if (acme === undefined || bolt === undefined) throw new Error('two keys were expected');
    registry.items.set(acme[0], { ...acme[1], wrapped: bolt[1]['wrapped'] ?? null });
    await expect(ring().get('acme', 'content', '202610')).rejects.toMatchObject({ tag: 'SealBroken' });
    await expect(ring().current('acme', 'content')).rejects.toMatchObject({ tag: 'SealBroken' });
  });
});
