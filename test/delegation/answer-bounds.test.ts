import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MAX_ANSWER_BYTES } from '../../shared/delegation/resolve.ts';
import { StoreFault } from '../../shared/storage/index.ts';
import type { Store } from '../../shared/storage/port.ts';
import { error, type FakeAgent, type Reply, result, startAgent, task } from '../client/fake-agent.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Delegation, startDelegation } from './rig.ts';

let rig: StoreRig;
let agent: FakeAgent;
let delegation: Delegation;
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

const methods = () => agent.seen.map(({ rpc }) => rpc.method);
const statusOf = async (id: string) => (await delegation.get(id)).status;
const says = (text: string) => ({
  state: 'TASK_STATE_FAILED',
  message: { parts: [{ text: expect.stringContaining(text) }] },
});

async function follow(id: string, looks: number): Promise<void> {
  for (let n = 0; n < looks; n++) {
    const wakeAt = await delegation.look(id);
    if (wakeAt === undefined) break;
    delegation.ahead += Math.max(0, wakeAt - delegation.services.clock.now()) + 1;
  }
  await delegation.gateway.runAll();
}

describe('a remote whose task could not be kept', () => {
  it.each([
    ['its id has over 256 characters', { id: 'z'.repeat(257) }],
    ['its context’s id has over 256 characters', { contextId: 'z'.repeat(100_000) }],
    ['its id is no Unicode', { id: 'a\ud800' }],
  ])('is sent to once, and the step fails at once, where %s', async (_, ids) => {
    onSend = result({ task: task('TASK_STATE_WORKING', ids) });
    const id = await delegation.hand();
    await follow(id, 3);
    expect(methods()).toEqual(['SendMessage']);
    expect(await statusOf(id)).toMatchObject(says('not known here'));
  });

  it('may have an id of 256 characters', async () => {
    const at = { id: 'é'.repeat(256), contextId: '漢'.repeat(256) };
    onSend = result({ task: task('TASK_STATE_WORKING', at) });
    onGet = result(task('TASK_STATE_COMPLETED', at));
    const id = await delegation.hand();
    await follow(id, 2);
    expect((await statusOf(id)).state).toBe('TASK_STATE_COMPLETED');
  });
});

describe('what a remote answered and we cannot write', () => {
  it('is asked for five times, not for ever, and then fails the step', async () => {
    const { store } = delegation.services;
    const broken: Store = {
      ...store,
      transact: (actions, token) => {
        const acknowledges = actions.some((one) => one.kind === 'update' && one.changes.set?.['remoteTask']);
        if (acknowledges) throw new StoreFault('transact', 'too large');
        return store.transact(actions, token);
      },
    };
    Object.assign(delegation.services, { store: broken });
    const id = await delegation.hand();
    await follow(id, 20);
    expect(methods()).toEqual(Array(5).fill('SendMessage'));
    expect(await statusOf(id)).toMatchObject(says('could not be kept'));
  });
});

describe('a remote that could not be reached for long', () => {
  it('is not given up for the first fault of its own', async () => {
    onSend = (response) => void response.destroy();
    const id = await delegation.hand();
    await follow(id, 6);
    onSend = error(-32603);
    await follow(id, 1);
    onSend = result({ task: task('TASK_STATE_COMPLETED') });
    await follow(id, 1);
    expect((await statusOf(id)).state).toBe('TASK_STATE_COMPLETED');
  });
});

describe('a result of a remote', () => {
  const brought = (bytes: number) => ({
    artifacts: [{ artifactId: 'a', parts: [{ text: 'x'.repeat(bytes) }] }],
  });

  it.each([
    ['than what is written at once', MAX_ANSWER_BYTES + 1],
    ['than a transaction takes', 5_000_000],
    ['than an answer that is read', 9 * 1024 * 1024],
  ])('larger %s fails the step at once, with the words of a result that is too large', async (_, bytes) => {
    onGet = result(task('TASK_STATE_COMPLETED', brought(bytes)));
    const id = await delegation.hand();
    await follow(id, 2);
    expect(methods().slice(0, 2)).toEqual(['SendMessage', 'GetTask']);
    expect(await delegation.shown(id)).toMatchObject({ state: 'ended', outcome: 'failed' });
    expect(await statusOf(id)).toMatchObject(says('larger than this gateway keeps'));
    expect(delegation.gateway.log.lines.filter(({ fields }) => fields['error'])).toEqual([]);
  });

  it('larger than an answer that is read fails the step at once also where it is the first answer', async () => {
    onSend = result({ task: task('TASK_STATE_COMPLETED', brought(9 * 1024 * 1024)) });
    const id = await delegation.hand();
    await follow(id, 2);
    expect(methods()).toEqual(['SendMessage']);
    expect(await statusOf(id)).toMatchObject(says('larger than this gateway keeps'));
  });

  it('reaches a provider that can make something of it also where it is larger than a task’s result', async () => {
    onGet = result(task('TASK_STATE_COMPLETED', brought(3_000_000)));
    const id = await delegation.hand();
    await follow(id, 2);
    expect(await delegation.shown(id)).toMatchObject({ state: 'ended', outcome: 'completed' });
    expect((await delegation.get(id)).metadata).toMatchObject({ reason: 'RESULT_TOO_LARGE' });
  });

  it('that is a question of more than a message fails the step at once', async () => {
    const asks = { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: 'x'.repeat(2_100_000) }] };
    onGet = result(
      task('TASK_STATE_INPUT_REQUIRED', { status: { state: 'TASK_STATE_INPUT_REQUIRED', message: asks } }),
    );
    const id = await delegation.hand();
    await follow(id, 2);
    expect(await statusOf(id)).toMatchObject(says('larger than this gateway keeps'));
  });

  it('is kept where the last words beside it have no part that is known here', async () => {
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ hologram: 1 }] };
    onGet = result({
      ...task('TASK_STATE_COMPLETED', brought(3)),
      status: { state: 'TASK_STATE_COMPLETED', message },
    });
    const id = await delegation.hand();
    await follow(id, 2);
    const { status, artifacts } = await delegation.get(id);
    expect(status).not.toHaveProperty('message');
    expect(artifacts).toMatchObject([{ parts: [{ text: 'xxx' }] }]);
    expect(delegation.gateway.log.lines).toContainEqual(
      expect.objectContaining({
        fields: expect.objectContaining({ task: id, agent: 'far', path: 'status.message.parts[0]' }),
      }),
    );
  });
});
