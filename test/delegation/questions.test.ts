import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeAgent, type Reply, result, startAgent, task } from '../client/fake-agent.ts';
import { message } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Delegation, startDelegation } from './rig.ts';

let rig: StoreRig;
let agent: FakeAgent;
let delegation: Delegation;
/** The agent's task as it answers it to SendMessage, and to GetTask. */
let acknowledged: object;
let standing: object;

beforeAll(async () => {
  rig = await startStore();
  const answer: Reply = (response, seen) =>
    result(seen.rpc.method === 'SendMessage' ? { task: acknowledged } : standing)(response, seen);
  agent = await startAgent(answer);
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});
beforeEach(async () => {
  agent.seen.length = 0;
  acknowledged = ASKS;
  standing = ASKS;
  const target = { url: agent.url, protocolVersion: '1.0' };
  delegation = await startDelegation(rig, { agent: { interface: target } });
});

const asking = (words: string, id: string) =>
  task('TASK_STATE_INPUT_REQUIRED', {
    status: {
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { messageId: id, role: 'ROLE_AGENT', parts: [{ text: words }] },
    },
  });
const ASKS = asking('Which colour?', 'q-1');
const WORKING = task('TASK_STATE_WORKING');
const DONE = task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text: 'red' }] }] });

/** A task whose agent asked, and got our client's reply. */
async function replied(): Promise<string> {
  const id = await delegation.hand();
  await delegation.look(id);
  expect((await delegation.get(id)).status).toMatchObject({
    state: 'TASK_STATE_INPUT_REQUIRED',
    message: { parts: [{ text: 'Which colour?' }] },
  });
  const { error } = await delegation.gateway.call('alice', 'SendMessage', {
    message: message('red', { taskId: id }),
    configuration: { returnImmediately: true },
  });
  expect(error).toBeUndefined();
  return id;
}

const statusOf = async (id: string) => (await delegation.get(id)).status;

describe('a reply that is passed on', () => {
  it('carries our client’s words to the remote’s task, under an id of its own', async () => {
    const id = await replied();
    acknowledged = WORKING;
    await delegation.look(id);
    expect(agent.seen.map(({ rpc }) => rpc.method)).toEqual(['SendMessage', 'SendMessage']);
    const [first, second] = agent.seen.map(({ rpc }) => rpc.params?.['message'] as Record<string, unknown>);
    expect(second).toMatchObject({ taskId: 't-1', contextId: 'c-1', parts: [{ text: 'red' }] });
    expect(second?.['messageId']).not.toBe(first?.['messageId']);
    expect((await statusOf(id)).state).toBe('TASK_STATE_WORKING');
  });

  it('is not asked for again by a remote that acknowledges it with the task as it stood', async () => {
    const id = await replied();
    const wakeAt = await delegation.look(id);
    expect((await statusOf(id)).state).toBe('TASK_STATE_WORKING');
    expect(wakeAt).toBeGreaterThan(delegation.services.clock.now());
    standing = DONE;
    delegation.ahead = 6_000;
    await delegation.look(id);
    await delegation.gateway.runAll();
    expect(await delegation.get(id)).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'red' }] }],
    });
  });

  it('is asked for again where the remote still asks at the next poll', async () => {
    const id = await replied();
    await delegation.look(id);
    delegation.ahead = 6_000;
    await delegation.look(id);
    expect(await statusOf(id)).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'Which colour?' }] },
    });
  });

  it('may be followed by another question at once', async () => {
    const id = await replied();
    acknowledged = asking('How many?', 'q-2');
    await delegation.look(id);
    expect(await statusOf(id)).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'How many?' }] },
    });
  });
});
