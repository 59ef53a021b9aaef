import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { createGateway, echoProfile, type Gateway, message, register, textOf } from './rig.ts';

describe('a message sent, run, completed, projected and answered', () => {
  let rig: StoreRig;
  let gateway: Gateway;
  beforeAll(async () => {
    rig = await startStore();
    await register(rig.store, {
      clients: [{ id: 'alice' }, { id: 'mallory' }],
      profiles: [echoProfile],
      providers: [{ id: 'echo', kind: 'echo', timeoutSeconds: 10 }],
    });
    gateway = createGateway({ store: rig.store });
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  async function send(params: object, client = 'alice') {
    const answering = gateway.call(client, 'SendMessage', params);
    const running = setInterval(() => void gateway.runAll(), 5);
    try {
      return await answering;
    } finally {
      clearInterval(running);
    }
  }

  test('a blocking send answers COMPLETED with its artifact, equal to GetTask', async () => {
    const first = await send({ message: message('hello') });
    if (!first.result) console.log(JSON.stringify(first), gateway.log.lines);
    const { result } = first;
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(result.task.artifacts).toMatchObject([{ parts: [{ text: 'hello' }] }]);
    expect(result.task.history).toHaveLength(1);
    const got = await gateway.call('alice', 'GetTask', { id: result.task.id });
    expect(got.result).toEqual(result.task);
  });

  test('another client sees nothing of it', async () => {
    const { result } = await send({ message: message('mine') });
    const got = await gateway.call('mallory', 'GetTask', { id: result.task.id });
    expect(got.error?.code).toBe(-32001);
  });

  test('returnImmediately answers before the run, and the run ends later', async () => {
    const { result } = await gateway.call('alice', 'SendMessage', {
      message: message('later'),
      configuration: { returnImmediately: true },
    });
    expect(result.task.status.state).toBe('TASK_STATE_SUBMITTED');
    await gateway.runAll();
    const got = await gateway.call('alice', 'GetTask', { id: result.task.id });
    expect(got.result.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('a stream shows the task, its artifact and its end, in this order', async () => {
    const answer = await gateway.post('alice', {
      jsonrpc: '2.0',
      id: 7,
      method: 'SendStreamingMessage',
      params: { message: message('stream me') },
    });
    expect(answer.headers['Content-Type']).toBe('text/event-stream');
    await gateway.runAll();
    const text = await textOf(answer.body as AsyncIterable<string>);
    const events = text.trimEnd().split('\n\n');
    expect(events.map((event) => event.split('\n')[0])).toEqual(['id: 1.0', 'id: 2.0', 'id: 2.1']);
    expect(events.map((event) => Object.keys(JSON.parse(event.split('data: ')[1]!).result)[0])).toEqual([
      'task',
      'artifactUpdate',
      'statusUpdate',
    ]);
  });

  test('a list shows the tasks of the caller, newest first, with an exact total', async () => {
    const first = await gateway.call('alice', 'ListTasks', { pageSize: 2 });
    expect(first.result.tasks).toHaveLength(2);
    expect(first.result.totalSize).toBe(4);
    const second = await gateway.call('alice', 'ListTasks', {
      pageSize: 2,
      pageToken: first.result.nextPageToken,
    });
    expect(second.result.tasks).toHaveLength(2);
    expect(second.result.nextPageToken).toBe('');
  });
});
