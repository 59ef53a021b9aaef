import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRemoteAdapter } from '../../shared/providers/remote.ts';
import type { ProviderAdapter } from '../../shared/providers/types.ts';
import type { RemoteAgent } from '../../shared/registry/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Value } from '../../shared/storage/port.ts';
import {
  createGateway,
  echoProfile,
  type Gateway,
  memoryKeyService,
  memoryQueue,
  message,
  register,
} from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type AdminFunction, createAdminFunction } from './handler-rig.ts';
import { ADA } from './installation.ts';

const BOB = 'arn:aws:iam::111122223333:user/bob';
const far: RemoteAgent = {
  id: 'far',
  name: 'Far',
  description: 'Far away.',
  cardUrl: 'https://far.example.com/.well-known/agent-card.json',
  disabled: false,
  push: 'off',
  allowedOrigins: [],
  trustedHosts: [],
  allowedPorts: [],
  interface: { url: 'https://far.example.com/rpc', protocolVersion: '1.0' },
  cardReadAt: 0,
  waitSeconds: 600,
};
/** Asks once, and completes with the answer. */
const asking: ProviderAdapter = {
  run: async ({ history, message: { parts } }) =>
    history.length === 0
      ? { kind: 'input-required', message: [{ text: 'Which colour?' }] }
      : { kind: 'completed', artifacts: [{ parts }] },
};

let rig: StoreRig;
let gateway: Gateway;
let admin: AdminFunction;
beforeAll(async () => {
  rig = await startStore();
});
afterAll(() => rig[Symbol.asyncDispose]());

const saveAgent = (agent: RemoteAgent) =>
  rig.store.write({
    kind: 'put',
    table: 'registry',
    item: { ...keys.agent(agent.id), v: 1, edition: 1, data: agent as unknown as Value },
  });
beforeEach(async () => {
  await register(rig.store, {
    clients: [{ id: 'alice' }],
    profiles: [
      echoProfile,
      { ...echoProfile, id: 'draft', published: false },
      { ...echoProfile, id: 'asks', providers: ['asks'] },
      { ...echoProfile, id: 'both' },
      { ...echoProfile, id: 'kept', answerLevel: 'none' },
    ],
    providers: [
      { id: 'echo', kind: 'echo', timeoutSeconds: 10 },
      { id: 'asks', kind: 'echo', timeoutSeconds: 10 },
    ],
  });
  for (const agent of [far, { ...far, id: 'both' }, { ...far, id: 'off', disabled: true }])
    await saveAgent(agent);
  const keyService = memoryKeyService();
  const runQueue = memoryQueue();
  const adapters = { asks: asking, 'agent:far': createRemoteAdapter('far') };
  gateway = createGateway({ store: rig.store, keyService, runQueue, adapters });
  admin = createAdminFunction({ store: rig.store, keyService, runQueue, inboxQueue: gateway.inboxQueue });
});
afterEach(async () => {
  // Keys of one test open nothing of another.
  for (const { pk, sk } of (await rig.store.scan('registry')).items)
    await rig.store.write({ kind: 'delete', table: 'registry', key: { pk, sk } });
});

const start = async (target: string, text = 'words of Ada') => {
  const { result, error } = await admin.run('run.start', { target, message: text });
  expect(error).toBeUndefined();
  return result as { readonly id: string; readonly profile: string; readonly state: string };
};
const show = async (id: string, actor = ADA) => (await admin.run('run.show', { id }, actor)).result;

describe('a run that an administrator starts', () => {
  it('shows its result to who started it, and its states to every administrator', async () => {
    const { id, state } = await start('echo');
    expect(state).toBe('TASK_STATE_SUBMITTED');
    await gateway.runAll();
    expect(await show(id)).toMatchObject({
      id,
      profile: 'echo',
      state: 'TASK_STATE_COMPLETED',
      task: { artifacts: [{ parts: [{ text: 'words of Ada' }] }] },
    });
    const seen = await show(id, BOB);
    expect(seen).toMatchObject({ id, state: 'TASK_STATE_COMPLETED', run: 'ended' });
    expect(JSON.stringify(seen)).not.toContain('words of Ada');
    expect(seen).not.toHaveProperty('task');
  });

  it('is in the audit before it runs, with who, what and its task, and without the words', async () => {
    const { id } = await start('echo');
    const audits = await admin.audits();
    const entry = { actor: ADA, operation: 'run.start', kind: 'run', id, profile: 'echo' };
    expect(audits).toMatchObject([entry]);
    await admin.run('run.cancel', { id });
    expect((await admin.audits()).map((audit) => audit['id'])).toEqual([id, id]);
    expect(JSON.stringify(audits)).not.toContain('words of Ada');
  });

  it('is nobody’s whom the server role serves', async () => {
    const { id } = await start('echo');
    await gateway.runAll();
    expect((await gateway.call('alice', 'GetTask', { id })).error?.code).toBe(-32001);
    expect((await gateway.call('alice', 'ListTasks')).result.tasks).toEqual([]);
    const named = await gateway.call('alice', 'SendMessage', { tenant: 'agent:far', message: message('x') });
    expect(named.error?.code).toBe(-32602);
  });

  it('runs a profile that is not published, and hands a message straight to an agent', async () => {
    const draft = await start('draft');
    const handed = await start('far');
    expect(handed.profile).toBe('agent:far');
    await gateway.runAll();
    expect(await show(draft.id)).toMatchObject({ state: 'TASK_STATE_COMPLETED' });
    expect(await show(handed.id)).toMatchObject({
      state: 'TASK_STATE_WORKING',
      run: 'suspended',
      waiting: 1,
      dependencies: [{ agent: 'far', state: 'new', dependency: `${handed.id}/0001.0000` }],
    });
  });

  it.each([
    ['nobody', 'NOT_FOUND', 'no profile or agent'],
    ['agent:nobody', 'NOT_FOUND', 'no profile or agent'],
    ['agent:echo', 'NOT_FOUND', 'no profile or agent'],
    ['both', 'REFUSED', 'write agent:both'],
    ['off', 'REFUSED', 'disabled'],
    ['agent:off', 'REFUSED', 'disabled'],
    ['kept', 'REFUSED', 'keeps no result'],
  ])('of %s is refused, and no task is there', async (target, code, says) => {
    const before = (await rig.store.scan('state')).items.length;
    const { error } = await admin.run('run.start', { target, message: 'x' });
    expect(error).toMatchObject({ code, message: expect.stringContaining(says) });
    expect((await rig.store.scan('state')).items).toHaveLength(before);
    expect(await admin.audits()).toEqual([]);
  });

  it('of an agent is refused where the installation keeps no result', async () => {
    await admin.run('settings.set', { settings: { answerLevel: 'none' } });
    const { error } = await admin.run('run.start', { target: 'far', message: 'x' });
    expect(error).toMatchObject({ code: 'REFUSED', message: expect.stringContaining('keeps no result') });
  });

  it('takes the reply of who started it, when it asks', async () => {
    const { id } = await start('asks');
    const reply = async (actor = ADA) =>
      (await admin.run('run.reply', { id, message: 'red' }, actor)).error?.message ?? 'taken';
    expect(await reply()).toContain('asks nothing now');
    await gateway.runAll();
    expect(await show(id)).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      task: { status: { message: { parts: [{ text: 'Which colour?' }] } } },
    });
    expect(await reply(BOB)).toContain('only who started');
    expect(await reply()).toBe('taken');
    await gateway.runAll();
    expect(await show(id)).toMatchObject({ task: { artifacts: [{ parts: [{ text: 'red' }] }] } });
    expect(await reply()).toContain('asks nothing now');
  });

  it('is canceled by any administrator, once, and what waits for agents is woken to tell them', async () => {
    const { id } = await start('far');
    await gateway.runAll();
    gateway.inboxQueue.messages.length = 0;
    expect((await admin.run('run.cancel', { id }, BOB)).result).toEqual({ id, state: 'TASK_STATE_CANCELED' });
    expect(gateway.inboxQueue.messages).toEqual([{ task: id, dependency: '0001.0000' }]);
    expect((await admin.run('run.cancel', { id })).error).toMatchObject({ code: 'REFUSED' });
    expect(await show(id)).toMatchObject({ state: 'TASK_STATE_CANCELED' });
  });

  it('is not what a client’s task is: no command of runs reaches that', async () => {
    const { result } = await gateway.call('alice', 'SendMessage', {
      message: message('of Alice'),
      configuration: { returnImmediately: true },
    });
    const { id } = result.task;
    for (const operation of ['run.show', 'run.cancel', 'run.reply']) {
      const input = operation === 'run.reply' ? { id, message: 'x' } : { id };
      expect((await admin.run(operation, input)).error).toMatchObject({ code: 'NOT_FOUND' });
    }
    expect((await gateway.call('alice', 'GetTask', { id })).result.status.state).toBe('TASK_STATE_SUBMITTED');
  });

  it.each([
    [{ target: 'echo' }, 'message'],
    [{ target: 'echo', message: '' }, 'message'],
    [{ target: 'echo', message: '\ud800' }, 'message'],
    [{ message: 'x' }, 'target'],
  ])('needs a target and words: %j is refused', async (input, field) => {
    expect((await admin.run('run.start', input)).error).toMatchObject({ code: 'INVALID', field });
  });
});
