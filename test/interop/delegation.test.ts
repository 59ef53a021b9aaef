import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Host, startHost } from '../../infra/local/host.ts';
import { recordingMetrics } from '../../shared/telemetry/index.ts';
import { administer, liftQuotas } from '../e2e/administer.ts';
import { call, message, textOf } from '../local/rpc.ts';
import { type Python, startPython } from './python.ts';
import { type PythonAgent, startPythonAgent } from './python-agent.ts';
import { collect, connectPython, textsOf } from './python-client.ts';

/** How an agent is registered, and whether its SDK ever calls back. */
const ways = {
  embedded: { push: 'embedded', callsBack: true },
  separate: { push: 'separate', callsBack: true },
  lost: { push: 'embedded', callsBack: false },
  off: { push: 'off', callsBack: true },
} as const;
type Way = keyof typeof ways;

const errors: unknown[] = [];
const metrics = recordingMetrics();
let agents: Python;
let clients: Python;
let host: Host;

beforeAll(async () => {
  agents = startPython('server');
  clients = startPython('client');
  host = await startHost({
    allowLoopback: true,
    graceMs: 1_000,
    sweepMs: 1_000,
    seams: { metrics },
    onError: (name, error) => errors.push([name, error]),
  });
  await liftQuotas(host.url, host.adminToken);
  // One agent a way, for what does not wait; what waits has an agent of its own.
  for (const way of Object.keys(ways) as Way[]) await register(way, way);
});
afterAll(async () => {
  await host?.stop();
  await Promise.all([agents, clients].map((python) => python?.[Symbol.asyncDispose]()));
});

const admin = (operation: string, input: object) => administer(host.url, host.adminToken, operation, input);

/** A Python agent, registered with its credential and the key of its card, behind a profile of the same name. */
async function register(id: string, way: Way): Promise<PythonAgent> {
  const { push, callsBack } = ways[way];
  const agent = await startPythonAgent(agents, { callsBack });
  const { cardUrl, token: credential, key: cardKey } = agent;
  await admin('agent.add', { agent: { id, cardUrl, credential, cardKey, push } });
  await admin('provider.put', { provider: { id, kind: 'remote', agent: id } });
  const profile = { id, name: id, description: 'Hands it on.', providers: [id], public: true };
  await admin('profile.put', { profile });
  await admin('profile.publish', { id });
  return agent;
}

/** The task at rest, unless it is to be answered `now`; a blocking call ends at its cap while the task works on. */
async function send(text: string, profile: string, more: { taskId?: string; now?: boolean } = {}) {
  const { message: written } = message(text);
  const { taskId, now = false } = more;
  const { body } = await call(host, 'SendMessage', {
    ...(taskId === undefined ? message(text, profile) : { message: { ...written, taskId } }),
    configuration: { returnImmediately: now },
  });
  const task = body.result?.task;
  if (!task) throw new Error(JSON.stringify(body));
  return now ? task : atRest(task.id);
}

async function atRest(id: string) {
  return vi.waitFor(async () => {
    const task = await get(id);
    expect(task.status.state).not.toMatch(/SUBMITTED|WORKING/);
    return task;
  }, within);
}

async function completed(id: string) {
  const task = await atRest(id);
  expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  return task;
}

/** Resolves when that is what it was asked for. */
function isAsked(agent: PythonAgent, ...methods: readonly string[]): Promise<void> {
  return vi.waitFor(async () => expect(await askedOf(agent)).toEqual(methods), within);
}

async function get(id: string) {
  const { body } = await call(host, 'GetTask', { id });
  return body.result as unknown as NonNullable<NonNullable<typeof body.result>['task']>;
}

/** What the agent was asked for, but for polls and its card. */
async function askedOf(agent: PythonAgent): Promise<string[]> {
  const seen = await agent.seen();
  return seen.flatMap(({ method }) => (method === null || method === 'GetTask' ? [] : [method]));
}

const within = { timeout: 30_000, interval: 100 };

describe('a registered Python agent', () => {
  it('passes the test of an administrator', async () => {
    expect(await admin('agent.test', { id: 'embedded' })).toMatchObject({ ok: true });
    const { agent } = (await admin('agent.show', { id: 'embedded' })) as { agent: object };
    expect(agent).toMatchObject({ name: 'Agent', cardKey: 'pinned', credential: '***' });
  });

  it.each(['embedded', 'separate'] as const)(
    'calls back (push %s), and is asked because of that',
    async (way) => {
      const id = `waits-${way}`;
      const agent = await register(id, way);
      const before = metrics.measurements.length;
      const { id: task } = await send('wait for it', id, { now: true });
      const asks = way === 'embedded' ? ['SendMessage'] : ['SendMessage', 'CreateTaskPushNotificationConfig'];
      await isAsked(agent, ...asks);
      await agent.proceed();
      expect(textOf(await completed(task))).toBe('done: wait for it');
      expect(await askedOf(agent)).toEqual(asks);
      const measured = metrics.measurements.slice(before).map(({ name }) => name);
      const asked = measured.lastIndexOf('RemoteAnswered', measured.indexOf('DependencyEnded'));
      expect(measured.slice(asked)).toContain('ReconcileLag');
      expect(measured).toContain('CallbackAccepted');
    },
  );

  it.concurrent.each(['lost', 'off'] as const)('is polled where no callback comes (%s)', async (way) => {
    const id = `waits-${way}`;
    const agent = await register(id, way);
    const { id: task } = await send('wait for it', id, { now: true });
    await isAsked(agent, 'SendMessage');
    await agent.proceed();
    expect(textOf(await completed(task))).toBe('done: wait for it');
    const shown = await admin('dependency.show', { dependency: `${task}/0001.0000` });
    expect(shown).toMatchObject({ outcome: 'completed', registered: way === 'lost' });
    expect(shown).not.toHaveProperty('lastSignalAt');
  });

  it.concurrent.each(Object.keys(ways) as Way[])(
    'asks, is answered by our client, and its result is ours (%s)',
    async (way) => {
      const asked = await send('ask', way);
      expect(asked.status).toMatchObject({
        state: 'TASK_STATE_INPUT_REQUIRED',
        message: { parts: [{ text: 'Which colour?' }] },
      });
      const task = await send('red', way, { taskId: asked.id });
      expect(task).toMatchObject({
        id: asked.id,
        status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'Done.' }] } },
      });
      expect(textOf(task)).toBe('done: red');
    },
  );

  it('that wants a sign-in is shown as such, and goes on after our client’s message', async () => {
    const asked = await send('auth', 'embedded');
    expect(asked.status).toMatchObject({
      state: 'TASK_STATE_AUTH_REQUIRED',
      message: { parts: [{ text: 'Sign in first.' }] },
    });
    expect(textOf(await send('signed in', 'embedded', { taskId: asked.id }))).toBe('done: signed in');
  });

  it('that answers with a Message resolves the step with it', async () => {
    const task = await send('hello', 'embedded');
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(task)).toBe('on hello');
  });

  it('brings parts of every kind, and appended chunks, as they are', async () => {
    const kinds = await send('parts', 'embedded');
    expect(kinds).toMatchObject({
      artifacts: [
        {
          parts: [
            { text: 'é 漢' },
            { raw: 'AAH6/w==', filename: 'x.bin' },
            { url: 'https://example.com/a.pdf' },
            { data: { a: 0, b: false, c: '', d: [], e: null, f: { n: 3 } } },
          ],
        },
      ],
    });
    const { artifacts } = await send('chunks', 'embedded');
    const texts = artifacts?.flatMap(({ parts }) => parts.map((part) => (part as { text: string }).text));
    expect(texts?.join('')).toBe('one two three');
  });

  it('that fails, refuses or breaks down ends our task as it ended, without what it must not tell', async () => {
    expect((await send('fail', 'embedded')).status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'It cannot be done.' }] },
    });
    expect((await send('reject', 'embedded')).status).toMatchObject({
      state: 'TASK_STATE_REJECTED',
      message: { parts: [{ text: 'It will not be done.' }] },
    });
    const broken = await send('crash', 'embedded');
    expect(broken.status.state).toBe('TASK_STATE_FAILED');
    expect(JSON.stringify(broken)).not.toContain('secret-of-the-agent');
  });

  it('is told to cancel what our client cancels', async () => {
    const agent = await register('cancels', 'embedded');
    const { id } = await send('wait', 'cancels', { now: true });
    await isAsked(agent, 'SendMessage');
    // The dependency knows the remote task once it was acknowledged.
    const isSent = { dependencies: [{ state: 'sent' }] };
    await vi.waitFor(
      async () => expect(await admin('dependency.list', { task: id })).toMatchObject(isSent),
      within,
    );
    const { body } = await call(host, 'CancelTask', { id });
    expect(body.result).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } });
    await isAsked(agent, 'SendMessage', 'CancelTask');
  });
});

describe('a Python client, this gateway and a Python agent', () => {
  it('hold a whole conversation over streams', async () => {
    const client = await connectPython(clients, host, { profile: 'embedded', verify: true });
    const asked = await collect(client.stream('ask'));
    const { id } = asked[0]?.task ?? { id: '' };
    expect(asked.at(-1)?.statusUpdate?.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'Which colour?' }] },
    });
    const answered = await collect(client.stream('green', { message: { taskId: id } }));
    expect(answered.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textsOf(await client.call('GetTask', { id }))).toEqual(['done: green']);
  });
});

it('nothing failed that nobody saw', () => expect(errors).toEqual([]));
