import { beforeEach, describe, expect, it } from 'vitest';
import {
  CACHE_MS,
  type Client,
  createRegistry,
  createRegistryEditor,
  type Profile,
  type Registry,
  type RegistryEditor,
  settingsDefaults,
} from '../../shared/registry/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import { recordingLog } from '../../shared/telemetry/index.ts';
import { testClock, testRandom } from './fixed-surroundings.ts';
import { createMemoryStore, type MemoryStore } from './memory-store.ts';

const deed = { actor: 'arn:aws:iam::1:user/ada', operation: 'client.grant' };
const client: Client = { id: 'acme1', name: 'Acme', disabled: false, tokens: [], profiles: [], createdAt: 1 };
const profile = (id: string, change: Partial<Profile> = {}): Profile => ({
  id,
  name: id,
  description: 'd',
  version: '1',
  tags: [],
  examples: [],
  inputModes: ['*/*'],
  outputModes: ['*/*'],
  providers: [],
  published: false,
  public: false,
  blockingSeconds: 25,
  runSeconds: 60,
  inputSeconds: 60,
  attempts: 3,
  dedup: true,
  extensions: [],
  approval: 'none',
  approvalSeconds: 604_800,
  retentionDays: 30,
  ...change,
});

let store: MemoryStore;
let clock: ReturnType<typeof testClock>;
let log: ReturnType<typeof recordingLog>;
let registry: Registry;
let editor: RegistryEditor;

beforeEach(() => {
  store = createMemoryStore();
  clock = testClock();
  log = recordingLog();
  registry = createRegistry({ store, clock, log });
  editor = createRegistryEditor({ store, clock, random: testRandom() });
});

const saveClient = (change: Partial<Client> = {}) =>
  editor.edit('client', client.id, deed, () => ({ kind: 'save', value: { ...client, ...change } }));
const saveProfile = (value: Profile) =>
  editor.edit('profile', value.id, deed, () => ({ kind: 'save', value }));
const audits = () => store.items().filter((item) => item.pk.startsWith('audit#'));

describe('the registry as requests read it', () => {
  it('shows a client as it stands now: a disabled one fails at once', async () => {
    await saveClient();
    expect(await registry.client('acme1')).toEqual(client);
    await saveClient({ disabled: true });
    expect((await registry.client('acme1'))?.disabled).toBe(true);
  });

  it('shows settings, profiles and providers at most five seconds late', async () => {
    await saveProfile(profile('one'));
    expect((await registry.profile('one'))?.published).toBe(false);
    expect(await registry.profiles()).toHaveLength(1);
    expect((await registry.settings()).maxParts).toBe(100);
    await saveProfile(profile('one', { published: true }));
    await editor.edit('settings', '', deed, () => ({ kind: 'save', value: { maxParts: 7 } }));

    clock.advance(CACHE_MS - 1);
    const reads = store.reads;
    expect((await registry.profile('one'))?.published).toBe(false);
    expect((await registry.settings()).maxParts).toBe(100);
    expect(store.reads).toBe(reads);

    clock.advance(1);
    expect((await registry.profile('one'))?.published).toBe(true);
    expect((await registry.profiles())[0]?.published).toBe(true);
    expect((await registry.settings()).maxParts).toBe(7);
  });

  it('finds what was just added, though it was asked for before', async () => {
    expect(await registry.profile('late')).toBeUndefined();
    await saveProfile(profile('late'));
    expect(await registry.profile('late')).toBeDefined();
  });

  it('reads once for callers that ask at once, and again after a failure', async () => {
    await saveProfile(profile('one'));
    const before = store.reads;
    await Promise.all([registry.profile('one'), registry.profile('one'), registry.profile('one')]);
    expect(store.reads).toBe(before + 1);

    const get = store.get;
    store.get = async () => {
      throw new Error('down');
    };
    await expect(registry.settings()).rejects.toThrow('down');
    store.get = get;
    expect(await registry.settings()).toEqual(settingsDefaults);
  });

  it.each(['', 'A', 'a#b', '../x', 'x'.repeat(100_000), '__proto__', 'a b', 'é'])(
    'answers an id that nothing can have without asking the store: %#',
    async (id) => {
      expect(await registry.client(id)).toBeUndefined();
      expect(await registry.profile(id)).toBeUndefined();
      expect(await registry.provider(id)).toBeUndefined();
      expect(store.reads).toBe(0);
    },
  );

  it('lists every profile over all pages, and one unreadable record hides no other', async () => {
    for (let n = 10; n < 18; n += 1) await saveProfile(profile(`p${n}`));
    await store.write({ kind: 'put', table: 'registry', item: { ...keys.profile('p13'), v: 9, data: {} } });
    expect((await registry.profiles()).map(({ id }) => id)).toEqual([
      'p10',
      'p11',
      'p12',
      'p14',
      'p15',
      'p16',
      'p17',
    ]);
    expect(log.lines).toMatchObject([{ level: 'error', fields: { kind: 'profile', id: 'p13' } }]);
    await expect(registry.profile('p13')).rejects.toMatchObject({ tag: 'RecordUnreadable' });
  });

  it('gives an older record the defaults of newer fields, and a setting out of bounds its default', async () => {
    await store.write({
      kind: 'put',
      table: 'registry',
      item: {
        ...keys.profile('old'),
        v: 1,
        edition: 1,
        data: { id: 'old', name: 'Old', description: 'd', providers: ['one'], published: true },
      },
    });
    expect(await registry.profile('old')).toMatchObject({ published: true, attempts: 3, dedup: true });
    await store.write({
      kind: 'put',
      table: 'registry',
      item: { ...keys.settings(), v: 1, edition: 1, data: { maxParts: 5_000_000, openTasks: 9, gone: 1 } },
    });
    expect(await registry.settings()).toEqual({ ...settingsDefaults, openTasks: 9 });
  });
});

describe('a change of the registry', () => {
  it('is written with exactly one audit entry that names actor, operation and changed fields', async () => {
    await saveClient();
    await saveClient({ name: 'Acme 2', profiles: ['*'] });
    expect(audits()).toMatchObject([
      { actor: deed.actor, operation: deed.operation, kind: 'client', id: 'acme1', edition: 1 },
      { changed: ['name', 'profiles'], edition: 2, at: clock.now() },
    ]);
    expect(JSON.stringify(audits())).not.toContain('Acme');
  });

  it('that changes nothing writes nothing', async () => {
    await saveClient();
    expect(await saveClient()).toMatchObject({ kind: 'unchanged', edition: 1, changed: [] });
    expect(audits()).toHaveLength(1);
  });

  it('never loses one that came in between', async () => {
    await saveClient();
    const grant = (id: string) =>
      editor.edit('client', client.id, deed, (current) => ({
        kind: 'save',
        value: { ...current!.value, profiles: [...current!.value.profiles, id] },
      }));
    store.beforeTransaction = async () => {
      await grant('between');
    };
    expect(await grant('first')).toMatchObject({ kind: 'saved', edition: 3 });
    expect((await registry.client('acme1'))?.profiles).toEqual(['between', 'first']);
    expect(audits()).toHaveLength(3);
  });

  it('keeps all of many made at once', async () => {
    await saveClient();
    const ids = Array.from({ length: 10 }, (_, n) => `p${n}`);
    await Promise.all(
      ids.map((id) =>
        editor.edit('client', client.id, deed, (current) => ({
          kind: 'save',
          value: { ...current!.value, profiles: [...current!.value.profiles, id] },
        })),
      ),
    );
    expect([...(await registry.client('acme1'))!.profiles].sort()).toEqual(ids);
  });

  it('is given up as a conflict, with nothing written, when others always come first', async () => {
    await saveClient();
    let n = 0;
    const interfere = async () => {
      await saveClient({ name: `other ${n++}` });
      store.beforeTransaction = interfere;
    };
    store.beforeTransaction = interfere;
    expect(
      await editor.edit('client', client.id, deed, (current) => ({
        kind: 'save',
        value: { ...current!.value, disabled: true },
      })),
    ).toEqual({
      kind: 'conflict',
    });
    expect((await registry.client('acme1'))?.disabled).toBe(false);
  });

  it('of two that add the same id at once saves one', async () => {
    const add = (name: string) =>
      editor.edit('client', client.id, deed, (current) =>
        current ? { kind: 'refuse', failure: 'exists' } : { kind: 'save', value: { ...client, name } },
      );
    const made = await Promise.all([add('a'), add('b')]);
    expect(made.map(({ kind }) => kind).sort()).toEqual(['refused', 'saved']);
  });

  it('that is refused writes nothing', async () => {
    expect(await editor.edit('client', client.id, deed, () => ({ kind: 'refuse', failure: 'no' }))).toEqual({
      kind: 'refused',
      failure: 'no',
    });
    expect(store.items()).toEqual([]);
  });
});
