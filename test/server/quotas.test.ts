import { describe, expect, test } from 'vitest';
import type { Clock } from '../../shared/runtime/ports.ts';
import { executing, message } from './rig.ts';
import {
  type Asked,
  ask,
  asking,
  completed,
  errorOf,
  gated,
  outline,
  provider,
  read,
  type SceneParts,
  skippingClock,
  startScene,
  stream,
} from './scene.ts';

/** Settings of an installation, a client `heavy` and another one that must not notice. */
const start = (settings: Readonly<Record<string, unknown>>, parts: SceneParts = {}) =>
  startScene({ clients: ['heavy', 'light'], adapters: { asks: asking() }, settings, ...parts });

function expectOver(answer: Asked, seconds: number, own: string): void {
  expect(answer.status).toBe(429);
  expect(errorOf(answer)).toEqual({ code: -32092, reason: 'QUOTA_EXCEEDED', own });
  expect(answer.headers['Content-Type']).toBe('application/json');
  const wait = Number(answer.headers['Retry-After']);
  expect(Number.isInteger(wait) && wait >= 1 && wait <= seconds).toBe(true);
}

describe('each quota is refused with 429, Retry-After and a JSON-RPC body:', () => {
  test('requests a minute, per client, on every method, until the minute is over', async () => {
    let now = Date.UTC(2026, 0, 31, 12, 0, 20);
    const clock: Clock = { now: () => now, sleep: async () => {} };
    await using scene = await start({ requestsPerMinute: 5 }, { clock });
    const call = (client: string, method: string, params: object = {}) =>
      ask(scene.gateway, client, method, params);
    for (let i = 0; i < 5; i++) expect((await call('heavy', 'ListTasks')).status).toBe(200);
    for (const [method, params] of [
      ['ListTasks', {}],
      ['GetTask', { id: 'a' }],
      ['CancelTask', { id: 'a' }],
      ['SubscribeToTask', { id: 'a' }],
      ['GetExtendedAgentCard', {}],
      ['SendMessage', { message: message('hi') }],
      ['SendStreamingMessage', { message: message('hi') }],
    ] as const) {
      const answer = await call('heavy', method, params);
      expectOver(answer, 40, 'REQUESTS_PER_MINUTE');
      expect(answer.headers['Retry-After'], method).toBe('40');
    }
    expect(await scene.dump('state')).toEqual([]);
    expect((await call('light', 'ListTasks')).status).toBe(200);
    now += 40_000;
    expect((await call('heavy', 'ListTasks')).status).toBe(200);
  });

  test('open tasks: what waits for its client counts, what has ended does not', async () => {
    await using scene = await start({ openTasks: 2 });
    await using _executor = executing(scene.gateway);
    const send = (tenant: string, client = 'heavy', more: object = {}) =>
      ask(scene.gateway, client, 'SendMessage', { tenant, message: message('hi', more) });
    for (let i = 0; i < 5; i++)
      expect((await send('echo')).result.task.status.state).toBe('TASK_STATE_COMPLETED');
    const [one] = [await send('asks'), await send('asks')];
    expectOver(await send('asks'), 60, 'OPEN_TASKS');
    const params = { tenant: 'echo', message: message('hi') };
    expectOver(await ask(scene.gateway, 'heavy', 'SendStreamingMessage', params), 60, 'OPEN_TASKS');
    expect((await send('asks', 'light')).status).toBe(200);
    // A follow-up opens no task; it frees one.
    const { id } = one!.result.task;
    expect((await send('asks', 'heavy', { taskId: id })).result.task.status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
    expect((await send('asks')).status).toBe(200);
  });

  test('open tasks hold approximately for sends that come at once', async () => {
    await using scene = await start({ openTasks: 5 });
    const answers = [];
    for (let round = 0; round < 4; round++) {
      const sends = Array.from({ length: 5 }, () =>
        ask(scene.gateway, 'heavy', 'SendMessage', {
          message: message('hi'),
          configuration: { returnImmediately: true },
        }),
      );
      answers.push(...(await Promise.all(sends)));
    }
    const taken = answers.filter((answer) => answer.status === 200).length;
    expect(taken).toBeGreaterThanOrEqual(5);
    expect(taken).toBeLessThanOrEqual(10);
  });

  test('open streams, and a place that is given back can be taken again', async () => {
    await using scene = await start({ openStreams: 2 });
    await using _executor = executing(scene.gateway);
    const params = { tenant: 'asks', message: message('hi') };
    const { result } = await ask(scene.gateway, 'heavy', 'SendMessage', params);
    const subscribe = () => stream(scene.gateway, 'heavy', 'SubscribeToTask', { id: result.task.id });
    const held = [await subscribe(), await subscribe()];
    expectOver(
      await ask(scene.gateway, 'heavy', 'SubscribeToTask', { id: result.task.id }),
      60,
      'OPEN_STREAMS',
    );
    const items = (await scene.dump('state')).length;
    expectOver(
      await ask(scene.gateway, 'heavy', 'SendStreamingMessage', { message: message('hi') }),
      60,
      'OPEN_STREAMS',
    );
    expect((await scene.dump('state')).length).toBe(items);
    const light = await stream(scene.gateway, 'light', 'SendStreamingMessage', { message: message('hi') });
    expect(outline(await light.rest()).at(-1)).toBe('statusUpdate COMPLETED');
    await held[0]!.drop();
    const again = await subscribe();
    await again.drop();
    await held[1]!.drop();
  });

  test('a stream whose function died frees its place when its time is over', async () => {
    let now = Date.now();
    const clock: Clock = { now: () => now, sleep: async () => {} };
    await using scene = await start({ openStreams: 1, streamSeconds: 60 }, { clock });
    const { result } = await ask(scene.gateway, 'heavy', 'SendMessage', {
      message: message('hi'),
      configuration: { returnImmediately: true },
    });
    await stream(scene.gateway, 'heavy', 'SubscribeToTask', { id: result.task.id });
    expectOver(
      await ask(scene.gateway, 'heavy', 'SubscribeToTask', { id: result.task.id }),
      60,
      'OPEN_STREAMS',
    );
    now += 60_000;
    const next = await stream(scene.gateway, 'heavy', 'SubscribeToTask', { id: result.task.id });
    expect(outline([(await next.next())!])).toEqual(['task SUBMITTED']);
    await next.drop();
  });
});

describe('each bound on a request is refused by name:', () => {
  test('parts of a message', async () => {
    await using scene = await start({ maxParts: 3 });
    await using _executor = executing(scene.gateway);
    const send = (count: number) =>
      ask(scene.gateway, 'heavy', 'SendMessage', {
        message: message('', { parts: Array.from({ length: count }, () => ({ text: 'a' })) }),
      });
    expect((await send(3)).result.task.artifacts[0].parts).toHaveLength(3);
    expect(errorOf(await send(4))).toEqual({
      code: -32602,
      reason: 'INVALID_PARAMS',
      field: 'message.parts',
    });
  });

  test('bytes of a body, to the byte', async () => {
    await using scene = await start({ maxBodyBytes: 2_048 });
    const body = (length: number) =>
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks' }).padEnd(length, ' ');
    expect((await read(await scene.gateway.post('heavy', body(2_048)))).status).toBe(200);
    const answer = await read(await scene.gateway.post('heavy', body(2_049)));
    expect(answer.status).toBe(413);
    expect(errorOf(answer)).toEqual({ code: -32600, reason: 'INVALID_REQUEST', own: 'BODY_TOO_LARGE' });
    expect(answer.error.data[0].metadata).toEqual({ limitBytes: '2048' });
    // A body of two-byte characters counts in bytes.
    const wide = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', x: 'é'.repeat(1_200) });
    expect((await read(await scene.gateway.post('heavy', wide))).status).toBe(413);
  });

  test('history that is shown, and that a run is given', async () => {
    const talks = provider(async ({ progress, history }) => {
      if (history.length > 0) return completed('done');
      for (const text of ['1', '2', '3', '4', '5', '6']) await progress(text);
      return { kind: 'input-required', message: [{ text: 'well?' }] };
    });
    await using scene = await start({ maxHistoryMessages: 4 }, { adapters: { talks } });
    await using _executor = executing(scene.gateway);
    const texts = (said: { parts: { text: string }[] }[]) => said.map(({ parts }) => parts[0]!.text);
    const { result } = await ask(scene.gateway, 'heavy', 'SendMessage', {
      tenant: 'talks',
      message: message('hi'),
    });
    expect(texts(result.task.history)).toEqual(['4', '5', '6', 'well?']);
    const { id } = result.task;
    const more = await ask(scene.gateway, 'heavy', 'GetTask', { id, historyLength: 100 });
    expect(more.result.history).toHaveLength(4);
    await ask(scene.gateway, 'heavy', 'SendMessage', { message: message('so', { taskId: id }) });
    expect(texts(talks.requests[1]!.history as never)).toEqual(['4', '5', '6', 'well?']);
  });

  test('messages of one task: progress beyond the bound is dropped, the run is not', async () => {
    const chatty = provider(async ({ progress }) => {
      for (let i = 0; i < 10; i++) await progress(String(i));
      return completed('done');
    });
    await using scene = await start({ maxTaskMessages: 5 }, { adapters: { chatty } });
    await using _executor = executing(scene.gateway);
    const params = { tenant: 'chatty', message: message('hi') };
    const { result } = await ask(scene.gateway, 'heavy', 'SendMessage', params);
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(result.task.history.length).toBeLessThanOrEqual(5);
  });

  test('a result over the bounds ends its task FAILED with the reason, and stores nothing of it', async () => {
    const large = provider(() => completed('x'.repeat(2_000_001)));
    const numerous = provider(() => completed(...Array.from({ length: 101 }, () => 'x')));
    await using scene = await start({}, { adapters: { large, numerous } });
    await using _executor = executing(scene.gateway);
    for (const [tenant, reason] of [
      ['large', 'RESULT_TOO_LARGE'],
      ['numerous', 'RESULT_TOO_LARGE'],
    ] as const) {
      const { result } = await ask(scene.gateway, 'heavy', 'SendMessage', { tenant, message: message('hi') });
      expect(result.task.status.state).toBe('TASK_STATE_FAILED');
      expect(result.task.metadata, tenant).toEqual({ reason });
      expect(result.task).not.toHaveProperty('artifacts');
    }
    expect((await scene.dump('state')).filter(({ pk }) => pk.startsWith('A#'))).toEqual([]);
  });

  test('seconds of a blocking call, per profile', async () => {
    const gate = gated();
    const clock = skippingClock();
    await using scene = await start(
      {},
      { adapters: { gate }, profiles: { gate: { blockingSeconds: 3 } }, clock },
    );
    const begun = clock.now();
    const { result } = await ask(scene.gateway, 'heavy', 'SendMessage', {
      tenant: 'gate',
      message: message('hi'),
    });
    expect(result.task.status.state).toBe('TASK_STATE_SUBMITTED');
    expect(clock.now() - begun).toBeGreaterThanOrEqual(3_000);
    expect(clock.now() - begun).toBeLessThan(6_000);
    gate.release();
  });
});
