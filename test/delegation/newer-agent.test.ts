import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeAgent, type Reply, result, startAgent } from '../client/fake-agent.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Delegation, startDelegation } from './rig.ts';

let rig: StoreRig;
let agent: FakeAgent;
let delegation: Delegation;
/** What the agent answers to SendMessage, and to GetTask. */
let sent: unknown;
let task: unknown;

beforeAll(async () => {
  rig = await startStore();
  const answer: Reply = (response, seen) =>
    result(seen.rpc.method === 'SendMessage' ? sent : task)(response, seen);
  agent = await startAgent(answer);
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});
beforeEach(async () => {
  agent.seen.length = 0;
  sent = { task: { id: 't-1', contextId: 'c-1', status: { state: 'TASK_STATE_WORKING' } } };
  const target = { url: agent.url, protocolVersion: '1.0' };
  delegation = await startDelegation(rig, { agent: { interface: target } });
});

const withState = (state: unknown, more: object = {}, status: object = {}) => ({
  id: 't-1',
  contextId: 'c-1',
  status: { state, ...status },
  ...more,
});
const completed = (more: object = {}, status: object = {}) => withState('TASK_STATE_COMPLETED', more, status);
const artifact = (id: string, ...parts: object[]) => ({ artifactId: id, parts });
const HOLOGRAM = { hologram: { depth: 3 }, mediaType: 'model/x' };

/** The task as it is after one exchange with the agent, and another one much later. */
async function handAndLook(): Promise<string> {
  const id = await delegation.hand();
  await delegation.look(id);
  await lookLater(id);
  return id;
}

async function lookLater(id: string) {
  delegation.ahead += 600_000 - 1_000;
  await delegation.look(id);
  await delegation.gateway.runAll();
}

const told = () =>
  delegation.gateway.log.lines
    .filter(({ message }) => message === 'a remote agent said what is not known here')
    .map(({ fields: { kind, name, path } }) => `${kind} ${path} ${name}`);
const stateOf = async (id: string) => (await delegation.get(id)).status.state;

describe('an agent of a newer version', () => {
  it('may say more than this version knows, anywhere, and is understood', async () => {
    const extra = { novel: { deep: [1, { x: null }] }, another: 'thing' };
    const message = {
      messageId: 'm',
      role: 'ROLE_AGENT',
      parts: [{ text: 'All done.', ...extra }],
      ...extra,
    };
    sent = { task: withState('TASK_STATE_WORKING', extra, extra), ...extra };
    task = completed(
      { artifacts: [{ ...artifact('a', { text: 'brought', ...extra }), ...extra }], ...extra },
      { message, timestamp: '2026-12-01T00:00:00.123456789Z', ...extra },
    );
    const id = await handAndLook();
    expect(await delegation.get(id)).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'All done.' }] } },
      artifacts: [{ parts: [{ text: 'brought' }] }],
    });
    expect(JSON.stringify(await delegation.get(id))).not.toMatch(/novel|another/);
    expect(told()).toEqual([]);
  });

  it.each([
    ['no timestamp', {}, []],
    ['an unreadable one', { timestamp: 'yesterday' }, ['unreadable-timestamp status.timestamp string']],
  ])('may leave out what is optional: %s', async (_, status, lines) => {
    task = completed({ artifacts: [artifact('a', { text: 'brought' })] }, status);
    const id = await handAndLook();
    expect(await stateOf(id)).toBe('TASK_STATE_COMPLETED');
    expect(told()).toEqual(lines);
  });

  it.each([
    ['TASK_STATE_PONDERING', 'TASK_STATE_PONDERING'],
    ['completed', 'completed'],
    ['TASK_STATE_UNSPECIFIED', 'TASK_STATE_UNSPECIFIED'],
    [97, '97'],
  ])('in a state that nobody knows (%s) has not ended, and that is logged', async (state, name) => {
    task = withState(state, { artifacts: [artifact('a', { text: 'brought' })] });
    const id = await handAndLook();
    expect(await delegation.shown(id)).toMatchObject({ state: 'sent', tries: 0 });
    expect(await stateOf(id)).toBe('TASK_STATE_WORKING');
    expect(told()).toEqual([`unknown-state status.state ${name}`]);
  });

  it('in such a state goes on, and its end is its end; without one it is given up at its deadline', async () => {
    task = withState('TASK_STATE_PONDERING');
    const [going, stuck] = [await delegation.hand(), await delegation.hand()];
    for (const id of [going, stuck]) await delegation.look(id);
    delegation.ahead = 300_000;
    for (const id of [going, stuck]) await delegation.look(id);
    task = completed({ artifacts: [artifact('a', { text: 'brought' })] });
    delegation.ahead = 590_000;
    await delegation.look(going);
    task = withState('TASK_STATE_PONDERING');
    delegation.ahead = 610_000;
    await delegation.look(stuck);
    await delegation.gateway.runAll();
    expect(await stateOf(going)).toBe('TASK_STATE_COMPLETED');
    expect(await stateOf(stuck)).toBe('TASK_STATE_FAILED');
  });

  it('that asks its client with an unknown role is heard', async () => {
    const message = { messageId: 'm', role: 'ROLE_ORACLE', parts: [{ text: 'Which colour?' }, HOLOGRAM] };
    task = withState('TASK_STATE_INPUT_REQUIRED', {}, { message });
    const id = await handAndLook();
    expect((await delegation.get(id)).status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { role: 'ROLE_AGENT', parts: [{ text: 'Which colour?' }] },
    });
    expect(told()).toEqual([
      'unknown-role status.message.role ROLE_ORACLE',
      'unknown-part status.message.parts[1] hologram',
    ]);
  });
});

describe('what an agent brings in a form that nobody knows', () => {
  it('is left out beside what is known, and logged', async () => {
    task = completed({
      artifacts: [
        artifact('a', HOLOGRAM, { text: 'brought' }, { smell: 'x' }),
        artifact('b', HOLOGRAM),
        artifact('c', { data: { n: 0 } }),
      ],
    });
    const id = await handAndLook();
    const { status, artifacts } = await delegation.get(id);
    expect(status.state).toBe('TASK_STATE_COMPLETED');
    expect(artifacts).toEqual([
      expect.objectContaining({ artifactId: 'a', parts: [{ text: 'brought' }] }),
      expect.objectContaining({ artifactId: 'c', parts: [{ data: { n: 0 } }] }),
    ]);
    expect(told()).toEqual([
      'unknown-part artifacts[0].parts[0] hologram',
      'unknown-part artifacts[0].parts[2] smell',
      'unknown-part artifacts[1].parts[0] hologram',
    ]);
  });

  it.each(['by a poll', 'at once'])('and is all that it brings (%s) completes nothing', async (how) => {
    task = completed({ artifacts: [artifact('a', HOLOGRAM), artifact('b', { smell: 'x' })] });
    if (how === 'at once') sent = { task };
    const id = await handAndLook();
    expect(await delegation.shown(id)).toMatchObject({ state: 'ended', outcome: 'failed' });
    expect(await delegation.get(id)).toMatchObject({
      status: {
        state: 'TASK_STATE_FAILED',
        message: { parts: [{ text: expect.stringContaining('not known') }] },
      },
    });
    expect(told()).toHaveLength(2);
  });

  it('is told apart from nothing: a task without artifacts, or with empty ones, is completed', async () => {
    task = completed({ artifacts: [artifact('a'), { artifactId: 'b' }] });
    const id = await handAndLook();
    expect((await delegation.get(id)).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await delegation.get(id)).artifacts ?? []).toEqual([]);
  });

  it('as the answer to the message is no result and no task', async () => {
    sent = { job: { id: 't-1', status: { state: 'TASK_STATE_COMPLETED' } } };
    const id = await handAndLook();
    expect(agent.seen.map(({ rpc }) => rpc.method)).toEqual(['SendMessage']);
    expect(await stateOf(id)).toBe('TASK_STATE_FAILED');
    expect(told()).toEqual(['unknown-member result job']);
  });

  it('as a Message without any readable part is no result', async () => {
    sent = { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [HOLOGRAM] } };
    const id = await handAndLook();
    expect(await stateOf(id)).toBe('TASK_STATE_FAILED');
    expect(delegation.gateway.log.lines).toContainEqual(
      expect.objectContaining({
        message: 'a remote agent did not answer as asked',
        fields: expect.objectContaining({ kind: 'protocol-error', fault: 'wrong-shape' }),
      }),
    );
  });

  it('as a member of a stream that is pushed is one signal, and completes nothing', async () => {
    const id = await delegation.hand();
    await delegation.look(id);
    const push = (agent.seen[0]!.rpc.params as { configuration: Record<string, PushConfig> }).configuration[
      'taskPushNotificationConfig'
    ]!;
    const registration = push.url.split('/').at(-1)!;
    const headers = { authorization: `Bearer ${push.authentication.credentials}` };
    task = withState('TASK_STATE_WORKING');
    for (const body of [
      { jobUpdate: { taskId: 't-1', status: { state: 'TASK_STATE_COMPLETED' } } },
      { statusUpdate: { taskId: 't-1', status: { state: 'TASK_STATE_PONDERING' } }, novel: true },
      { artifactUpdate: { taskId: 't-1', artifact: artifact('a', HOLOGRAM), lastChunk: true } },
    ])
      expect((await delegation.callBack(registration, headers, JSON.stringify(body))).status).toBe(200);
    await delegation.look(id);
    expect(await delegation.shown(id)).toMatchObject({ state: 'sent', signalsWaiting: 0 });
    expect(await stateOf(id)).toBe('TASK_STATE_WORKING');
  });
});

interface PushConfig {
  readonly url: string;
  readonly authentication: { readonly credentials: string };
}
