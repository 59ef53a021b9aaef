import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type A2AClient,
  type CallOutcome,
  fetchAgentCard,
  type StreamItem,
  selectInterface,
  sendAndWait,
} from '../../shared/client/index.ts';
import type { PeerTask } from '../../shared/protocol/index.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { type SdkAgent, startSdkAgent } from './a2a-js-agent.ts';
import { clientOf, collect, loopbackGuard, POLICY } from './fake-agent.ts';

let agent: SdkAgent;
let client: A2AClient;

beforeEach(async () => {
  for (const level of ['error', 'warn', 'debug'] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
  agent = await startSdkAgent();
  const fetched = await fetchAgentCard({
    guard: loopbackGuard,
    policy: POLICY,
    clock: systemClock,
    url: agent.cardUrl,
  });
  if (fetched.kind !== 'card') throw new Error(fetched.kind);
  expect(fetched.missing).toEqual([]);
  const choice = selectInterface(fetched.card, agent.cardUrl);
  if (choice.kind !== 'selected') throw new Error(choice.kind);
  client = clientOf(agent, { interface: choice.interface });
});

afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  vi.restoreAllMocks();
});

let messages = 0;
function say(text: string, more: { taskId?: string; now?: boolean } = {}) {
  messages += 1;
  const { taskId, now = false } = more;
  return {
    message: {
      messageId: `m-${messages}`,
      role: 'ROLE_USER' as const,
      parts: [{ text }],
      ...(taskId && { taskId }),
    },
    ...(now && { configuration: { returnImmediately: true } }),
  };
}

function answerOf<T>(outcome: CallOutcome<T>): T {
  if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome));
  return outcome.value;
}

async function taskOf(text: string): Promise<PeerTask> {
  const value = answerOf(await client.sendMessage(say(text, { now: true })));
  if (value.kind !== 'task') throw new Error(value.kind);
  return value.task;
}

const eventsOf = (items: readonly StreamItem[]) =>
  items.map((item) => (item.kind === 'event' ? item.event.kind : item.kind));

describe('a server of the public SDK', () => {
  it('answers a message with a task and its artifact, or with a Message', async () => {
    const sent = answerOf(await client.sendMessage(say('work')));
    expect(sent).toMatchObject({
      kind: 'task',
      task: { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ parts: [{ text: 'done: work' }] }] },
    });
    expect(answerOf(await client.sendMessage(say('hello')))).toMatchObject({
      kind: 'message',
      message: { parts: [{ text: 'on hello' }] },
    });
  });

  it('is waited for to its end, by polls and by a stream', async () => {
    for (const subscribe of [false, true]) {
      const options = {
        clock: systemClock,
        deadline: Date.now() + 20_000,
        schedule: { firstMs: 20, maxMs: 50 },
        subscribe,
      };
      const waiting = sendAndWait(client, say('wait', { now: true }), options);
      const method = subscribe ? 'SubscribeToTask' : 'GetTask';
      await expect.poll(() => agent.seen.some(({ rpc }) => rpc.method === method)).toBe(true);
      agent.proceed();
      expect(await waiting).toMatchObject({
        kind: 'completed',
        task: { artifacts: [{ parts: [{ text: 'done: wait' }] }] },
      });
    }
  });

  it('that fails or asks is told apart from one that is done, with its message', async () => {
    const options = {
      clock: systemClock,
      deadline: Date.now() + 20_000,
      schedule: { firstMs: 20, maxMs: 50 },
    };
    expect(await sendAndWait(client, say('fail'), options)).toMatchObject({
      kind: 'failed',
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'on fail' }] },
    });
    const asked = await sendAndWait(client, say('ask'), options);
    expect(asked).toMatchObject({ kind: 'waiting', state: 'TASK_STATE_INPUT_REQUIRED' });
    const taskId = 'task' in asked ? (asked.task?.id ?? '') : '';
    expect(await sendAndWait(client, say('answer', { taskId }), options)).toMatchObject({
      kind: 'completed',
      task: { id: taskId },
    });
  });

  it('streams a task from its beginning to its end', async () => {
    const items = await collect(client.sendStreamingMessage(say('work')));
    expect(eventsOf(items)).toEqual(['task', 'statusUpdate', 'artifactUpdate', 'statusUpdate', 'end']);
    expect(items.at(-1)).toMatchObject({ end: { kind: 'finished', state: 'TASK_STATE_COMPLETED' } });
    expect(eventsOf(await collect(client.sendStreamingMessage(say('hello'))))).toEqual(['message', 'end']);
  });

  it('is followed over a stream that breaks off', async () => {
    const items: StreamItem[] = [];
    for await (const item of client.sendStreamingMessage(say('wait'))) {
      items.push(item);
      const isFirst = items.length === 2 && item.kind === 'event' && item.event.kind === 'statusUpdate';
      if (isFirst) agent.cutStreams();
      if (items.length > 2 && item.kind === 'event' && item.event.kind === 'task') agent.proceed();
    }
    expect(eventsOf(items)).toEqual([
      'task',
      'statusUpdate',
      'interrupted',
      'task',
      'artifactUpdate',
      'statusUpdate',
      'end',
    ]);
    expect(items.at(-1)).toMatchObject({ end: { kind: 'finished', state: 'TASK_STATE_COMPLETED' } });
  });

  it('whose task is over by the time it is subscribed to is asked for it (S04)', async () => {
    const { id } = await taskOf('work');
    await expect
      .poll(async () => answerOf(await client.getTask({ id })).status.state)
      .toBe('TASK_STATE_COMPLETED');
    expect(await collect(client.subscribeToTask({ id }))).toMatchObject([
      { via: 'get-task' },
      { end: { kind: 'finished' } },
    ]);
  });

  it('lists tasks, gets one and cancels one', async () => {
    const { id } = await taskOf('wait');
    expect(answerOf(await client.getTask({ id })).history?.[0]).toMatchObject({ parts: [{ text: 'wait' }] });
    expect(answerOf(await client.listTasks({ pageSize: 5 })).tasks).toMatchObject([{ id }]);
    expect(answerOf(await client.cancelTask({ id }))).toMatchObject({
      id,
      status: { state: 'TASK_STATE_CANCELED' },
    });
    const over = answerOf(await client.sendMessage(say('work')));
    if (over.kind !== 'task') throw new Error(over.kind);
    expect(await client.cancelTask({ id: over.task.id })).toMatchObject({
      kind: 'remote-error',
      code: -32002,
    });
    agent.proceed();
  });

  it('keeps push configs, and answers null to Delete (B16)', async () => {
    const { id: taskId } = await taskOf('wait');
    const authentication = { scheme: 'Bearer', credentials: 'secret' };
    const made = answerOf(
      await client.createPushConfig({
        taskId,
        id: 'p',
        url: 'https://hooks.example.com/a2a',
        authentication,
      }),
    );
    expect(made).toMatchObject({ taskId, id: 'p' });
    expect(agent.seen.at(-1)?.rpc.params).toMatchObject({ authentication });
    expect(answerOf(await client.getPushConfig({ taskId, id: 'p' }))).toMatchObject({ id: 'p' });
    expect(answerOf(await client.listPushConfigs({ taskId })).configs).toMatchObject([{ id: 'p' }]);
    expect(await client.deletePushConfig({ taskId, id: 'p' })).toEqual({
      kind: 'ok',
      value: {},
      notices: [],
    });
    agent.proceed();
  });

  it('gives its extended card, and typed errors', async () => {
    expect(await client.getTask({ id: 'unknown' })).toMatchObject({
      kind: 'remote-error',
      code: -32001,
      reason: 'TASK_NOT_FOUND',
    });
    expect(await collect(client.subscribeToTask({ id: 'unknown' }))).toMatchObject([
      { end: { kind: 'remote-error', code: -32001 } },
    ]);
    // To a caller without a user of its own the SDK gives the public card.
    expect(answerOf(await client.getExtendedAgentCard({})).name).toMatch(/^(Agent|Extended)$/);
  });

  it('need not send a card again that still holds', async () => {
    const cards = new Map();
    const cache = {
      get: async (url: string) => cards.get(url),
      put: async (url: string, kept: object) => void cards.set(url, kept),
    };
    const fetchCard = () =>
      fetchAgentCard({ guard: loopbackGuard, policy: POLICY, clock: systemClock, url: agent.cardUrl, cache });
    expect(await fetchCard()).toMatchObject({ kind: 'card', isNew: true });
    expect(await fetchCard()).toMatchObject({ kind: 'card', isNew: false });
    for (const { headers } of agent.seen) expect(headers['a2a-version']).toBe('1.0');
  });
});
