import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAdmin } from '../../shared/admin/index.ts';
import { authenticate, createRegistry, createSecretBox } from '../../shared/registry/index.ts';
import { systemClock, systemRandom } from '../../shared/runtime/system.ts';
import { createSealer } from '../../shared/sealing/index.ts';
import type { Store } from '../../shared/storage/index.ts';
import { testKeyring } from '../registry/fixed-surroundings.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { clientRoleMadeUp, privacyMadeUp } from './installation.ts';

const actor = 'arn:aws:iam::111122223333:user/ada';
const secrets = createSecretBox(createSealer({ keyring: testKeyring(), random: systemRandom }));
const noPush = {
  listHalted: async () => [],
  listOfTask: async () => [],
  show: async () => undefined,
  resume: async () => 'unknown' as const,
  retry: async () => 'unknown' as const,
};
const noTasks = { show: async () => undefined, rebuild: async () => undefined, repair: async () => ({}) };

let rig: StoreRig;
beforeAll(async () => {
  rig = await startStore();
});
afterAll(() => rig[Symbol.asyncDispose]());

const adminOn = (store: Store) =>
  createAdmin({
    store,
    clock: systemClock,
    random: systemRandom,
    secrets,
    tasks: noTasks,
    push: noPush,
    agentSecrets: secrets,
    clientRole: true,
    ...clientRoleMadeUp(store),
    ...privacyMadeUp(store),
  });
const run = async (operation: string, input: object, store = rig.store) => {
  const answer = await adminOn(store).execute(operation, input, actor);
  if (answer.kind === 'failed') throw new Error(JSON.stringify(answer.failure));
  return answer.result as Record<string, unknown>;
};
const auditsOf = async (id: string) =>
  (await rig.store.scan('registry')).items.filter(
    (item) => item.pk.startsWith('audit#') && item['id'] === id,
  );
const put = (id: string) =>
  run('profile.put', { profile: { id, name: id, description: 'd', providers: [] } });

describe('the registry on the real store', () => {
  it('lets a client in with its token, and refuses it at once when it is disabled', async () => {
    const registry = createRegistry({ store: rig.store, clock: systemClock });
    const { token } = await run('client.add', { id: 'acme1', name: 'Acme' });
    const kind = async () => (await authenticate(`Bearer ${token}`, (id) => registry.client(id))).kind;
    expect(await kind()).toBe('client');
    await run('client.disable', { id: 'acme1' });
    expect(await kind()).toBe('unauthenticated');
  });

  it('keeps a sealed key byte for byte', async () => {
    const openai = {
      id: 'model',
      kind: 'openai',
      baseUrl: 'https://models.example.com',
      model: 'm',
      apiKey: 'sk-live-01',
    };
    await run('provider.put', { provider: openai });
    await run('provider.put', { provider: { ...openai, model: 'm2', apiKey: '***' } });
    const provider = await createRegistry({ store: rig.store, clock: systemClock }).provider('model');
    if (provider?.kind !== 'openai' || !provider.apiKey) throw new Error('no key is stored');
    expect(provider.model).toBe('m2');
    expect(await secrets.open('model', provider.apiKey)).toBe('sk-live-01');
  });

  it('keeps every grant of administrators who act at once', async () => {
    const profiles = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6'];
    for (const profile of profiles) await put(profile);
    await run('client.add', { id: 'many1', name: 'Many' });
    await Promise.all(profiles.map((profile) => run('client.grant', { id: 'many1', profiles: [profile] })));
    const client = await createRegistry({ store: rig.store, clock: systemClock }).client('many1');
    expect([...(client?.profiles ?? [])].sort()).toEqual(profiles);
    expect(await auditsOf('many1')).toHaveLength(1 + profiles.length);
  });

  it('makes a change once when its answer was lost or it met another transaction', async () => {
    const { store, faults } = rig.another();
    const conflict = new TransactionCanceledException({
      message: 'conflict',
      $metadata: {},
      CancellationReasons: [{ Code: 'TransactionConflict' }, { Code: 'None' }],
    });
    const lost = Object.assign(new Error('socket hang up'), { name: 'TimeoutError', code: 'ECONNRESET' });
    // The read of the client goes through; then its transaction fails, and the repeat of it loses its answer.
    await run('client.add', { id: 'twice1', name: 'Twice' });
    faults.next.push(
      { when: 'before', error: lost },
      { when: 'before', error: conflict },
      { when: 'after', error: lost },
    );
    await run('client.disable', { id: 'twice1' }, store);
    expect(faults.next).toEqual([]);
    expect(await auditsOf('twice1')).toHaveLength(2);
  });
});
