import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createHandler } from '../../functions/callback/app.ts';
import { MAX_CALLBACK_BYTES } from '../../shared/delegation/callback.ts';
import { MAX_SIGNALS } from '../../shared/delegation/formats.ts';
import type { Store } from '../../shared/storage/port.ts';
import { type FakeAgent, type Reply, result, startAgent, task } from '../client/fake-agent.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type CallbackSeen, type Delegation, dumpTables, startDelegation, VARIABLES, woken } from './rig.ts';

/** Where a remote agent was told to call back, and by what credential. */
interface Address {
  readonly registration: string;
  readonly credential: string;
}

let rig: StoreRig;
let agent: FakeAgent;
let delegation: Delegation;
let state: string;
/** What the agent does before it answers a message. */
let beforeAnswer: (address: Address) => Promise<unknown>;
let addresses: Address[];

beforeAll(async () => {
  rig = await startStore();
  agent = await startAgent(async (response, seen) => {
    const { method, params } = seen.rpc;
    if (method === 'SendMessage') {
      const address = addressIn(params);
      addresses.push(address);
      await beforeAnswer(address);
      return answered({ task: task(state, ARTIFACTS) })(response, seen);
    }
    return answered(task(state, ARTIFACTS))(response, seen);
  });
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});
beforeEach(async () => {
  state = 'TASK_STATE_WORKING';
  beforeAnswer = async () => {};
  addresses = [];
  agent.seen.length = 0;
  const target = { url: agent.url, protocolVersion: '1.0' };
  delegation = await startDelegation(rig, { agent: { interface: target } });
});

const ARTIFACTS = { artifacts: [{ artifactId: 'a', parts: [{ text: 'of the agent' }] }] };
const answered = (value: unknown): Reply => result(value);

function addressIn(params: unknown): Address {
  const { taskPushNotificationConfig: push } = (params as { configuration: Record<string, never> })
    .configuration as unknown as {
    taskPushNotificationConfig: { url: string; authentication: { credentials: string } };
  };
  return {
    registration: push.url.slice(push.url.lastIndexOf('/') + 1),
    credential: push.authentication.credentials,
  };
}

const bearer = ({ credential }: Address) => ({ Authorization: `Bearer ${credential}` });
const callBack = (address: Address, body: string | Uint8Array = '{}', headers: object = {}) =>
  delegation.callBack(address.registration, { ...bearer(address), ...headers }, body);
const many = (count: number, call: (n: number) => Promise<CallbackSeen>) =>
  Promise.all(Array.from({ length: count }, (_, n) => call(n)));
const counted = (answers: readonly CallbackSeen[]) => ({
  ok: answers.filter(({ status }) => status === 200).length,
  full: answers.filter(({ status }) => status === 429).length,
});
const claims = (id: string, claimed = 'TASK_STATE_COMPLETED') =>
  JSON.stringify({ statusUpdate: { taskId: id, contextId: 'c-1', status: { state: claimed } } });
const asked = () => agent.seen.map(({ rpc }) => rpc.method);

/** A task that was handed on and sent. */
async function sent() {
  const id = await delegation.hand();
  await delegation.look(id);
  woken(delegation.gateway);
  return { id, address: addresses.at(-1)! };
}

describe('200 callbacks at once', () => {
  it('on one registration are 32 that are stored and 168 that are told to come again', async () => {
    const { id, address } = await sent();
    const answers = await many(200, (n) => callBack(address, claims(`t-${n}`)));
    expect(counted(answers)).toEqual({ ok: MAX_SIGNALS, full: 168 });
    expect((await delegation.registration(id))?.['signals']).toBe(MAX_SIGNALS);
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers['Retry-After'])).toBeGreaterThan(0);
    const { metrics } = delegation.gateway;
    expect([metrics.total('CallbackAccepted'), metrics.total('CallbackRefused')]).toEqual([32, 168]);
    // One look takes all that were there, and there is room for as many again.
    await delegation.look(id);
    expect(asked()).toEqual(['SendMessage', 'GetTask']);
    expect(counted(await many(200, () => callBack(address)))).toEqual({ ok: 32, full: 168 });
  });

  it('over five registrations fill each to its own bound, and none takes room from another', async () => {
    const tasks: Awaited<ReturnType<typeof sent>>[] = [];
    for (let n = 0; n < 5; n++) tasks.push(await sent());
    const answers = await many(200, (n) => callBack(tasks[n % 5]!.address));
    expect(counted(answers)).toEqual({ ok: 160, full: 40 });
    for (const { id } of tasks) expect((await delegation.registration(id))?.['signals']).toBe(MAX_SIGNALS);
    const other = await sent();
    expect((await callBack(other.address)).status).toBe(200);
  });

  it('while they are being reconciled never leave more than 32, and none that is stored is lost', async () => {
    const { id, address } = await sent();
    const looking = (async () => {
      for (let n = 0; n < 6; n++) await delegation.look(id);
    })();
    const [answers] = await Promise.all([many(200, () => callBack(address)), looking]);
    const waiting = delegation.gateway.metrics.measurements.filter(({ name }) => name === 'SignalsWaiting');
    const { ok, full } = counted(answers);
    expect(ok + full).toBe(200);
    expect(ok).toBeGreaterThanOrEqual(MAX_SIGNALS);
    expect(waiting).toHaveLength(ok);
    expect(Math.max(...waiting.map(({ value }) => value))).toBeLessThanOrEqual(MAX_SIGNALS);
    // Whatever was left is there to be looked at before any poll is due.
    while (Number((await delegation.registration(id))?.['signals']) > 0) {
      const before = asked().length;
      await delegation.look(id);
      expect(asked().length).toBe(before + 1);
    }
  });
});

describe('a callback without the right credential', () => {
  it('is answered alike whatever is wrong with it, and no table knows that it came', async () => {
    const { address } = await sent();
    const { address: other } = await sent();
    const right = bearer(address);
    const unknown = 'A'.repeat(24);
    const wrong: readonly (readonly [string, Record<string, string>])[] = [
      [address.registration, {}],
      [address.registration, { Authorization: '' }],
      [address.registration, { Authorization: 'Bearer' }],
      [address.registration, { Authorization: 'Bearer ' }],
      [address.registration, { Authorization: `Bearer ${address.credential}x` }],
      [address.registration, { Authorization: `Bearer ${address.credential.slice(0, -1)}` }],
      [address.registration, { Authorization: `Bearer ${'x'.repeat(10_000)}` }],
      [address.registration, { Authorization: `Basic ${address.credential}` }],
      [address.registration, { Authorization: address.credential }],
      [address.registration, { Authorization: `Bearer ${delegation.gateway.token('alice')}` }],
      // Of another agent's task (D16).
      [address.registration, bearer(other)],
      [other.registration, right],
      [unknown, right],
      ['', right],
      ['../callbacks', right],
      [`${address.registration}x`, right],
      // A notification token does not let in.
      [address.registration, { 'X-A2A-Notification-Token': address.credential }],
      [address.registration, { 'A2A-Notification-Token': address.credential, Cookie: address.credential }],
    ];
    const before = await dumpTables(rig);
    const lines = delegation.gateway.log.lines.length;
    const answers = [];
    for (const [id, headers] of wrong) {
      answers.push(await delegation.callBack(id, headers, claims('t-1')));
      answers.push(await delegation.callBack(id, headers, 'x'.repeat(MAX_CALLBACK_BYTES + 1)));
    }
    await many(50, () => delegation.callBack(address.registration, { Authorization: 'Bearer no' }));
    expect(await dumpTables(rig)).toEqual(before);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ status: 401, headers: { 'WWW-Authenticate': expect.any(String) } });
    expect(woken(delegation.gateway)).toEqual([]);
    expect(delegation.gateway.log.lines).toHaveLength(lines);
    expect((await callBack(address)).status).toBe(200);
  });
});

describe('a callback with the right credential', () => {
  it('needs no other header, and none keeps it out, whatever its content type (D05)', async () => {
    const { id, address } = await sent();
    const headers: readonly Record<string, string>[] = [
      {},
      { 'A2A-Version': '0.3' },
      { 'A2A-Version': '9.9', 'Content-Type': 'application/json' },
      { 'Content-Type': 'application/a2a+json; charset=utf-8' },
      { 'Content-Type': 'application/json;v=1' },
      { 'Content-Type': 'text/html' },
      { 'Content-Type': '' },
      { 'X-A2A-Notification-Token': 'wrong' },
      { 'A2A-Notification-Token': 'wrong', 'A2A-Extensions': 'https://example.com/unknown' },
    ];
    for (const more of headers) expect((await callBack(address, claims('t-1'), more)).status).toBe(200);
    for (const named of ['authorization', 'AUTHORIZATION'])
      for (const scheme of ['bearer', 'BEARER']) {
        const own = { [named]: `${scheme}  ${address.credential} ` };
        expect((await delegation.callBack(address.registration, own)).status).toBe(200);
      }
    expect((await delegation.registration(id))?.['signals']).toBe(headers.length + 4);
  });

  it('may have any body up to 256 KiB: each is one signal', async () => {
    const { id, address } = await sent();
    const bodies = [
      ...['', '{}', 'null', '[]', '"x"', '{"task":null}', '{"task":{"id":7}}', '<html>', '{'],
      new Uint8Array([0, 255, 254]),
      'x'.repeat(MAX_CALLBACK_BYTES),
    ];
    for (const body of bodies) expect((await callBack(address, body)).status).toBe(200);
    expect((await delegation.registration(id))?.['signals']).toBe(bodies.length);
    const before = await dumpTables(rig);
    for (const body of ['x'.repeat(MAX_CALLBACK_BYTES + 1), new Uint8Array(MAX_CALLBACK_BYTES + 1)])
      expect((await callBack(address, body)).status).toBe(413);
    expect(await dumpTables(rig)).toEqual(before);
  });

  it('is kept as a digest and what it claims to be about: of its content nothing is stored or logged', async () => {
    const { id, address } = await sent();
    const status = { state: 'TASK_STATE_WORKING', message: { parts: [{ text: 'secret words' }] } };
    await callBack(address, JSON.stringify({ statusUpdate: { taskId: 't-1', status } }));
    expect(await delegation.registration(id)).toMatchObject({
      signals: 1,
      claimedTask: 't-1',
      claimedKind: 'statusUpdate',
      digest: expect.stringMatching(/^[\w-]{43}$/),
    });
    await delegation.look(id);
    const kept = JSON.stringify([await dumpTables(rig), delegation.gateway.log.lines]);
    expect(kept).not.toContain('secret words');
  });

  it('is answered with success only when it is stored, and also when nobody could be woken', async () => {
    const { id, address } = await sent();
    const failing = { ...rig.store, write: async () => Promise.reject(new TypeError('no store')) } as Store;
    const { services } = delegation;
    const { log, metrics, inboxQueue } = services;
    const event = { pathParameters: { registration: address.registration }, headers: bearer(address) };
    const withoutStore = createHandler(VARIABLES, { store: failing, log, metrics, inboxQueue });
    expect((await withoutStore(event, {} as never)).statusCode).toBe(503);
    expect((await delegation.registration(id))?.['signals']).toBe(0);
    const send = async () => Promise.reject(new TypeError('no queue'));
    const seams = { store: rig.store, log, metrics, inboxQueue: { send } };
    expect((await createHandler(VARIABLES, seams)(event, {} as never)).statusCode).toBe(200);
    expect((await delegation.registration(id))?.['signals']).toBe(1);
  });

  it('decides nothing: what it says of the right task changes no state, the task itself is asked', async () => {
    const { id, address } = await sent();
    for (const claimed of ['COMPLETED', 'FAILED', 'CANCELED', 'INPUT_REQUIRED', 'MADE_UP'])
      await callBack(address, claims('t-1', `TASK_STATE_${claimed}`));
    await callBack(address, JSON.stringify({ task: task('TASK_STATE_COMPLETED', ARTIFACTS) }));
    await delegation.look(id);
    expect(asked()).toEqual(['SendMessage', 'GetTask']);
    expect(await delegation.shown(id)).toMatchObject({ state: 'sent', signalsWaiting: 0 });
    expect((await delegation.get(id)).status.state).toBe('TASK_STATE_WORKING');
    expect(delegation.gateway.metrics.total('CallbackMismatch')).toBe(0);
  });

  it('and the claim of another task is logged and counted, asks for the task that is waited for, and ends nothing', async () => {
    const { id, address } = await sent();
    await callBack(address, claims('somebody-elses'));
    await delegation.look(id);
    expect(agent.seen.at(-1)?.rpc).toMatchObject({ method: 'GetTask', params: { id: 't-1' } });
    expect(await delegation.shown(id)).toMatchObject({ state: 'sent', remoteTask: 't-1' });
    // Once, however often the task is looked at after that.
    for (const ahead of [60_000, 600_000]) {
      delegation.ahead = ahead;
      await delegation.look(id);
    }
    expect(delegation.gateway.metrics.total('CallbackMismatch')).toBe(1);
    expect(delegation.gateway.log.lines).toContainEqual({
      level: 'warn',
      message: 'a callback names another task than the one that is waited for',
      fields: { agent: 'far', task: id, dependency: '0001.0000' },
    });
  });
});

describe('a callback that comes before the answer to the message (D17)', () => {
  it('is kept, and its task is asked for as soon as its id is known', async () => {
    const answers: CallbackSeen[] = [];
    beforeAnswer = async (address) => void answers.push(await callBack(address, claims('t-1')));
    const id = await delegation.hand();
    await delegation.look(id);
    expect(answers.map(({ status }) => status)).toEqual([200]);
    expect(await delegation.shown(id)).toMatchObject({ state: 'sent', signalsWaiting: 1 });
    state = 'TASK_STATE_COMPLETED';
    // Nothing is due yet: what makes it look is the signal.
    await delegation.look(id);
    expect(asked()).toEqual(['SendMessage', 'GetTask']);
    expect(await delegation.shown(id)).toMatchObject({ state: 'ended', outcome: 'completed' });
  });
});

describe('callbacks twice, late, out of order and at once (D11)', () => {
  it('resolve a dependency once', async () => {
    const { id, address } = await sent();
    state = 'TASK_STATE_COMPLETED';
    delegation.gateway.runQueue.messages.length = 0;
    await Promise.all([
      ...Array.from({ length: 10 }, () => callBack(address, claims('t-1'))),
      ...Array.from({ length: 10 }, () => delegation.look(id)),
    ]);
    await delegation.look(id);
    expect(await delegation.shown(id)).toMatchObject({ outcome: 'completed' });
    expect(delegation.gateway.metrics.total('DependencyEnded')).toBe(1);
    expect(delegation.gateway.runQueue.messages).toHaveLength(1);
    await delegation.gateway.runAll();
    const ended = await delegation.get(id);
    expect(ended).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' }, ...expectedArtifacts });
  });

  it('after the end are answered with success, however many, and change nothing', async () => {
    const { id, address } = await sent();
    state = 'TASK_STATE_COMPLETED';
    delegation.ahead = 60_000;
    await delegation.look(id);
    await delegation.gateway.runAll();
    state = 'TASK_STATE_WORKING';
    woken(delegation.gateway);
    const before = await dumpTables(rig);
    const answers = await many(100, () => callBack(address, claims('t-1', 'TASK_STATE_WORKING')));
    expect(counted(answers)).toEqual({ ok: 100, full: 0 });
    expect(woken(delegation.gateway)).toEqual([]);
    await delegation.look(id);
    expect(await dumpTables(rig)).toEqual(before);
    expect((await delegation.get(id)).status.state).toBe('TASK_STATE_COMPLETED');
    expect(asked().filter((method) => method === 'GetTask')).toHaveLength(1);
  });
});

describe('a callback that crosses the end of its dependency', () => {
  it('is answered with success and changes nothing', async () => {
    const { id, address } = await sent();
    const open = await delegation.registration(id);
    state = 'TASK_STATE_COMPLETED';
    delegation.ahead = 60_000;
    await delegation.look(id);
    woken(delegation.gateway);
    const before = await dumpTables(rig);
    // What it read was still open; the write comes after the end.
    const late = { ...rig.store, get: async () => open } as Store;
    const { log, metrics, inboxQueue } = delegation.services;
    const handler = createHandler(VARIABLES, { store: late, log, metrics, inboxQueue });
    const event = { pathParameters: { registration: address.registration }, headers: bearer(address) };
    expect((await handler(event, {} as never)).statusCode).toBe(200);
    expect(await dumpTables(rig)).toEqual(before);
    expect(woken(delegation.gateway)).toEqual([]);
  });
});

const expectedArtifacts = { artifacts: [{ parts: [{ text: 'of the agent' }] }] };
