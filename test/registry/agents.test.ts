import { beforeEach, describe, expect, it } from 'vitest';
import {
  agentsOf,
  createRegistry,
  createRegistryEditor,
  type Provider,
  type Registry,
  type RegistryEditor,
  type RemoteAgent,
  recordKey,
} from '../../shared/registry/index.ts';
import { testClock, testRandom } from './fixed-surroundings.ts';
import { createMemoryStore, type MemoryStore } from './memory-store.ts';

const deed = { actor: 'arn:aws:iam::1:user/ada', operation: 'agent.add' };
const far: RemoteAgent = {
  id: 'far',
  name: 'Far',
  description: '',
  cardUrl: 'https://far.example.com/.well-known/agent-card.json',
  disabled: false,
  push: 'embedded',
  allowedOrigins: [],
  trustedHosts: [],
  allowedPorts: [],
  interface: { url: 'https://far.example.com/rpc', protocolVersion: '1.0' },
  cardReadAt: 1,
  waitSeconds: 60,
};

let store: MemoryStore;
let editor: RegistryEditor;
let registry: Registry;
beforeEach(async () => {
  store = createMemoryStore();
  const parts = { store, clock: testClock(), random: testRandom() };
  editor = createRegistryEditor(parts);
  registry = createRegistry(parts);
  await editor.edit('agent', 'far', deed, () => ({ kind: 'save', value: far }));
});

describe('what stands for a remote agent', () => {
  it('is a profile that nobody can publish, with one provider that hands the whole task on', async () => {
    expect(await registry.profile('agent:far')).toMatchObject({
      id: 'agent:far',
      providers: ['agent:far'],
      published: false,
      public: false,
    });
    expect(await registry.provider('agent:far')).toMatchObject({ kind: 'remote', agent: 'far' });
    expect(await registry.profiles()).toEqual([]);
    // No file can have such an id, so none can stand in its place.
    expect(recordKey('profile', 'agent:far')).toBeUndefined();
    expect(recordKey('provider', 'agent:far')).toBeUndefined();
  });

  it('is there for registered agents only', async () => {
    for (const id of ['agent:near', 'agent:', 'agent:Far', 'agent:agent:far', 'far', ':far']) {
      expect([id, await registry.profile(id), await registry.provider(id)]).toEqual([
        id,
        undefined,
        undefined,
      ]);
    }
  });
});

describe('forgetting a record', () => {
  const forget = (check: () => 'no' | undefined = () => undefined) =>
    editor.remove('agent', 'far', { ...deed, operation: 'agent.remove' }, check);
  const audits = () => store.items().filter(({ pk }) => pk.startsWith('audit#'));

  it('takes it away with one audit entry, and its edition is in it', async () => {
    expect(await forget()).toEqual({ kind: 'removed' });
    expect(await registry.agent('far')).toBeUndefined();
    expect(audits().at(-1)).toMatchObject({
      operation: 'agent.remove',
      kind: 'agent',
      id: 'far',
      edition: 1,
    });
  });

  it('that is refused, or of what is not there, writes nothing', async () => {
    const before = store.items();
    expect(await forget(() => 'no')).toEqual({ kind: 'refused', failure: 'no' });
    expect(await editor.remove('agent', 'near', deed, () => undefined)).toEqual({ kind: 'removed' });
    expect(store.items()).toEqual(before);
  });

  it('is decided anew when an edit came in between', async () => {
    store.beforeTransaction = async () => {
      await editor.edit('agent', 'far', deed, () => ({ kind: 'save', value: { ...far, disabled: true } }));
    };
    const seen: (boolean | undefined)[] = [];
    await editor.remove('agent', 'far', deed, (current) => {
      seen.push(current?.value.disabled);
      return undefined;
    });
    expect(seen).toEqual([false, true]);
    expect(audits().map(({ edition }) => edition)).toEqual([1, 2, 2]);
  });
});

describe('the agents of a provider', () => {
  const shared = { id: 'p', timeoutSeconds: 1 };
  it.each<readonly [string, Provider | undefined, readonly string[]]>([
    ['that hands everything on', { ...shared, kind: 'remote', agent: 'far' }, ['far']],
    ['that has agents', { ...shared, kind: 'function', functionName: 'f', agents: ['a', 'b'] }, ['a', 'b']],
    ['that has none', { ...shared, kind: 'bedrock', model: 'm' }, []],
    ['that is not there', undefined, []],
  ])('%s are those it names', (_which, provider, agents) => {
    expect(agentsOf(provider)).toEqual(agents);
  });
});
