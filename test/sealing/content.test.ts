import { beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../shared/runtime/system.ts';
import {
  type Binding,
  createKeyring,
  createSealer,
  type Sealer,
  type SealOwner,
} from '../../shared/sealing/index.ts';
import { steppedClock } from '../storage/clock.ts';
import { keyServiceDouble, registryDouble } from './doubles.ts';

const at: Binding = { table: 'state', key: { pk: 'A#task-1#r#0', sk: '-' }, attribute: 'c' };
const broken = { tag: 'SealBroken' };
const value = { artifacts: [{ text: 'grüße \u{1f600}' }], none: null, n: 1.5 };

let sealer: Sealer;
let keyService: ReturnType<typeof keyServiceDouble>;
beforeEach(() => {
  keyService = keyServiceDouble();
  const keyring = createKeyring({
    store: registryDouble(),
    keyService,
    clock: steppedClock(Date.UTC(2026, 9, 4)),
  });
  sealer = createSealer({ keyring, random: systemRandom });
});
const begin = (changes: Partial<SealOwner> = {}) =>
  sealer.begin({ client: 'acme', task: 'task-1', purpose: 'content', ...changes });

describe('the content of a task', () => {
  it('opens again for whoever has epoch and salt', async () => {
    const { owner, seal } = await begin();
    expect(owner).toMatchObject({ epoch: '202610', client: 'acme', task: 'task-1', purpose: 'content' });
    const slices = await seal(at, value);
    expect(slices).toHaveLength(1);
    expect(await sealer.forTask({ ...owner }).open(at, slices)).toEqual(value);
  });

  it('does not open without its salt, which is what a purge removes (P12)', async () => {
    const { owner, seal } = await begin();
    const slices = await seal(at, value);
    for (const salt of [
      systemRandom.bytes(32),
      new Uint8Array(32),
      new Uint8Array(),
      owner.salt.subarray(1),
    ]) {
      await expect(sealer.forTask({ ...owner, salt }).open(at, slices)).rejects.toMatchObject(broken);
    }
  });

  it('does not open for another client, task, purpose or month, nor in another place', async () => {
    const { owner, seal } = await begin();
    const slices = await seal(at, value);
    await begin({ client: 'bolt' });
    await begin({ purpose: 'working' });
    const others: Partial<SealOwner>[] = [
      { client: 'bolt' },
      { task: 'task-2' },
      { purpose: 'working' },
      { epoch: '202609' },
    ];
    for (const other of others) {
      await expect(sealer.forTask({ ...owner, ...other }).open(at, slices)).rejects.toMatchObject(broken);
    }
    for (const place of [
      { ...at, attribute: 'w' },
      { ...at, table: 'outbox' as const },
    ]) {
      await expect(sealer.forTask(owner).open(place, slices)).rejects.toMatchObject(broken);
    }
  });

  it('has a salt of its own each time one is begun, and never the same ciphertext twice', async () => {
    const [one, two] = [await begin(), await begin()];
    expect(one.owner.salt).toHaveLength(32);
    expect(one.owner.salt).not.toEqual(two.owner.salt);
    const sealed = new Set<string>();
    for (let n = 0; n < 50; n++) {
      const [slice] = await one.seal(at, value);
      sealed.add(Buffer.from(slice ?? []).toString('hex'));
    }
    expect(sealed.size).toBe(50);
  });

  it('of 2 MB is split, and a slice that is missing, doubled or moved is noticed', async () => {
    const { open, seal } = await begin();
    const large = 'x'.repeat(2_000_000);
    const slices = await seal(at, large);
    expect(slices).toHaveLength(6);
    expect(await open(at, slices)).toBe(large);
    const [first, second, ...rest] = slices;
    if (first === undefined || second === undefined) throw new Error('it was not split');
    for (const wrong of [
      [second, ...rest],
      [first, second, second, ...rest],
      [second, first, ...rest],
      slices.slice(0, -1),
      [],
    ]) {
      await expect(open(at, wrong)).rejects.toMatchObject(broken);
    }
  });

  it('is not lost when the key service fails: it opens later', async () => {
    const { owner, seal } = await begin();
    const slices = await seal(at, value);
    const elsewhere = keyServiceDouble();
    elsewhere.before = () => {
      throw new Error('not now');
    };
    const cold = createSealer({
      keyring: createKeyring({ store: registryDouble(), keyService: elsewhere, clock: steppedClock() }),
      random: systemRandom,
    });
    await expect(cold.begin(owner)).rejects.toMatchObject({ tag: 'KeyUnavailable' });
    expect(await sealer.forTask(owner).open(at, slices)).toEqual(value);
  });

  it('is a JSON value: anything else is a mistake of the caller', async () => {
    const { seal } = await begin();
    await expect(seal(at, undefined)).rejects.toThrow(TypeError);
  });

  it('costs one call of the key service, however much of it is sealed and opened', async () => {
    const { seal, open } = await begin();
    for (let n = 0; n < 5; n++) await open(at, await seal(at, value));
    expect(keyService.calls).toEqual(['generate']);
  });
});
