import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { A2AClient, CallOutcome } from '../../shared/client/index.ts';
import { advance } from '../../shared/delegation/advance.ts';
import { acceptCallback } from '../../shared/delegation/callback.ts';
import { type Dependency, dependencyItem, registrationItem } from '../../shared/delegation/formats.ts';
import {
  cancelDependency,
  listDependencies,
  listOpenDependencies,
  MOST_SHOWN,
  pollDependency,
  showDependency,
} from '../../shared/delegation/operate.ts';
import type { ReconcilerServices } from '../../shared/delegation/services.ts';
import { hashCredential } from '../../shared/delegation/suspend.ts';
import type { PeerTask } from '../../shared/protocol/index.ts';
import { createRemoteAdapter } from '../../shared/providers/remote.ts';
import { auditEntry } from '../../shared/registry/index.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Value } from '../../shared/storage/port.ts';
import { readHead } from '../../shared/tasks/read-head.ts';
import { createGateway, echoProfile, type Gateway, message, register } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { farAgent } from './rig.ts';

const MINUTE = 60_000;
const CREDENTIAL = 'c'.repeat(43);
let rig: StoreRig;
let gateway: Gateway;
let services: ReconcilerServices;
/** Calls to the remote agent, by method; and the state that it answers. */
let calls: string[];
let remoteState: PeerTask['status']['state'];
let ahead = 0;

beforeAll(async () => {
  rig = await startStore();
});
afterAll(() => rig[Symbol.asyncDispose]());
beforeEach(async () => {
  calls = [];
  remoteState = 'TASK_STATE_WORKING';
  ahead = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + ahead };
  gateway = createGateway({ store: rig.store, clock, adapters: { far: createRemoteAdapter('far') } });
  services = {
    ...gateway.services,
    inboxQueue: gateway.inboxQueue,
    publicUrl: 'https://gateway.example',
    clientOf: async () => fakeClient(),
  };
  for (const { pk, sk } of (await rig.store.scan('registry')).items)
    await rig.store.write({ kind: 'delete', table: 'registry', key: { pk, sk } });
  for (const { pk, sk } of (await rig.store.scan('delegation')).items)
    await rig.store.write({ kind: 'delete', table: 'delegation', key: { pk, sk } });
  await register(rig.store, {
    clients: [{ id: 'alice' }],
    profiles: [{ ...echoProfile, providers: ['far'] }],
    providers: [{ id: 'far', kind: 'remote', agent: 'far', timeoutSeconds: 10 }],
  });
  const item = { ...keys.agent('far'), v: 1, edition: 1, data: farAgent as unknown as Value };
  await rig.store.write({ kind: 'put', table: 'registry', item });
});

/** A remote agent that has one task and counts what it is asked. */
function fakeClient(): A2AClient {
  const answered = (method: string) => async (): Promise<CallOutcome<never>> => {
    calls.push(method);
    const task = { id: 'remote-1', contextId: 'c', status: { state: remoteState } };
    const value = method === 'send' ? { kind: 'task', task } : task;
    return { kind: 'ok', value: value as never, notices: [] };
  };
  return {
    sendMessage: answered('send'),
    getTask: answered('get'),
    cancelTask: answered('cancel'),
  } as unknown as A2AClient;
}

/** A task that was handed on and waits: its id, its one dependency, and a message that wakes it. */
async function handedOn() {
  const { result } = await gateway.call('alice', 'SendMessage', {
    message: message('words of Alice'),
    configuration: { returnImmediately: true },
  });
  const task: string = result.task.id;
  await gateway.runAll();
  const wake = { task, dependency: '0001.0000' };
  await advance(services, wake);
  expect(calls).toEqual(['send']);
  return { task, wake };
}

const audit = (operation = 'dependency.poll') =>
  auditEntry(gateway.services, { actor: 'ada', operation }, { kind: 'dependency', id: 'x' });
const audits = async () =>
  (await rig.store.scan('registry')).items.filter(({ pk }) => pk.startsWith('audit#')).length;
const one = async (task: string) => (await listDependencies(services, task))[0];

describe('a run that hands steps on', () => {
  const start = async () => {
    const { result } = await gateway.call('alice', 'SendMessage', {
      message: message('words of Alice'),
      configuration: { returnImmediately: true },
    });
    return String(result.task.id);
  };

  it('wakes the send of each, once, when it was suspended and before the stream comes to it', async () => {
    const task = await start();
    await gateway.runAll();
    expect(gateway.inboxQueue.messages).toEqual([{ task, dependency: '0001.0000' }]);
    expect((await one(task))?.state).toBe('new');
    await advance(services, gateway.inboxQueue.messages[0]!);
    expect(calls).toEqual(['send']);
  });

  it('is suspended also when nobody could be woken, and the stream wakes what was not', async () => {
    const { send } = gateway.inboxQueue;
    gateway.inboxQueue.send = async () => {
      throw new TypeError('no queue');
    };
    const task = await start();
    await gateway.runAll();
    expect(await readHead(services, task)).toMatchObject({ run: 'suspended', waiting: 1 });
    expect(gateway.log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'a send is left to the stream' }),
    );
    gateway.inboxQueue.send = send;
    await gateway.follow(task);
    expect(gateway.inboxQueue.messages).toEqual([{ task, dependency: '0001.0000' }]);
  });
});

describe('a dependency that was sent', () => {
  it('is left alone by messages that bring nothing new before it is due', async () => {
    const { wake } = await handedOn();
    for (let n = 0; n < 5; n++) expect(await advance(services, wake)).toBeUndefined();
    expect(calls).toEqual(['send']);
    ahead = MINUTE;
    expect(await advance(services, wake)).toBeGreaterThan(services.clock.now());
    expect(calls).toEqual(['send', 'get']);
  });

  it('is asked for before it is due because of a signal, and leaves the lag and no signal behind', async () => {
    const { task, wake } = await handedOn();
    const { registration } = (await showDependency(services, task, '0001.0000')) as { registration: string };
    // The credential itself went to the remote agent only.
    await rig.store.write({
      kind: 'update',
      table: 'delegation',
      key: keys.registration(registration),
      changes: { set: { hash: hashCredential(CREDENTIAL) } },
      when: [{ attribute: 'pk', is: 'present' }],
    });
    gateway.inboxQueue.messages.length = 0;
    for (let n = 0; n < 3; n++)
      await acceptCallback(services, registration, `Bearer ${CREDENTIAL}`, Buffer.from('{}'));
    expect(gateway.inboxQueue.messages).toEqual([wake, wake, wake]);
    const waiting = gateway.metrics.measurements.filter(({ name }) => name === 'SignalsWaiting');
    expect(waiting.map(({ value }) => value)).toEqual([1, 2, 3]);
    ahead = 4_000;
    await advance(services, wake);
    // One question answers all signals that were there; the other messages find nothing new.
    for (let n = 0; n < 2; n++) expect(await advance(services, wake)).toBeUndefined();
    expect(calls).toEqual(['send', 'get']);
    const lag = gateway.metrics.measurements.find(({ name }) => name === 'ReconcileLag');
    expect(lag?.value).toBeGreaterThanOrEqual(4_000);
    expect(lag?.value).toBeLessThan(MINUTE);
    expect(await showDependency(services, task, '0001.0000')).toMatchObject({ signalsWaiting: 0 });
  });

  it('is asked for at once when an operator polls it', async () => {
    const { task, wake } = await handedOn();
    gateway.inboxQueue.messages.length = 0;
    expect(await pollDependency(services, task, '0001.0000', audit())).toBe('done');
    expect(gateway.inboxQueue.messages).toEqual([wake]);
    await advance(services, wake);
    expect(calls).toEqual(['send', 'get']);
    expect(await audits()).toBe(1);
  });

  it('ends as canceled when an operator cancels it: the remote is told, and the run goes on once', async () => {
    const { task, wake } = await handedOn();
    expect(await cancelDependency(services, task, '0001.0000', audit('dependency.cancel'))).toBe('done');
    expect(await one(task)).toMatchObject({ state: 'sent', canceled: true });
    gateway.runQueue.messages.length = 0;
    await Promise.all([advance(services, wake), advance(services, wake)]);
    expect(calls).toEqual(['send', 'cancel']);
    expect(await one(task)).toMatchObject({ state: 'ended', outcome: 'canceled' });
    expect(gateway.runQueue.messages).toHaveLength(1);
    await gateway.runAll();
    const { result } = await gateway.call('alice', 'GetTask', { id: task });
    expect(result.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: expect.stringContaining('canceled') }] },
    });
  });

  it('cannot be polled or canceled once it ended, and no audit says that it was', async () => {
    const { task, wake } = await handedOn();
    remoteState = 'TASK_STATE_COMPLETED';
    ahead = MINUTE;
    await advance(services, wake);
    expect(await one(task)).toMatchObject({ outcome: 'completed' });
    expect(await pollDependency(services, task, '0001.0000', audit())).toBe('ended');
    expect(await cancelDependency(services, task, '0001.0000', audit())).toBe('ended');
    expect(await cancelDependency(services, task, '0001.0007', audit())).toBe('unknown');
    expect(await audits()).toBe(0);
    expect((await readHead(services, task))?.run).toBe('queued');
  });
});

describe('what operators see', () => {
  it('has ids, states and times, and neither content nor a credential', async () => {
    const { task } = await handedOn();
    const shown = await showDependency(services, task, '0001.0000');
    expect(shown).toMatchObject({
      dependency: `${task}/0001.0000`,
      agent: 'far',
      state: 'sent',
      remoteTask: 'remote-1',
      push: 'embedded',
      registered: true,
      registrationState: 'open',
      signalsWaiting: 0,
    });
    expect(Object.keys(shown ?? {})).not.toContain('hash');
    expect(JSON.stringify(shown)).not.toContain('words of Alice');
    expect(await showDependency(services, task, '0009.0000')).toBeUndefined();
  });

  it('is every open dependency of all tasks, those that are due first in front, and none that ended', async () => {
    for (let n = 0; n < 30; n++) await put({ task: `t${n}`, due: keys.dueAt(30 - n) });
    await put({ task: 'over', state: 'ended' });
    await put({ task: 'other', agent: 'near', due: keys.dueAt(50) });
    const { dependencies, more } = await listOpenDependencies(services);
    expect(dependencies.map(({ dependency }) => dependency)).toEqual([
      ...Array.from({ length: 30 }, (_, n) => `t${29 - n}/0001.0000`),
      'other/0001.0000',
    ]);
    expect(more).toBe(false);
    expect((await listOpenDependencies(services, 'near')).dependencies).toHaveLength(1);
    expect((await listDependencies(services, 'over')).map(({ state }) => state)).toEqual(['ended']);
    expect(await listDependencies(services, 'over', { open: true })).toEqual([]);
    expect(await listDependencies(services, 'other', { agent: 'far' })).toEqual([]);
  });

  it('is bounded, and says when there is more', async () => {
    for (let n = 0; n <= MOST_SHOWN; n++) await put({ task: `t${n}`, due: keys.dueAt(n) });
    const { dependencies, more } = await listOpenDependencies(services);
    expect(dependencies).toHaveLength(MOST_SHOWN);
    expect(more).toBe(true);
  });
});

async function put(over: Partial<Dependency> & { readonly task: string }): Promise<void> {
  const dependency: Dependency = {
    id: '0001.0000',
    agent: 'far',
    call: 'task',
    state: 'sent',
    messageId: 'm',
    push: 'off',
    registered: false,
    createdAt: 0,
    deadline: MINUTE,
    tries: 0,
    polls: 0,
    ...over,
  };
  await rig.store.write({ kind: 'put', table: 'delegation', item: dependencyItem(dependency) });
  const registration = { id: `r${over.task}`, task: over.task, dependency: '0001.0000', hash: 'h' };
  const item = registrationItem({ ...registration, state: 'open', signals: 0 });
  await rig.store.write({ kind: 'put', table: 'delegation', item });
}
