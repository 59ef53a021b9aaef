import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MAX_REFUSED_REPLIES } from '../../shared/delegation/pass-reply.ts';
import type { ProviderAdapter } from '../../shared/providers/index.ts';
import type { Provider } from '../../shared/registry/index.ts';
import { error, type FakeAgent, type Reply, raw, result, startAgent, task } from '../client/fake-agent.ts';
import { echoProfile, message, register } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Delegation, startDelegation } from './rig.ts';

let rig: StoreRig;
let agent: FakeAgent;
let delegation: Delegation;
/** How the agent answers the first message, a reply, and GetTask. */
let onSend: Reply;
let onReply: Reply;
let onGet: Reply;

beforeAll(async () => {
  rig = await startStore();
  agent = await startAgent((response, seen) => {
    const sent = seen.rpc.params?.['message'] as { taskId?: string } | undefined;
    return (sent ? (sent.taskId ? onReply : onSend) : onGet)(response, seen);
  });
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});

const target = () => ({ interface: { url: agent.url, protocolVersion: '1.0' } });
beforeEach(async () => {
  agent.seen.length = 0;
  onSend = result({ task: ASKS });
  onReply = result({ task: WORKING });
  onGet = result(ASKS);
  delegation = await startDelegation(rig, { agent: target() });
});

const asking = (words: string, state = 'TASK_STATE_INPUT_REQUIRED') =>
  task(state, {
    status: { state, message: { messageId: words, role: 'ROLE_AGENT', parts: [{ text: words }] } },
  });
const ASKS = asking('Which colour?');
const WORKING = task('TASK_STATE_WORKING');
const DONE = task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text: 'red' }] }] });

const statusOf = async (id: string) => (await delegation.get(id)).status;
const stateOf = async (id: string) => (await statusOf(id)).state;
const reply = (id: string) =>
  delegation.gateway.call('alice', 'SendMessage', {
    message: message('red', { taskId: id }),
    configuration: { returnImmediately: true },
  });
async function later(id: string, dependency?: string, ms = 400_000) {
  delegation.ahead += ms;
  return delegation.look(id, dependency);
}
async function asked(): Promise<string> {
  const id = await delegation.hand();
  await delegation.look(id);
  expect(await stateOf(id)).toBe('TASK_STATE_INPUT_REQUIRED');
  return id;
}
const words = (text: string) => ({ message: { parts: [{ text: expect.stringContaining(text) }] } });

describe('a question that its agent withdraws', () => {
  it('is none of our task’s any more: it works on, and shows the next one', async () => {
    const id = await asked();
    onGet = result(WORKING);
    await later(id);
    expect(await stateOf(id)).toBe('TASK_STATE_WORKING');
    expect((await reply(id)).error).toMatchObject({ code: -32004 });
    onGet = result(asking('Which size?', 'TASK_STATE_AUTH_REQUIRED'));
    await later(id, undefined, 100_000);
    expect(await statusOf(id)).toMatchObject({ state: 'TASK_STATE_AUTH_REQUIRED', ...words('Which size?') });
  });

  it('is withdrawn also where a death came between', async () => {
    const id = await asked();
    const dependency = await delegation.dependency(id);
    await rig.store.write({
      kind: 'update',
      table: 'delegation',
      key: { pk: dependency.pk, sk: dependency.sk },
      changes: { remove: ['askedAt', 'asks', 'shown'] },
      when: [{ attribute: 'pk', is: 'present' }],
    });
    onGet = result(WORKING);
    await later(id);
    expect(await stateOf(id)).toBe('TASK_STATE_WORKING');
  });

  it('by ending its task is not shown while the run goes on', async () => {
    let go = () => {};
    const going = new Promise<void>((resolve) => {
      go = resolve;
    });
    const far: ProviderAdapter = {
      async run({ delegation: turn }) {
        if (!turn)
          return { kind: 'delegated', calls: [{ id: 'c', agent: 'far', parts: [{ text: 'words' }] }] };
        await going;
        return { kind: 'completed', artifacts: [] };
      },
    };
    delegation = await startDelegation(rig, { agent: target(), adapters: { far } });
    const id = await asked();
    onGet = result(DONE);
    await later(id);
    const run = delegation.gateway.runAll();
    await expect.poll(() => stateOf(id), { timeout: 5_000 }).toBe('TASK_STATE_WORKING');
    go();
    await run;
    expect(await stateOf(id)).toBe('TASK_STATE_COMPLETED');
  });
});

describe('of two agents that ask', () => {
  const pair: Provider = {
    id: 'pair',
    kind: 'function',
    functionName: 'pair',
    timeoutSeconds: 10,
    agents: ['far', 'near'],
  };
  const adapter: ProviderAdapter = {
    run: async ({ delegation: turn }) =>
      turn
        ? { kind: 'completed', artifacts: [] }
        : {
            kind: 'delegated',
            calls: ['far', 'near'].map((name) => ({ id: name, agent: name, parts: [{ text: 'words' }] })),
          },
  };
  let near: FakeAgent;
  beforeEach(async () => {
    const second = asking('Which size?');
    near = await startAgent((response, seen) =>
      result(seen.rpc.method === 'SendMessage' ? { task: second } : second)(response, seen),
    );
    delegation = await startDelegation(rig, {
      agent: target(),
      near: { interface: { url: near.url, protocolVersion: '1.0' } },
      providers: [pair],
      adapters: { pair: adapter },
    });
    return () => near[Symbol.asyncDispose]();
  });

  it.each([
    ['withdraws its question', WORKING],
    ['ends', DONE],
  ])('the second is shown when the first %s, and gets the reply', async (_, standing) => {
    const id = await delegation.hand('words', 'pair');
    await delegation.look(id, '0001.0000');
    await delegation.look(id, '0001.0001');
    expect(await statusOf(id)).toMatchObject(words('Which colour?'));
    onGet = result(standing);
    await later(id, '0001.0000', 10_000);
    expect(await statusOf(id)).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', ...words('Which size?') });
    expect((await reply(id)).error).toBeUndefined();
    await delegation.look(id, '0001.0001');
    expect(near.seen.map(({ rpc }) => rpc.method)).toEqual(['SendMessage', 'SendMessage']);
  });
});

describe('a reply', () => {
  it('that is answered with a Message is over with it', async () => {
    const id = await asked();
    onReply = result({ message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'red it is' }] } });
    await reply(id);
    await delegation.look(id);
    await delegation.gateway.runAll();
    expect(await delegation.get(id)).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'red it is' }] }],
    });
  });

  it('that is answered with another task completes nothing, is logged, and the task is asked for', async () => {
    const id = await asked();
    onReply = result({ task: { ...DONE, id: 't-2' } });
    onGet = result(WORKING);
    await reply(id);
    await delegation.look(id);
    expect(await stateOf(id)).toBe('TASK_STATE_WORKING');
    expect(agent.seen.at(-1)?.rpc).toMatchObject({ method: 'GetTask', params: { id: 't-1' } });
    expect(delegation.gateway.log.lines).toContainEqual(
      expect.objectContaining({
        fields: expect.objectContaining({ task: id, agent: 'far', fault: 'task-mismatch' }),
      }),
    );
  });

  it.each<readonly [string, Reply]>([
    ['refused', error(-32602)],
    ['refused by who stands before it', raw(401, '')],
  ])(
    'that is %s has our client asked again, told why, and the step ends after so many',
    async (_, refusing) => {
      const id = await asked();
      onReply = refusing;
      for (let n = 1; n < MAX_REFUSED_REPLIES; n++) {
        await reply(id);
        await delegation.look(id);
        const { state, message: shown } = await statusOf(id);
        expect(state).toBe('TASK_STATE_INPUT_REQUIRED');
        expect(shown.parts).toEqual([
          { text: expect.stringContaining('did not accept the last answer') },
          { text: 'Which colour?' },
        ]);
      }
      await reply(id);
      await delegation.look(id);
      await delegation.gateway.runAll();
      expect(await statusOf(id)).toMatchObject({ state: 'TASK_STATE_FAILED', ...words('did not accept') });
      expect(agent.seen.filter(({ rpc }) => rpc.method === 'CancelTask')).toHaveLength(1);
    },
  );

  it('that is refused once and taken then starts the count anew', async () => {
    const id = await asked();
    for (let n = 0; n < MAX_REFUSED_REPLIES; n++) {
      onReply = error(-32602);
      await reply(id);
      await delegation.look(id);
      onReply = result({ task: WORKING });
      await reply(id);
      await delegation.look(id);
      await later(id, undefined, 10_000);
      expect(await stateOf(id)).toBe('TASK_STATE_INPUT_REQUIRED');
    }
  });

  it('that meets a fault of the agent’s each time is passed on five times', async () => {
    const id = await asked();
    onReply = error(-32603);
    await reply(id);
    for (let n = 0; n < 6; n++) await later(id, undefined, 30_000);
    await delegation.gateway.runAll();
    expect(await stateOf(id)).toBe('TASK_STATE_FAILED');
    expect(agent.seen.filter(({ rpc }) => rpc.method === 'SendMessage')).toHaveLength(1 + 5);
  });
});

describe('a question that nobody answers', () => {
  const with1 = (profile: object, settings: object = {}) =>
    register(rig.store, {
      profiles: [{ ...echoProfile, id: 'far', providers: ['far'], ...profile }],
      settings: { defaultProfile: 'far', ...settings },
    });

  it('ends the task after the profile’s inputSeconds, and its agent is told', async () => {
    await with1({ inputSeconds: 120 });
    const id = await delegation.hand();
    await delegation.gateway.sweep();
    delegation.ahead += 61_000;
    // The sweeper comes to it again only when it would be given up.
    await delegation.gateway.sweep();
    await delegation.look(id);
    expect(await stateOf(id)).toBe('TASK_STATE_INPUT_REQUIRED');
    delegation.ahead += 119_000;
    await delegation.gateway.sweep();
    expect(await stateOf(id)).toBe('TASK_STATE_INPUT_REQUIRED');
    delegation.ahead += 3_000;
    await delegation.gateway.sweep();
    expect(await delegation.get(id)).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { reason: 'INPUT_EXPIRED' },
    });
    await delegation.look(id);
    expect(agent.seen.at(-1)?.rpc.method).toBe('CancelTask');
  });

  it('and is answered leaves the agent its time', async () => {
    await with1({ inputSeconds: 120 });
    const id = await asked();
    await reply(id);
    await delegation.look(id);
    delegation.ahead += 200_000;
    await delegation.gateway.sweep();
    expect(await stateOf(id)).toBe('TASK_STATE_WORKING');
  });

  it('when the agent’s time is over ends the step, saying for what it waited', async () => {
    const id = await asked();
    await later(id, undefined, 601_000);
    await delegation.gateway.runAll();
    expect(await statusOf(id)).toMatchObject({
      state: 'TASK_STATE_FAILED',
      ...words('an answer that did not come'),
    });
  });

  it('and an agent that works for too long are told apart, and neither is said to be out of reach', async () => {
    onSend = result({ task: WORKING });
    const id = await delegation.hand();
    await delegation.look(id);
    await later(id, undefined, 601_000);
    await delegation.gateway.runAll();
    expect(await statusOf(id)).toMatchObject({ state: 'TASK_STATE_FAILED', ...words('did not finish') });
  });

  it('and comes again and again ends the task when it has no room for one message more', async () => {
    await with1({}, { maxTaskMessages: 5 });
    const id = await asked();
    for (let n = 1; n < 3; n++) {
      const next = asking(`Again ${n}?`);
      onReply = result({ task: next });
      onGet = onReply;
      await reply(id);
      await delegation.look(id);
    }
    expect(await delegation.get(id)).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { reason: 'TOO_MANY_MESSAGES' },
    });
    await later(id);
    expect(agent.seen.at(-1)?.rpc.method).toBe('CancelTask');
  });
});
