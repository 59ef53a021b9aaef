import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keys } from '../../shared/storage/keys.ts';
import {
  error,
  type FakeAgent,
  json,
  type Reply,
  raw,
  result,
  startAgent,
  task,
} from '../client/fake-agent.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { CREDENTIAL, type Delegation, startDelegation } from './rig.ts';

let rig: StoreRig;
let agent: FakeAgent;
let delegation: Delegation;
/** How the agent answers SendMessage, GetTask and all else. */
let onSend: Reply;
let onGet: Reply;

beforeAll(async () => {
  rig = await startStore();
  agent = await startAgent((response, seen) =>
    (seen.rpc.method === 'SendMessage' ? onSend : onGet)(response, seen),
  );
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});
beforeEach(async () => {
  agent.seen.length = 0;
  onSend = result({ task: task('TASK_STATE_WORKING') });
  onGet = result(task('TASK_STATE_WORKING'));
  const target = { url: agent.url, protocolVersion: '1.0' };
  delegation = await startDelegation(rig, { agent: { interface: target } });
});

const MINUTE = 60_000;
const says = (text: string) => ({ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] });
const inState = (state: string, status: object = {}, more: object = {}) => ({
  id: 't-1',
  status: { state, ...status },
  ...more,
});
const methods = () => agent.seen.map(({ rpc }) => rpc.method);

/** Looks at a dependency whenever it is due, at most so often, and executes what goes on. */
async function follow(id: string, looks: number): Promise<void> {
  for (let n = 0; n < looks; n++) {
    const wakeAt = await delegation.look(id);
    if (wakeAt === undefined) break;
    delegation.ahead += Math.max(0, wakeAt - delegation.services.clock.now()) + 1;
  }
  await delegation.gateway.runAll();
}

const statusOf = async (id: string) => (await delegation.get(id)).status;

describe('a task that is handed on', () => {
  it.each([
    ['COMPLETED', 'COMPLETED'],
    ['FAILED', 'FAILED'],
    ['REJECTED', 'REJECTED'],
    ['CANCELED', 'FAILED'],
  ])('ends after the remote’s %s as %s, with its words (K02)', async (remote, own) => {
    onGet = result(inState(`TASK_STATE_${remote}`, { message: says('So it ended.') }));
    const id = await delegation.hand();
    await follow(id, 2);
    expect(await statusOf(id)).toMatchObject({
      state: `TASK_STATE_${own}`,
      message: { parts: [{ text: 'So it ended.' }] },
    });
    expect(await delegation.shown(id)).toMatchObject({ state: 'ended', outcome: remote.toLowerCase() });
  });

  it.each(['COMPLETED', 'FAILED', 'REJECTED', 'CANCELED', 'INPUT_REQUIRED', 'AUTH_REQUIRED'])(
    'takes a remote in state %s that says and brings nothing (K04)',
    async (state) => {
      onGet = result(inState(`TASK_STATE_${state}`));
      const id = await delegation.hand();
      await follow(id, 2);
      const own = state === 'CANCELED' ? 'FAILED' : state;
      expect((await statusOf(id)).state).toBe(`TASK_STATE_${own}`);
      expect((await delegation.get(id)).artifacts ?? []).toEqual([]);
      const { lines } = delegation.gateway.log;
      expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );

  it('is over at once when the remote answers with a Message, or with a task that is over', async () => {
    onSend = result({ message: says('Here.') });
    const answered = await delegation.hand();
    await follow(answered, 1);
    expect((await delegation.get(answered)).artifacts).toMatchObject([{ parts: [{ text: 'Here.' }] }]);
    onSend = result({ task: inState('TASK_STATE_COMPLETED', {}, { artifacts: [ARTIFACT] }) });
    const done = await delegation.hand();
    await follow(done, 1);
    expect((await delegation.get(done)).artifacts).toMatchObject([{ parts: [{ text: 'brought' }] }]);
    expect(methods()).toEqual(['SendMessage', 'SendMessage']);
  });

  it('is the same request each time it is sent, and every call has tenant, credential and version (T03, T06, V02)', async () => {
    const target = { url: agent.url, protocolVersion: '1.0', tenant: 'acme' };
    const credential = { epoch: '202612', salt: new Uint8Array(1), sealed: new Uint8Array(1) };
    delegation = await startDelegation(rig, { agent: { interface: target, push: 'separate', credential } });
    onSend = raw(503, 'busy');
    const id = await delegation.hand();
    await follow(id, 3);
    onSend = result({ task: task('TASK_STATE_WORKING') });
    await follow(id, 3);
    await delegation.gateway.call('alice', 'CancelTask', { id });
    await follow(id, 1);
    const sends = agent.seen.filter(({ rpc }) => rpc.method === 'SendMessage');
    expect(sends).toHaveLength(4);
    expect(new Set(sends.map(({ text }) => text)).size).toBe(1);
    const others = methods().filter((method) => method !== 'SendMessage');
    expect(new Set(others)).toEqual(new Set(['CreateTaskPushNotificationConfig', 'GetTask', 'CancelTask']));
    for (const { headers, rawHeaders, rpc } of agent.seen) {
      expect(headers['a2a-version']).toBe('1.0');
      expect(rawHeaders).toContain(`Bearer ${CREDENTIAL}`);
      expect(rpc.params).toMatchObject({ tenant: 'acme' });
    }
  });
});

const ARTIFACT = { artifactId: 'a', parts: [{ text: 'brought' }] };

describe('a remote that cannot be sent to', () => {
  const lost: Reply = (response) => void response.destroy();

  it.each<readonly [string, Reply]>([
    ['loses the connection', lost],
    ['is busy (HTML, 502)', raw(502, '<html>bad gateway</html>', { 'content-type': 'text/html' })],
    ['has too much to do', raw(429, '', { 'retry-after': '120' })],
  ])('%s is tried later and later until the step is given up (K05, K07)', async (what, reply) => {
    onSend = reply;
    const id = await delegation.hand();
    const waits: number[] = [];
    for (let n = 0; n < 5; n++) {
      const wakeAt = await delegation.look(id);
      const wait = (wakeAt ?? 0) - delegation.services.clock.now();
      waits.push(Math.round(wait / 1000));
      delegation.ahead += wait + 1;
    }
    expect(methods()).toHaveLength(5);
    expect(waits).toEqual(what.startsWith('has') ? Array(5).fill(120) : [1, 2, 4, 8, 16]);
    expect((await statusOf(id)).state).toBe('TASK_STATE_WORKING');
    delegation.ahead = 11 * MINUTE;
    await follow(id, 1);
    expect(await statusOf(id)).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: expect.stringContaining('could not be reached') }] },
    });
  });

  it('because of a fault of its own is given up after five sends, or it would run the agent for ever', async () => {
    onSend = error(-32603);
    const id = await delegation.hand();
    await follow(id, 20);
    expect(methods()).toEqual(Array(5).fill('SendMessage'));
    expect((await statusOf(id)).state).toBe('TASK_STATE_FAILED');
  });

  const refused = 'did not accept';
  // It may have run all the same.
  const unread = 'not known here';

  it.each<readonly [string, Reply, string]>([
    ['refuses the params', error(-32602), refused],
    ['refuses the credential', raw(401, ''), refused],
    ['has gone', raw(410, ''), refused],
    ['sends us elsewhere', raw(307, '', { location: 'https://elsewhere.example.com/' }), refused],
    ['answers without a result (K08)', json(200, ({ rpc }) => ({ jsonrpc: '2.0', id: rpc.id })), unread],
    [
      'answers another question (B04)',
      result({ task: task('TASK_STATE_COMPLETED') }, { id: 'other' }),
      unread,
    ],
    ['answers no JSON', raw(200, '<html>'), unread],
    ['answers with HTML', raw(200, '<html>', { 'content-type': 'text/html' }), unread],
  ])('because it %s ends the step as failed, after one send', async (_, reply, words) => {
    onSend = reply;
    const id = await delegation.hand();
    await follow(id, 3);
    expect(methods()).toEqual(['SendMessage']);
    expect(await statusOf(id)).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: expect.stringContaining(words) }] },
    });
    expect(JSON.stringify(delegation.gateway.log.lines)).not.toContain('words of Alice');
  });
});

describe('a remote that was sent to', () => {
  it('is asked at 5, 10, 20 … seconds, five minutes at most (K01)', async () => {
    const id = await delegation.hand();
    const waits: number[] = [];
    for (let n = 0; n < 7; n++) {
      const wakeAt = await delegation.look(id);
      const wait = (wakeAt ?? 0) - delegation.services.clock.now();
      waits.push(Math.round(wait / 1000));
      delegation.ahead += wait + 1;
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300]);
    expect(methods()).toEqual(['SendMessage', ...Array(6).fill('GetTask')]);
  });

  it.each<readonly [string, Reply]>([
    ['is away', (response) => void response.destroy()],
    ['refuses our credential', raw(401, '')],
    ['answers about another task', result(inState('TASK_STATE_COMPLETED', {}, { id: 'another' }))],
    ['answers what cannot be read', result({ id: 't-1' })],
    ['answers another question (B04)', result(inState('TASK_STATE_COMPLETED'), { id: 'other' })],
  ])('and %s for a while is asked again, and nothing is concluded from it', async (_, reply) => {
    const id = await delegation.hand();
    onGet = reply;
    await follow(id, 5);
    expect((await statusOf(id)).state).toBe('TASK_STATE_WORKING');
    expect(await delegation.shown(id)).toMatchObject({ state: 'sent' });
    onGet = result(inState('TASK_STATE_COMPLETED', {}, { artifacts: [ARTIFACT] }));
    await follow(id, 1);
    expect((await statusOf(id)).state).toBe('TASK_STATE_COMPLETED');
  });

  it('and does not know the task any more is given up after a few looks', async () => {
    const id = await delegation.hand();
    onGet = error(-32001);
    await follow(id, 10);
    expect(methods()).toEqual(['SendMessage', ...Array(4).fill('GetTask')]);
    expect(await statusOf(id)).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: expect.stringContaining('not available') }] },
    });
  });

  it('and goes on for ever is told to stop at the deadline of the step', async () => {
    const id = await delegation.hand();
    await delegation.look(id);
    delegation.ahead = 11 * MINUTE;
    await follow(id, 1);
    expect(methods()).toEqual(['SendMessage', 'CancelTask']);
    expect((await statusOf(id)).state).toBe('TASK_STATE_FAILED');
  });

  it('and was taken away by an administrator ends the step as failed', async () => {
    const id = await delegation.hand();
    await delegation.look(id);
    await rig.store.write({ kind: 'delete', table: 'registry', key: keys.agent('far') });
    delegation.ahead = MINUTE;
    await follow(id, 1);
    expect((await statusOf(id)).state).toBe('TASK_STATE_FAILED');
    expect(methods()).toEqual(['SendMessage']);
  });
});
