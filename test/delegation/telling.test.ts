import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelDependency } from '../../shared/delegation/operate.ts';
import { takeMessage } from '../../shared/delegation/take.ts';
import { MAX_TELLS } from '../../shared/delegation/tell.ts';
import { sweepDependencies } from '../../shared/delegation/wake.ts';
import { auditEntry } from '../../shared/registry/index.ts';
import { purgeTask } from '../../shared/retention/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import {
  error,
  type FakeAgent,
  never,
  type Reply,
  raw,
  result,
  startAgent,
  task,
} from '../client/fake-agent.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Delegation, FIRST, farAgent, startDelegation, woken } from './rig.ts';

let rig: StoreRig;
let agent: FakeAgent;
let delegation: Delegation;
let onCancel: Reply;
let onSend: Reply;

beforeAll(async () => {
  rig = await startStore();
  agent = await startAgent((response, seen) => {
    if (seen.rpc.method === 'CancelTask') return onCancel(response, seen);
    return (seen.rpc.method === 'SendMessage' ? onSend : result(WORKING))(response, seen);
  });
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});
const target = () => ({ interface: { url: agent.url, protocolVersion: '1.0' } });
beforeEach(async () => {
  agent.seen.length = 0;
  onSend = result({ task: WORKING });
  onCancel = result(task('TASK_STATE_CANCELED'));
  delegation = await startDelegation(rig, { agent: target() });
});

const WORKING = task('TASK_STATE_WORKING');
const away: Reply = (response) => void response.destroy();
const tells = () => agent.seen.filter(({ rpc }) => rpc.method === 'CancelTask').length;
const isDue = async (id: string) => (await delegation.dependency(id))['da'] !== undefined;

async function sent(): Promise<string> {
  const id = await delegation.hand();
  await delegation.look(id);
  return id;
}
/** What a sweep of the minute and the queue come to. */
async function sweep(ms: number) {
  delegation.ahead += ms;
  woken(delegation.gateway);
  await sweepDependencies(delegation.services, Number.POSITIVE_INFINITY);
  for (const message of woken(delegation.gateway)) await takeMessage(delegation.services, message);
}
const cancel = (id: string) => delegation.gateway.call('alice', 'CancelTask', { id });
const disable = (id = 'far') => {
  const data = { ...farAgent, ...target(), id, disabled: true } as never;
  return rig.store.write({
    kind: 'put',
    table: 'registry',
    item: { ...keys.agent(id), v: 1, edition: 2, data },
  });
};

describe('an agent for whose task nobody waits any more', () => {
  it('is told once where it answers', async () => {
    const id = await sent();
    await cancel(id);
    await delegation.look(id);
    for (let n = 0; n < 3; n++) await sweep(3_600_000);
    expect(tells()).toBe(1);
    expect(await isDue(id)).toBe(false);
  });

  it.each<readonly [string, Reply]>([
    ['away', away],
    ['busy', raw(503, '')],
    ['at fault', error(-32603)],
  ])('and is %s is told again when it is back, though its step and our task have ended', async (_, reply) => {
    onCancel = reply;
    const id = await sent();
    await cancel(id);
    await delegation.look(id);
    expect(await delegation.shown(id)).toMatchObject({ state: 'ended', outcome: 'canceled', told: 1 });
    for (let n = 0; n < 2; n++) await sweep(60_000);
    onCancel = result(task('TASK_STATE_CANCELED'));
    await sweep(600_000);
    expect(tells()).toBe(4);
    expect(await isDue(id)).toBe(false);
    await sweep(3_600_000);
    expect(tells()).toBe(4);
  });

  it('and is never there again is told so often, within an hour, and that it could not be is logged and counted', async () => {
    onCancel = away;
    const id = await sent();
    await cancel(id);
    await delegation.look(id);
    for (let n = 0; n < 62; n++) await sweep(60_000);
    expect(tells()).toBe(MAX_TELLS);
    expect(await isDue(id)).toBe(false);
    expect(delegation.gateway.metrics.total('RemoteUntold')).toBe(1);
    expect(delegation.gateway.log.lines).toContainEqual(
      expect.objectContaining({
        message: 'a remote agent could not be told that nobody waits any more',
        fields: { task: id, dependency: FIRST, agent: 'far' },
      }),
    );
  });

  it.each([
    ['cannot be canceled', -32002],
    ['is not known any more', -32001],
  ])('and answers that its task %s is told once', async (_, code) => {
    onCancel = error(code);
    const id = await sent();
    await cancel(id);
    await delegation.look(id);
    await sweep(3_600_000);
    expect(tells()).toBe(1);
  });

  it('is told by one worker at a time, also after a death between the end and the call', async () => {
    onCancel = away;
    const id = await sent();
    await cancel(id);
    await delegation.look(id);
    delegation.ahead += 11_000;
    await Promise.all([1, 2, 3].map(() => delegation.look(id)));
    expect(tells()).toBe(2);
  });

  it('is told when an operator ends the step, and when its time is over', async () => {
    onCancel = away;
    const [canceled, late] = [await sent(), await sent()];
    const deed = auditEntry(
      delegation.services,
      { actor: 'ada', operation: 'dependency.cancel' },
      { kind: 'dependency', id: 'x' },
    );
    await cancelDependency(delegation.services, canceled, FIRST, deed);
    await delegation.look(canceled);
    delegation.ahead += 601_000;
    await delegation.look(late);
    onCancel = result(task('TASK_STATE_CANCELED'));
    await sweep(120_000);
    expect(tells()).toBe(4);
  });

  it('holds up nothing: the step ends at once', async () => {
    onCancel = never();
    delegation = await startDelegation(rig, {
      agent: target(),
      clientOf: async () => {
        throw new TypeError('no credential');
      },
    });
    const id = await delegation.hand();
    await rig.store.write({
      kind: 'update',
      table: 'delegation',
      key: keys.dependency(id, FIRST),
      changes: { set: { state: 'sent', remoteTask: 't-1', da: keys.dueAt(0) } },
      when: [{ attribute: 'pk', is: 'present' }],
    });
    await cancel(id);
    await delegation.look(id);
    expect(await delegation.shown(id)).toMatchObject({ state: 'ended', told: 1 });
  });

  it('is forgotten with its task', async () => {
    onCancel = away;
    const id = await sent();
    await cancel(id);
    await delegation.look(id);
    await purgeTask(delegation.services, id, () => true);
    for (let n = 0; n < 3; n++) await sweep(600_000);
    expect(tells()).toBe(1);
    await expect(delegation.dependency(id)).rejects.toThrow();
  });

  it('is told also where it acknowledged the message only after our client had canceled', async () => {
    let answer = () => {};
    const answers = new Promise<void>((resolve) => {
      answer = resolve;
    });
    onSend = async (response, seen) => {
      await answers;
      await result({ task: WORKING })(response, seen);
    };
    const id = await delegation.hand();
    const sending = delegation.look(id);
    await expect.poll(() => agent.seen.length).toBe(1);
    await cancel(id);
    await delegation.look(id);
    answer();
    await sending;
    await sweep(10_000);
    expect(tells()).toBe(1);
    expect(await delegation.shown(id)).toMatchObject({ state: 'ended', outcome: 'canceled' });
  });

  it('is not told where it never acknowledged anything: nobody knows what to cancel', async () => {
    onSend = away;
    const id = await sent();
    await cancel(id);
    await delegation.look(id);
    await sweep(600_000);
    expect(agent.seen.map(({ rpc }) => rpc.method)).toEqual(['SendMessage']);
    expect(await isDue(id)).toBe(false);
  });
});

describe('an agent that is disabled', () => {
  it('is told that nobody waits for what it works on, and the step ends as failed', async () => {
    const id = await sent();
    await disable();
    delegation.ahead += 10_000;
    await delegation.look(id);
    await delegation.gateway.runAll();
    expect(tells()).toBe(1);
    expect(await delegation.get(id)).toMatchObject({
      status: {
        state: 'TASK_STATE_FAILED',
        message: { parts: [{ text: expect.stringContaining('not available') }] },
      },
    });
  });
});
