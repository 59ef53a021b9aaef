import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type A2AClient,
  type CallOutcome,
  createA2AClient,
  fetchAgentCard,
  type StreamItem,
  selectInterface,
  sendAndWait,
} from '../../shared/client/index.ts';
import type { PeerTask } from '../../shared/protocol/index.ts';
import { systemClock, systemRandom } from '../../shared/runtime/system.ts';
import { collect, loopbackGuard, POLICY, raw, startAgent } from '../client/fake-agent.ts';
import { type Python, startPython } from './python.ts';
import { type PythonAgent, startPythonAgent } from './python-agent.ts';

let python: Python;
let agent: PythonAgent;
let client: A2AClient;

beforeAll(async () => {
  python = startPython('server');
  agent = await startPythonAgent(python);
  client = await clientOf(agent);
});
afterAll(() => python?.[Symbol.asyncDispose]());

const cardOptions = () => ({
  guard: loopbackGuard,
  policy: POLICY,
  clock: systemClock,
  url: agent.cardUrl,
});

async function clientOf({ cardUrl, token }: PythonAgent): Promise<A2AClient> {
  const fetched = await fetchAgentCard({ ...cardOptions(), url: cardUrl });
  if (fetched.kind !== 'card') throw new Error(JSON.stringify(fetched));
  expect([fetched.missing, fetched.notices]).toEqual([[], []]);
  const choice = selectInterface(fetched.card, cardUrl);
  if (choice.kind !== 'selected') throw new Error(choice.kind);
  return createA2AClient({
    guard: loopbackGuard,
    policy: POLICY,
    interface: choice.interface,
    credential: token,
    clock: systemClock,
    random: systemRandom,
  });
}

function say(text: string, more: { taskId?: string; now?: boolean; messageId?: string } = {}) {
  const { taskId, now = false, messageId = randomUUID() } = more;
  return {
    message: { messageId, role: 'ROLE_USER' as const, parts: [{ text }], ...(taskId && { taskId }) },
    ...(now && { configuration: { returnImmediately: true } }),
  };
}

function answerOf<T>(outcome: CallOutcome<T>): T {
  if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome));
  expect(outcome.notices).toEqual([]);
  return outcome.value;
}

async function taskOf(text: string, now = true): Promise<PeerTask> {
  const value = answerOf(await client.sendMessage(say(text, { now })));
  if (value.kind !== 'task') throw new Error(value.kind);
  return value.task;
}

const eventsOf = (items: readonly StreamItem[]) =>
  items.map((item) => (item.kind === 'event' ? item.event.kind : item.kind));
const waiting = (subscribe = false) => ({
  clock: systemClock,
  deadline: Date.now() + 20_000,
  schedule: { firstMs: 20, maxMs: 50 },
  subscribe,
});

describe('the card of a Python agent', () => {
  it('is accepted by the key that signed it, and refused by another', async () => {
    const signed = await fetchAgentCard({ ...cardOptions(), pinnedKey: agent.key });
    expect(signed).toMatchObject({ kind: 'card', isVerified: true });
    const { key } = await startPythonAgent(python);
    const other = await fetchAgentCard({ ...cardOptions(), pinnedKey: key });
    expect(other).toEqual({ kind: 'signature-refused', why: 'not-by-pinned-key' });
  });

  it('need not be sent again while it holds', async () => {
    const first = await fetchAgentCard(cardOptions());
    const knownEtag = (first as { readonly etag?: string }).etag ?? '';
    expect(knownEtag).not.toBe('');
    expect(await fetchAgentCard({ ...cardOptions(), knownEtag })).toEqual({ kind: 'unchanged' });
  });

  it('is read without the credential, and every request names the version', async () => {
    await client.getTask({ id: 'unknown' });
    const seen = await agent.seen();
    const cards = seen.filter(({ path }) => path !== '/rpc');
    expect(cards.length).toBeGreaterThan(0);
    for (const { headers } of cards) expect(headers).not.toHaveProperty('authorization');
    for (const { headers } of seen) expect(headers['a2a-version']).toBe('1.0');
  });
});

describe('a Python agent', () => {
  it('answers a message with a task and its artifact, or with a Message', async () => {
    expect(await taskOf('work', false)).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'Done.' }] } },
      artifacts: [{ parts: [{ text: 'done: work' }] }],
    });
    expect(answerOf(await client.sendMessage(say('hello')))).toMatchObject({
      kind: 'message',
      message: { parts: [{ text: 'on hello' }] },
    });
  });

  it('sends parts of every kind and appended chunks, which are read as they are', async () => {
    const { artifacts } = await taskOf('parts', false);
    expect(artifacts?.[0]?.parts).toEqual([
      { text: 'é 漢' },
      { raw: 'AAH6/w==', filename: 'x.bin', mediaType: 'application/octet-stream' },
      { url: 'https://example.com/a.pdf' },
      { data: { a: 0, b: false, c: '', d: [], e: null, f: { n: 3 } } },
    ]);
    const chunked = await taskOf('chunks', false);
    const texts = chunked.artifacts?.flatMap(({ parts }) =>
      parts.map((part) => ('text' in part ? part.text : '')),
    );
    expect(texts?.join('')).toBe('one two three');
  });

  it('is waited for to its end, by polls and by a stream', async () => {
    for (const subscribe of [false, true]) {
      const slow = await startPythonAgent(python);
      const own = await clientOf(slow);
      const result = sendAndWait(own, say('wait', { now: true }), waiting(subscribe));
      const method = subscribe ? 'SubscribeToTask' : 'GetTask';
      await expect.poll(async () => (await slow.seen()).some((seen) => seen.method === method)).toBe(true);
      await slow.proceed();
      expect(await result).toMatchObject({
        kind: 'completed',
        task: { artifacts: [{ parts: [{ text: 'done: wait' }] }] },
      });
    }
  });

  it('that fails, refuses or asks is told apart from one that is done, with its message', async () => {
    const ending = (text: string, taskId?: string) =>
      sendAndWait(client, say(text, taskId === undefined ? {} : { taskId }), waiting());
    expect(await ending('fail')).toMatchObject({
      kind: 'failed',
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'It cannot be done.' }] },
    });
    expect(await ending('reject')).toMatchObject({ kind: 'failed', state: 'TASK_STATE_REJECTED' });
    expect(await ending('auth')).toMatchObject({ kind: 'waiting', state: 'TASK_STATE_AUTH_REQUIRED' });
    const asked = await ending('ask');
    expect(asked).toMatchObject({ kind: 'waiting', state: 'TASK_STATE_INPUT_REQUIRED' });
    const id = 'task' in asked ? (asked.task?.id ?? '') : '';
    expect(await ending('red', id)).toMatchObject({
      kind: 'completed',
      task: { id, artifacts: [{ parts: [{ text: 'done: red' }] }] },
    });
  });

  it('streams a task from its beginning to its end', async () => {
    const items = await collect(client.sendStreamingMessage(say('work')));
    expect(eventsOf(items)).toEqual(['task', 'statusUpdate', 'artifactUpdate', 'statusUpdate', 'end']);
    expect(items.at(-1)).toMatchObject({ end: { kind: 'finished', state: 'TASK_STATE_COMPLETED' } });
    expect(eventsOf(await collect(client.sendStreamingMessage(say('hello'))))).toEqual(['message', 'end']);
    const asked = await collect(client.sendStreamingMessage(say('ask')));
    expect(asked.at(-1)).toMatchObject({ end: { kind: 'waiting', state: 'TASK_STATE_INPUT_REQUIRED' } });
  });

  it('is followed over a stream that breaks off', async () => {
    const slow = await startPythonAgent(python);
    const items: StreamItem[] = [];
    for await (const item of (await clientOf(slow)).sendStreamingMessage(say('wait'))) {
      items.push(item);
      if (eventsOf(items).at(-1) === 'statusUpdate' && items.length === 2) expect(await slow.cut()).toBe(1);
      if (items.length > 2 && eventsOf(items).at(-1) === 'task') await slow.proceed();
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

  it('whose task is over by the time it is subscribed to is asked for it', async () => {
    const { id } = await taskOf('work', false);
    expect(await collect(client.subscribeToTask({ id }))).toMatchObject([
      { via: 'get-task' },
      { end: { kind: 'finished' } },
    ]);
    expect(await collect(client.subscribeToTask({ id: 'unknown' }))).toMatchObject([
      { end: { kind: 'remote-error', code: -32001 } },
    ]);
  });

  it('lists tasks, gets one and cancels one', async () => {
    const { id } = await taskOf('wait');
    expect(answerOf(await client.getTask({ id })).history?.[0]).toMatchObject({ parts: [{ text: 'wait' }] });
    expect(answerOf(await client.listTasks({ pageSize: 1 })).tasks).toMatchObject([{ id }]);
    const canceled = { id, status: { state: 'TASK_STATE_CANCELED' } };
    expect(answerOf(await client.cancelTask({ id }))).toMatchObject(canceled);
    expect(answerOf(await client.getTask({ id }))).toMatchObject(canceled);
    expect(await client.cancelTask({ id })).toMatchObject({ kind: 'remote-error', code: -32002 });
  });

  it('keeps push configs', async () => {
    const { id: taskId } = await taskOf('ask', false);
    const config = {
      taskId,
      id: 'p',
      url: 'http://127.0.0.1:9/hook',
      authentication: { scheme: 'Bearer', credentials: 'secret' },
    };
    expect(answerOf(await client.createPushConfig(config))).toMatchObject({ taskId, id: 'p' });
    expect(answerOf(await client.getPushConfig({ taskId, id: 'p' }))).toMatchObject({ id: 'p' });
    expect(answerOf(await client.listPushConfigs({ taskId })).configs).toMatchObject([{ id: 'p' }]);
    expect(answerOf(await client.deletePushConfig({ taskId, id: 'p' }))).toEqual({});
    expect(answerOf(await client.listPushConfigs({ taskId })).configs ?? []).toEqual([]);
  });

  it('gives its extended card to who has its credential, and typed errors', async () => {
    expect(answerOf(await client.getExtendedAgentCard({})).name).toBe('Extended');
    expect(await client.getTask({ id: 'unknown' })).toMatchObject({
      kind: 'remote-error',
      code: -32001,
      reason: 'TASK_NOT_FOUND',
    });
    const { id: taskId } = await taskOf('work', false);
    expect(await client.sendMessage(say('more', { taskId }))).toMatchObject({
      kind: 'unsupported',
      code: -32004,
    });
    const stranger = await clientOf({ ...agent, token: 'wrong' });
    expect(await stranger.getTask({ id: taskId })).toMatchObject({ kind: 'transport-error', status: 401 });
  });
});

/** Not worked around: what an administrator of such an agent has to know. */
describe('the SDK differs from what one may expect:', () => {
  it('a message that is sent again with the same id is another task', async () => {
    const messageId = randomUUID();
    const sent = [
      answerOf(await client.sendMessage(say('work', { messageId }))),
      answerOf(await client.sendMessage(say('work', { messageId }))),
    ];
    const ids = sent.map((answer) => (answer.kind === 'task' ? answer.task.id : ''));
    expect(ids[0]).not.toBe(ids[1]);
  });

  it('a push config shows its credential to whoever may read it', async () => {
    const { id: taskId } = await taskOf('ask', false);
    const authentication = { scheme: 'Bearer', credentials: 'secret' };
    await client.createPushConfig({ taskId, id: 'p', url: 'http://127.0.0.1:9/hook', authentication });
    expect(answerOf(await client.getPushConfig({ taskId, id: 'p' }))).toMatchObject({ authentication });
  });

  it('calls back once for each event, as application/json, with the token in a header, whatever the answer', async () => {
    await using webhook = await startAgent(raw(503, ''));
    const taskPushNotificationConfig = {
      url: webhook.url,
      token: 'a-token',
      authentication: { scheme: 'Bearer', credentials: 'secret' },
    };
    await client.sendMessage({ ...say('work'), configuration: { taskPushNotificationConfig } });
    expect(webhook.seen.map(({ text }) => Object.keys(JSON.parse(text))[0])).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'statusUpdate',
    ]);
    for (const { headers } of webhook.seen) {
      expect(headers).toMatchObject({
        authorization: 'Bearer secret',
        'content-type': 'application/json',
        'x-a2a-notification-token': 'a-token',
      });
    }
  });

  it('an executor that breaks down answers with an internal error that holds its words, and the task is failed', async () => {
    const answer = await client.sendMessage(say('crash'));
    expect(answer).toMatchObject({ kind: 'remote-error', code: -32603 });
    expect(answer).toMatchObject({ message: expect.stringContaining('secret-of-the-agent') });
    const { tasks } = answerOf(await client.listTasks({ pageSize: 1 }));
    expect(tasks).toMatchObject([{ status: { state: 'TASK_STATE_FAILED' } }]);
  });
});
