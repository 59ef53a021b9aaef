import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Host, startHost } from '../../infra/local/host.ts';
import { createA2AClient, type StreamItem } from '../../shared/client/index.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { recordingMetrics } from '../../shared/telemetry/index.ts';
import { type SdkAgent, startSdkAgent } from '../client/a2a-js-agent.ts';
import { loopbackGuard } from '../client/fake-agent.ts';
import { administer, liftQuotas } from '../e2e/administer.ts';
import { asTask, collect, connectStock, request, type StockClient, textsOf } from '../e2e/stock-client.ts';
import { call, message, textOf } from '../local/rpc.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

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
const agents: SdkAgent[] = [];
let host: Host;

beforeAll(async () => {
  for (const level of ['error', 'warn', 'info', 'debug'] as const)
    vi.spyOn(console, level).mockImplementation(() => {});
  host = await startHost({
    allowLoopback: true,
    graceMs: 1_000,
    variables: {},
    seams: { metrics },
    onError: (name, error) => errors.push([name, error]),
  });
  await liftQuotas(host.url, host.adminToken);
  for (const way of Object.keys(ways) as Way[]) await register(way, way);
});
afterAll(async () => {
  await host?.stop();
  await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  vi.restoreAllMocks();
});

const admin = (operation: string, input: object) => administer(host.url, host.adminToken, operation, input);

/** An agent of the SDK, registered with its credential, behind a profile of the same name. */
async function register(id: string, way: Way): Promise<SdkAgent> {
  const { push, callsBack } = ways[way];
  const agent = await startSdkAgent({ callsBack });
  agents.push(agent);
  await admin('agent.add', { agent: { id, cardUrl: agent.cardUrl, credential: `secret-of-${id}`, push } });
  await admin('provider.put', { provider: { id, kind: 'remote', agent: id } });
  const profile = { id, name: id, description: 'Hands it on.', providers: [id], public: true };
  await admin('profile.put', { profile });
  await admin('profile.publish', { id });
  return agent;
}

/** The task at rest; `now`: as it was answered at once. */
async function send(text: string, profile: string, more: { taskId?: string; now?: boolean } = {}) {
  const { message: written } = message(text);
  const { taskId, now = false } = more;
  const { body } = await call(host, 'SendMessage', {
    ...(taskId === undefined ? message(text, profile) : { message: { ...written, taskId } }),
    configuration: { returnImmediately: now },
  });
  const task = body.result?.task;
  if (!task) throw new Error(JSON.stringify(body));
  return task;
}

const dependencyOf = async (task: string) =>
  (await admin('dependency.show', { dependency: `${task}/0001.0000` })) as Record<string, unknown>;
const asked = (agent: SdkAgent) =>
  agent.seen.flatMap(({ rpc: { method } }) => (method && method !== 'GetTask' ? [method] : []));
const within = { timeout: 20_000, interval: 50 };
const isSent = (task: string) =>
  vi.waitFor(async () => expect(await dependencyOf(task)).toMatchObject({ state: 'sent' }), within);

describe('an agent of the public SDK behind this gateway', () => {
  it('is called with its credential, passes an administrator’s test, and is named by its card', async () => {
    expect(await admin('agent.test', { id: 'embedded' })).toMatchObject({ ok: true });
    expect(await admin('agent.show', { id: 'embedded' })).toMatchObject({
      agent: { name: 'Agent', credential: '***' },
    });
    expect(agents[0]?.seen.at(-1)).toMatchObject({
      headers: { authorization: 'Bearer secret-of-embedded', 'a2a-version': '1.0' },
      rpc: { method: 'GetTask' },
    });
  });

  it.concurrent.each(Object.keys(ways) as Way[])(
    'asks, is answered by our client, and its result is ours (%s)',
    async (way) => {
      const first = await send('ask', way);
      expect(first.status).toMatchObject({
        state: 'TASK_STATE_INPUT_REQUIRED',
        message: { parts: [{ text: 'on ask' }] },
      });
      const second = await send('red', way, { taskId: first.id });
      expect(second).toMatchObject({ id: first.id, status: { state: 'TASK_STATE_COMPLETED' } });
      expect(textOf(second)).toBe('done: red');
      const shown = await dependencyOf(first.id);
      expect(shown).toMatchObject({ outcome: 'completed', registered: way !== 'off' });
      expect(shown['lastSignalAt'] !== undefined).toBe(way === 'embedded' || way === 'separate');
    },
  );

  it.each(['embedded', 'separate'] as const)(
    'calls back with the credential of its address (push %s), and is asked because of that',
    async (way) => {
      const id = `waits-${way}`;
      const agent = await register(id, way);
      const before = metrics.measurements.length;
      const { id: task } = await send('wait', id, { now: true });
      const calls =
        way === 'embedded' ? ['SendMessage'] : ['SendMessage', 'CreateTaskPushNotificationConfig'];
      await vi.waitFor(() => expect(asked(agent)).toEqual(calls), within);
      await isSent(task);
      agent.proceed();
      await vi.waitFor(async () => {
        const { body } = await call(host, 'GetTask', { id: task });
        expect(body.result?.status?.state).toBe('TASK_STATE_COMPLETED');
        expect(textOf(body.result)).toBe('done: wait');
      }, within);
      const measured = metrics.measurements.slice(before).map(({ name }) => name);
      const answered = measured.lastIndexOf('RemoteAnswered', measured.indexOf('DependencyEnded'));
      expect(measured.slice(answered)).toContain('ReconcileLag');
      expect(measured).toContain('CallbackAccepted');
      expect(measured).not.toContain('CallbackMismatch');
      expect(asked(agent)).toEqual(calls);
    },
  );

  it('that answers with a Message, or fails, ends our task as it ended', async () => {
    const answered = await send('hello', 'embedded');
    expect(answered.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(answered)).toBe('on hello');
    expect((await send('fail', 'embedded')).status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'on fail' }] },
    });
  });

  it('is told to cancel what our client cancels', async () => {
    const agent = await register('cancels', 'embedded');
    const { id } = await send('wait', 'cancels', { now: true });
    await isSent(id);
    const { body } = await call(host, 'CancelTask', { id });
    expect(body.result).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } });
    await vi.waitFor(() => expect(asked(agent)).toEqual(['SendMessage', 'CancelTask']), within);
    agent.proceed();
  });
});

describe('the SDK’s client, this gateway and the SDK’s agent', () => {
  let stock: StockClient;
  beforeAll(async () => {
    stock = await connectStock(host, '/agents/embedded/.well-known/agent-card.json');
  });

  it('hold a whole conversation, over streams and over calls', async () => {
    const first = await collect(stock.client.sendMessageStream(request('ask')));
    const { results } = stock.answered.at(-1)!;
    expect(results.at(-1)).toMatchObject({
      statusUpdate: {
        status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { parts: [{ text: 'on ask' }] } },
      },
    });
    const opened = first[0]?.payload;
    const taskId = opened?.$case === 'task' ? opened.value.id : '';
    const task = asTask(await stock.client.sendMessage(request('green', { message: { taskId } })));
    expect(textsOf(task)).toEqual(['done: green']);
    expect(textsOf(await stock.client.getTask({ tenant: '', id: taskId, historyLength: undefined }))).toEqual(
      ['done: green'],
    );
  });
});

describe('a caller of the library', () => {
  it('follows a task that is handed on, over a stream, to its end', async () => {
    const agent = await register('streams', 'embedded');
    const client = createA2AClient({
      guard: loopbackGuard,
      policy: { purpose: 'remote-agent' },
      interface: {
        url: `${host.url}/rpc`,
        protocolBinding: 'JSONRPC',
        protocolVersion: '1.0',
        tenant: 'streams',
      },
      credential: host.token,
      clock: systemClock,
      random: { fraction: () => 0 },
    });
    const items: StreamItem[] = [];
    for await (const item of client.sendStreamingMessage({
      message: { messageId: 'of-the-library', role: 'ROLE_USER', parts: [{ text: 'wait' }] },
    })) {
      items.push(item);
      const isWorking =
        item.kind === 'event' &&
        item.event.kind === 'statusUpdate' &&
        item.event.statusUpdate.status.state === 'TASK_STATE_WORKING';
      if (isWorking) {
        await vi.waitFor(() => expect(asked(agent)).toEqual(['SendMessage']), within);
        agent.proceed();
      }
    }
    expect(items.at(-1)).toMatchObject({ end: { kind: 'finished', state: 'TASK_STATE_COMPLETED' } });
    expect(JSON.stringify(items)).toContain('done: wait');
  });
});

it('nothing failed that nobody saw', () => expect(errors).toEqual([]));
