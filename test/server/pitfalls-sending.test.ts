import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProviderRequest } from '../../shared/providers/index.ts';
import { executing, message } from './rig.ts';
import {
  ask,
  asking,
  completed,
  errorOf,
  gated,
  outline,
  provider,
  type Scene,
  startScene,
  stream,
} from './scene.ts';

const gate = gated();
const stubborn = gated(completed('too late'));
const slow = provider(async ({ progress }) => {
  await progress('working on it');
  await new Promise((resolve) => setTimeout(resolve, 300));
  return completed('slow but done');
});
const throws = provider(async ({ progress }) => {
  await progress('so far so good');
  throw new Error('secret-dsn in a stack');
});
const failed = provider(() => ({ kind: 'failed', retryable: false, reason: 'refused' }));
const rejects = provider(() => ({ kind: 'rejected' }));
const echo = provider(({ message: { parts } }) => completed(parts[0]?.text ?? ''));
let talksOn: ProviderRequest['progress'] | undefined;
const talker = provider(async ({ progress }) => {
  talksOn = progress;
  await progress('one');
  return completed('done');
});

let scene: Scene;
let executor: AsyncDisposable;
beforeAll(async () => {
  scene = await startScene({
    adapters: { echo, gate, stubborn, slow, throws, failed, rejects, talker, asks: asking() },
  });
  executor = executing(scene.gateway);
});
afterAll(async () => {
  gate.release();
  stubborn.release();
  await executor[Symbol.asyncDispose]();
  await scene[Symbol.asyncDispose]();
});

const call = (method: string, params?: unknown) => ask(scene.gateway, 'alice', method, params);
const send = async (tenant: string, more: object = {}, configuration: object = {}) =>
  (await call('SendMessage', { tenant, message: message('hi', more), configuration })).result.task;
const get = async (id: string) => (await call('GetTask', { id })).result;
const until = async (id: string, state: string) => {
  for (;;) {
    const task = await get(id);
    if (task.status.state === `TASK_STATE_${state}`) return task;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

describe('SendMessage and execution modes (M)', () => {
  test('M01 a blocking send waits through WORKING and answers the completed task, equal to GetTask', async () => {
    const task = await send('slow');
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task.artifacts[0].parts).toEqual([{ text: 'slow but done' }]);
    expect(await get(task.id)).toEqual(task);
  });

  test('M03 returnImmediately answers before the work is done; blocking of old clients means nothing', async () => {
    const task = await send('gate', {}, { returnImmediately: true, blocking: true });
    expect(task.status.state).toMatch(/SUBMITTED|WORKING/);
    expect(task).not.toHaveProperty('artifacts');
    expect((await send('echo', {}, { blocking: false })).status.state).toBe('TASK_STATE_COMPLETED');
    await call('CancelTask', { id: task.id });
  });

  test('M04 work goes on after the answer, by the queue, and by the sweeper when the queue lost it', async () => {
    const clock = { now: () => Date.now() + offset, sleep: scene.gateway.services.clock.sleep };
    let offset = 0;
    const lost = scene.instance({ clock });
    const queue = { ...lost.runQueue, async send() {} };
    const forgetful = { ...lost.services, runQueue: queue };
    const { handleRpc } = await import('../../shared/rpc/index.ts');
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: message('hi'), configuration: { returnImmediately: true } },
    });
    const headers = { authorization: `Bearer ${lost.token('alice')}`, 'a2a-version': '1.0' };
    const request = { headers, query: {}, body: Buffer.from(body), baseUrl: 'https://gateway.example' };
    const answer = await handleRpc(forgetful, request, Date.now() + 60_000);
    const { id } = JSON.parse(String(answer.body)).result.task;
    expect((await get(id)).status.state).toBe('TASK_STATE_SUBMITTED');
    offset = 61_000;
    await lost.sweep();
    expect((await until(id, 'COMPLETED')).artifacts).toHaveLength(1);
  });

  test.each([
    ['echo', 'COMPLETED'],
    ['failed', 'FAILED'],
    ['rejects', 'REJECTED'],
    ['asks', 'CANCELED'],
  ])(
    'M06 a message to a task of %s that is %s is refused, unary and streaming, and changes nothing',
    async (tenant, state) => {
      const task = await send(tenant);
      if (state === 'CANCELED') await call('CancelTask', { id: task.id });
      const before = await get(task.id);
      expect(before.status.state).toBe(`TASK_STATE_${state}`);
      const calls = [echo, failed, rejects].map(({ requests }) => requests.length);
      const items = (await scene.dump('state')).length;
      for (const method of ['SendMessage', 'SendStreamingMessage']) {
        const refused = await call(method, { message: message('more', { taskId: task.id }) });
        expect(errorOf(refused)).toEqual({
          code: -32004,
          reason: 'UNSUPPORTED_OPERATION',
          own: 'TASK_TERMINAL',
        });
      }
      expect(await get(task.id)).toEqual(before);
      expect([echo, failed, rejects].map(({ requests }) => requests.length)).toEqual(calls);
      expect((await scene.dump('state')).length).toBe(items);
    },
  );

  test('M07 an unknown taskId creates nothing', async () => {
    const items = (await scene.dump('state')).length;
    const refused = await call('SendMessage', { message: message('hi', { taskId: 'nope' }) });
    expect(errorOf(refused).code).toBe(-32001);
    expect((await scene.dump('state')).length).toBe(items);
  });

  test('M09 every event and history entry has the ids of the task, the failed one of a broken executor too', async () => {
    const params = { tenant: 'throws', message: message('hi') };
    const all = await (await stream(scene.gateway, 'alice', 'SendStreamingMessage', params)).rest();
    const { id: taskId, contextId } = all[0]!.result.task;
    expect(outline(all)).toEqual([
      'task SUBMITTED',
      // Said by each of three attempts, told once.
      'statusUpdate WORKING',
      'statusUpdate FAILED',
    ]);
    for (const { result } of all.slice(1)) {
      expect(result.statusUpdate).toMatchObject({ taskId, contextId });
      expect(result.statusUpdate.status.message).toMatchObject({ taskId, contextId });
    }
    const task = await get(taskId);
    for (const said of task.history) expect(said).toMatchObject({ taskId, contextId });
  });

  test('M10 R13 the history holds both messages of the client in order, once each, from the first snapshot on', async () => {
    const first = message('first');
    const params = { tenant: 'asks', message: first };
    const [snapshot] = await (await stream(scene.gateway, 'alice', 'SendStreamingMessage', params)).rest();
    expect(snapshot!.result.task.history.map((said: { messageId: string }) => said.messageId)).toEqual([
      first.messageId,
    ]);
    const second = message('second', { taskId: snapshot!.result.task.id });
    const { result } = await call('SendMessage', { message: second });
    const ids = result.task.history.map((said: { messageId: string }) => said.messageId);
    expect(ids).toEqual([first.messageId, expect.any(String), second.messageId]);
    expect(result.task.history.map((said: { role: string }) => said.role)).toEqual([
      'ROLE_USER',
      'ROLE_AGENT',
      'ROLE_USER',
    ]);
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('M12 an executor that throws after WORKING leaves a FAILED task, and tells no one why', async () => {
    const task = await send('throws');
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { role: 'ROLE_AGENT', parts: [{ text: 'The task could not be completed.' }] },
    });
    expect(task.metadata).toEqual({ reason: 'EXECUTION_FAILED' });
    expect(JSON.stringify([task, scene.gateway.log.lines, scene.gateway.metrics.measurements])).not.toContain(
      'secret-dsn',
    );
  });

  test('M13 what an executor reports after its task ended is dropped', async () => {
    const task = await send('talker');
    await talksOn!('and another thing');
    expect(await get(task.id)).toEqual(task);
    expect(task.history).toHaveLength(2);
  });

  test('the cap answers the task as it stands, and the client goes on with GetTask', async () => {
    const clock = { ...scene.gateway.services.clock, now: () => Date.now() * 200 };
    const hasty = scene.instance({ clock });
    const { result } = await ask(hasty, 'alice', 'SendMessage', { tenant: 'gate', message: message('hi') });
    expect(result.task.status.state).toMatch(/SUBMITTED|WORKING/);
    await call('CancelTask', { id: result.task.id });
  });
});

describe('cancel (C)', () => {
  test('C02 the answer is the canceled task, equal to GetTask', async () => {
    const { id } = await send('asks');
    const { result } = await call('CancelTask', { id });
    expect(result.status.state).toBe('TASK_STATE_CANCELED');
    expect(await get(id)).toEqual(result);
  });

  test('C03 a second cancel is -32002, as is one of any other terminal task; unknown is -32001', async () => {
    const { id } = await send('asks');
    await call('CancelTask', { id });
    expect(errorOf(await call('CancelTask', { id })).code).toBe(-32002);
    for (const tenant of ['echo', 'failed', 'rejects']) {
      expect(errorOf(await call('CancelTask', { id: (await send(tenant)).id })).code).toBe(-32002);
    }
    expect(errorOf(await call('CancelTask', { id: 'nope' })).code).toBe(-32001);
  });

  test('C05 an executor that ignores its signal holds up no cancel, and writes nothing any more', async () => {
    const task = await send('stubborn', {}, { returnImmediately: true });
    await until(task.id, 'WORKING');
    const { result } = await call('CancelTask', { id: task.id });
    expect(result.status.state).toBe('TASK_STATE_CANCELED');
    const items = (await scene.dump('state')).length;
    stubborn.release();
    await stubborn.requests[0]!.progress('still here');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await get(task.id)).toEqual(result);
    expect((await scene.dump('state')).length).toBe(items);
  });

  test('a task that waits for its client is canceled, and its stream ends with that', async () => {
    const task = await send('asks');
    const watching = await stream(scene.gateway, 'alice', 'SubscribeToTask', { id: task.id });
    expect(outline([(await watching.next())!])).toEqual(['task INPUT_REQUIRED']);
    await call('CancelTask', { id: task.id });
    expect(outline(await watching.rest())).toEqual(['statusUpdate CANCELED']);
  });
});
