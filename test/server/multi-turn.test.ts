import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Message } from '../../shared/protocol/index.ts';
import { CACHE_MS } from '../../shared/registry/index.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { executing, message, register } from './rig.ts';
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

// Many calls each: on a machine that does other things as well they take their time.
vi.setConfig({ testTimeout: 90_000 });

const asks = asking();
const authorises = asking('auth-required');
const quiz = provider(({ message: { parts }, history }) =>
  history.length < 4
    ? { kind: 'input-required', message: [{ text: `and ${parts[0]!.text}?` }] }
    : completed('enough'),
);
const echo = provider(({ message: { parts } }) => completed(parts[0]?.text ?? ''));
const speaks = provider(({ message: { parts } }) => ({
  ...completed(parts[0]?.text ?? ''),
  message: [{ text: `said ${parts[0]?.text}` }],
}));
const loose = provider(() => completed('again'));
const gate = gated();
const answer = gated();
const slow = provider((request) =>
  request.history.length === 0
    ? { kind: 'input-required', message: [{ text: 'Which one?' }] }
    : answer.run(request),
);

let scene: Scene;
let executor: AsyncDisposable;
beforeAll(async () => {
  scene = await startScene({
    clients: ['alice', 'mallory'],
    profiles: { loose: { dedup: false } },
    adapters: { echo, slow, asks, authorises, quiz, speaks, loose, gate },
    settings: { maxContextMessages: 4, maxContextBytes: 4_000, maxReferenceTasks: 3, maxTaskMessages: 8 },
  });
  executor = executing(scene.gateway);
});
afterAll(async () => {
  gate.release();
  answer.release();
  await executor[Symbol.asyncDispose]();
  await scene[Symbol.asyncDispose]();
});

const call = (method: string, params?: unknown, client = 'alice') =>
  ask(scene.gateway, client, method, params);
const send = (tenant: string | undefined, text: string, more: object = {}, client = 'alice') =>
  call('SendMessage', { ...(tenant ? { tenant } : {}), message: message(text, more) }, client);
const taskOf = async (...args: Parameters<typeof send>) => (await send(...args)).result.task;
const texts = (messages: readonly Message[]) => messages.map((said) => said.parts[0]?.text);
const get = async (id: string) => (await call('GetTask', { id })).result;

describe('a task that asks its client', () => {
  test('INPUT_REQUIRED with a question, then the answer, then COMPLETED: the run sees the whole history', async () => {
    const task = await taskOf('asks', 'book a flight');
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: {
        role: 'ROLE_AGENT',
        parts: [{ text: 'Which one?' }],
        taskId: task.id,
        contextId: task.contextId,
      },
    });
    expect(task).not.toHaveProperty('artifacts');
    const after = await taskOf(undefined, 'the cheap one', { taskId: task.id });
    expect(after).toMatchObject({
      id: task.id,
      contextId: task.contextId,
      status: { state: 'TASK_STATE_COMPLETED' },
    });
    expect(after.artifacts[0].parts).toEqual([{ text: 'the cheap one' }]);
    expect(texts(after.history)).toEqual(['book a flight', 'Which one?', 'the cheap one']);
    const request = asks.requests.at(-1)!;
    expect(request.message.parts).toEqual([{ text: 'the cheap one' }]);
    expect(texts(request.history)).toEqual(['book a flight', 'Which one?']);
    expect(request.attempt).toBe(1);
    expect(await get(task.id)).toEqual(after);
  });

  test('AUTH_REQUIRED that waits for the client is resumed by its message', async () => {
    const task = await taskOf('authorises', 'read my mail');
    expect(task.status.state).toBe('TASK_STATE_AUTH_REQUIRED');
    const after = await taskOf('authorises', 'token', { taskId: task.id, contextId: task.contextId });
    expect(after.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('several rounds keep every message once and in order, and each revision is one event', async () => {
    const { id } = await taskOf('quiz', 'one');
    await send(undefined, 'two', { taskId: id });
    const last = await taskOf(undefined, 'three', { taskId: id });
    expect(last.status.state).toBe('TASK_STATE_COMPLETED');
    expect(texts(last.history)).toEqual(['one', 'and one?', 'two', 'and two?', 'three']);
    const all = await stream(scene.gateway, 'alice', 'SubscribeToTask', { id }, { 'last-event-id': '1.0' });
    expect(outline(await all.rest())).toEqual([
      'statusUpdate INPUT_REQUIRED',
      'statusUpdate WORKING',
      'statusUpdate INPUT_REQUIRED',
      'statusUpdate WORKING',
      'artifactUpdate',
      'statusUpdate COMPLETED',
    ]);
  });

  test('historyLength gives the most recent messages, on every method that has it', async () => {
    const { id, contextId } = await taskOf('quiz', 'a');
    await send(undefined, 'b', { taskId: id });
    for (const [historyLength, expected] of [
      [2, ['b', 'and b?']],
      [1, ['and b?']],
      [99, ['a', 'and a?', 'b', 'and b?']],
    ] as const) {
      const got = (await call('GetTask', { id, historyLength })).result;
      expect(texts(got.history)).toEqual(expected);
      const listed = (await call('ListTasks', { contextId, historyLength })).result.tasks[0];
      expect(texts(listed.history)).toEqual(expected);
    }
    const none = (await call('GetTask', { id, historyLength: 0 })).result;
    expect(none).not.toHaveProperty('history');
    expect(texts([none.status.message])).toEqual(['and b?']);
    const sent = await call('SendMessage', {
      message: message('c', { taskId: id }),
      configuration: { historyLength: 1 },
    });
    expect(texts(sent.result.task.history)).toEqual(['c']);
  });

  test('a task without room for an answer is asked nothing: it ends, and says why', async () => {
    await using full = await startScene({
      clients: ['wordy'],
      adapters: { asks: provider(() => ({ kind: 'input-required', message: [{ text: 'more?' }] })) },
      settings: { maxTaskMessages: 4 },
    });
    await using _executor = executing(full.gateway);
    const say = (more: object) =>
      ask(full.gateway, 'wordy', 'SendMessage', { tenant: 'asks', message: message('x', more) });
    const { id } = (await say({})).result.task;
    const { task } = (await say({ taskId: id })).result;
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { reason: 'TOO_MANY_MESSAGES' },
    });
    expect(errorOf(await say({ taskId: id })).own).toBe('TASK_TERMINAL');
  });

  test('a task that is full takes no more, and says so', async () => {
    await using full = await startScene({ clients: ['wordy'], adapters: { asks: asking() } });
    await using _executor = executing(full.gateway);
    const say = (more: object) =>
      ask(full.gateway, 'wordy', 'SendMessage', { tenant: 'asks', message: message('x', more) });
    const { id } = (await say({})).result.task;
    // Lowered since it asked.
    await register(full.rig.store, { settings: { maxTaskMessages: 2 } });
    await new Promise((resolve) => setTimeout(resolve, CACHE_MS + 100));
    expect(errorOf(await say({ taskId: id }))).toEqual({
      code: -32004,
      reason: 'UNSUPPORTED_OPERATION',
      own: 'TASK_FULL',
    });
    const { result } = await ask(full.gateway, 'wordy', 'GetTask', { id });
    expect(result.history).toHaveLength(2);
  });

  test('an answer that comes after its limit is refused, also before the sweeper has ended the task', async () => {
    let ahead = 0;
    await using late = await startScene({
      clients: ['tardy'],
      adapters: { asks: asking() },
      profiles: { asks: { inputSeconds: 60 } },
      clock: { ...systemClock, now: () => Date.now() + ahead },
    });
    await using _executor = executing(late.gateway);
    const say = (more: object) =>
      ask(late.gateway, 'tardy', 'SendMessage', { tenant: 'asks', message: message('x', more) });
    const { id } = (await say({})).result.task;
    ahead = 60_001;
    expect(errorOf(await say({ taskId: id })).own).toBe('TASK_TERMINAL');
    expect((await ask(late.gateway, 'tardy', 'GetTask', { id })).result).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { reason: 'INPUT_EXPIRED' },
    });
  });

  test('progress is told once, however often the run is tried, and leaves room for a question', async () => {
    const says = provider(async ({ progress, attempt }) => {
      for (const text of ['one', 'two', 'two']) await progress(text);
      if (attempt < 3) return { kind: 'failed', reason: 'declared', retryable: true };
      await progress('three');
      return completed('done');
    });
    const chatty = provider(async ({ progress }) => {
      for (let i = 0; i < 9; i++) await progress(`p${i}`);
      return { kind: 'input-required', message: [{ text: 'well?' }] };
    });
    await using scene = await startScene({
      clients: ['told'],
      adapters: { says, chatty },
      settings: { maxTaskMessages: 6 },
    });
    await using _executor = executing(scene.gateway);
    const run = async (tenant: string) =>
      (await ask(scene.gateway, 'told', 'SendMessage', { tenant, message: message('go') })).result.task;
    expect(texts((await run('says')).history)).toEqual(['go', 'one', 'two', 'two']);
    expect(says.requests).toHaveLength(3);
    const asked = await run('chatty');
    expect(texts(asked.history)).toEqual(['go', 'p0', 'p1', 'p2', 'well?']);
    const reply = await ask(scene.gateway, 'told', 'SendMessage', {
      message: message('so', { taskId: asked.id }),
    });
    expect(reply.error).toBeUndefined();
  });
});

describe('a message that its task cannot take', () => {
  test('a task that was not started, or is being worked on, refuses it with a reason that says which', async () => {
    const params = { tenant: 'gate', message: message('hi'), configuration: { returnImmediately: true } };
    const { id } = (await call('SendMessage', params)).result.task;
    const refused = await send('gate', 'hurry', { taskId: id });
    expect(errorOf(refused)).toMatchObject({
      code: -32004,
      own: expect.stringMatching(/^TASK_(SUBMITTED|WORKING)$/),
    });
    await expect
      .poll(async () => (await get(id)).status.state, { timeout: 10_000 })
      .toBe('TASK_STATE_WORKING');
    for (const method of ['SendMessage', 'SendStreamingMessage']) {
      const working = await call(method, { message: message('hurry', { taskId: id }) });
      expect(errorOf(working)).toEqual({
        code: -32004,
        reason: 'UNSUPPORTED_OPERATION',
        own: 'TASK_WORKING',
      });
    }
    await call('CancelTask', { id });
    expect(errorOf(await send('gate', 'oh', { taskId: id })).own).toBe('TASK_TERMINAL');
    expect((await get(id)).history).toHaveLength(1);
  });

  test('a contextId that is not the one of the task is refused by name', async () => {
    const task = await taskOf('asks', 'hi');
    const refused = await send('asks', 'hi', { taskId: task.id, contextId: 'another' });
    expect(errorOf(refused)).toEqual({ code: -32602, reason: 'INVALID_PARAMS', field: 'message.contextId' });
    expect((await get(task.id)).history).toHaveLength(2);
  });

  test('T01 a foreign task and an unknown one are the same to a sender', async () => {
    const task = await taskOf('asks', 'hi');
    for (const more of [
      { taskId: task.id },
      { referenceTaskIds: [task.id] },
      { taskId: task.id, contextId: task.contextId },
    ]) {
      const unknown = JSON.parse(JSON.stringify(more).replaceAll(task.id, 'nope'));
      const foreign = await send('asks', 'hi', more, 'mallory');
      expect(errorOf(foreign).code).toBe(-32001);
      expect(foreign.error).toEqual((await send('asks', 'hi', unknown, 'mallory')).error);
    }
    expect((await get(task.id)).history).toHaveLength(2);
  });

  test('a task under another tenant than its own is unknown', async () => {
    const task = await taskOf('asks', 'hi');
    expect(errorOf(await send('echo', 'hi', { taskId: task.id })).code).toBe(-32001);
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) {
      expect(errorOf(await call(method, { id: task.id, tenant: 'echo' })).code).toBe(-32001);
    }
  });

  test('two different follow-ups at once: one resumes the task, the other is refused, and the history has one', async () => {
    const { id } = await taskOf('asks', 'hi');
    const both = await Promise.all(['left', 'right'].map((text) => send(undefined, text, { taskId: id })));
    const refused = both.filter((answer) => answer.error);
    expect(refused).toHaveLength(1);
    expect(errorOf(refused[0]!)).toMatchObject({
      code: -32004,
      own: expect.stringMatching(/^TASK_(WORKING|TERMINAL)$/),
    });
    expect((await get(id)).history).toHaveLength(3);
  });
});

describe('a context', () => {
  test('a new task in a context sees its earlier messages, those of the agent too, oldest first', async () => {
    const contextId = 'a trip';
    await taskOf('echo', 'first', { contextId });
    await taskOf('speaks', 'second', { contextId });
    const third = await taskOf('echo', 'third', { contextId });
    expect(third.contextId).toBe(contextId);
    // Of its artifacts too: else an agent that answers with those would not know what it answered. Four at most.
    const { contextMessages } = echo.requests.at(-1)!;
    expect(contextMessages.map(({ role, parts }) => [role, parts[0]?.text])).toEqual([
      ['ROLE_AGENT', 'first'],
      ['ROLE_USER', 'second'],
      ['ROLE_AGENT', 'second'],
      ['ROLE_AGENT', 'said second'],
    ]);
    expect(echo.requests.at(-1)!.history).toEqual([]);
    expect(third.history).toHaveLength(1);
  });

  test('it is bounded in messages, and the newest are kept', async () => {
    const contextId = 'a long one';
    for (const text of ['1', '2', '3', '4', '5', '6']) await taskOf('echo', text, { contextId });
    expect(texts(echo.requests.at(-1)!.contextMessages)).toEqual(['4', '4', '5', '5']);
  });

  test('it is bounded in bytes, and the newest are kept', async () => {
    const contextId = 'a wide one';
    for (const digit of ['1', '2', '3', '4']) await taskOf('echo', digit.repeat(1_500), { contextId });
    expect(texts(echo.requests.at(-1)!.contextMessages)).toEqual(['3'.repeat(1_500), '3'.repeat(1_500)]);
  });

  test('bytes are those of UTF-8, and one message that is too large takes no smaller one with it', async () => {
    const contextId = 'an uneven one';
    await taskOf('echo', 'small', { contextId });
    await taskOf('echo', '\u6f22'.repeat(1_500), { contextId });
    await taskOf('echo', 'last', { contextId });
    expect(texts(echo.requests.at(-1)!.contextMessages)).toEqual(['small', 'small']);
  });

  test('T01 the same contextId of another client is another context', async () => {
    const contextId = 'shared name';
    await taskOf('echo', 'mine', { contextId });
    const theirs = await taskOf('echo', 'theirs', { contextId }, 'mallory');
    expect(theirs.contextId).toBe(contextId);
    expect(echo.requests.at(-1)!.contextMessages).toEqual([]);
    const listed = (await call('ListTasks', { contextId }, 'mallory')).result;
    expect(listed.tasks.map((task: { id: string }) => task.id)).toEqual([theirs.id]);
  });

  test('without one each task gets a context of its own', async () => {
    const [one, two] = [await taskOf('echo', 'a'), await taskOf('echo', 'b')];
    expect(one.contextId).not.toBe(two.contextId);
    expect(echo.requests.at(-1)!.contextMessages).toEqual([]);
  });
});

describe('references', () => {
  test('tasks of the same client come with their artifacts and messages, each once', async () => {
    const source = await taskOf('speaks', 'the source');
    await taskOf('echo', 'see there', { referenceTaskIds: [source.id, source.id] });
    const { references } = echo.requests.at(-1)!;
    expect(references).toHaveLength(1);
    expect(references[0]).toMatchObject({ task: source.id, artifacts: source.artifacts });
    expect(texts(references[0]!.messages)).toEqual(['the source', 'said the source']);
  });

  test('one that is too large is said to be, and takes no smaller one with it', async () => {
    const large = await taskOf('echo', 'x'.repeat(4_100));
    const small = await taskOf('echo', 'small');
    await taskOf('echo', 'see there', { referenceTaskIds: [large.id, small.id] });
    expect(echo.requests.at(-1)!.references).toMatchObject([
      { task: large.id, artifacts: [], messages: [], truncated: true },
      { task: small.id, artifacts: small.artifacts },
    ]);
  });

  test('more than the bound is refused by name', async () => {
    const refused = await send('echo', 'hi', { referenceTaskIds: ['a', 'b', 'c', 'd'] });
    expect(errorOf(refused)).toMatchObject({ code: -32602, field: 'message.referenceTaskIds' });
  });
});

describe('the profile of a message', () => {
  test('is its tenant, else the skill that its metadata names, else the default one', async () => {
    const named = { 'sealpost/skill': 'speaks' };
    expect((await taskOf(undefined, 'x')).status).not.toHaveProperty('message');
    expect((await taskOf(undefined, 'x', { metadata: named })).status.message.parts).toEqual([
      { text: 'said x' },
    ]);
    const inRequest = await call('SendMessage', { message: message('x'), metadata: named });
    expect(inRequest.result.task.status.message.parts).toEqual([{ text: 'said x' }]);
    expect((await taskOf('echo', 'x', { metadata: named })).status).not.toHaveProperty('message');
  });
});

describe('a message that is sent again', () => {
  const again = (params: object, client = 'alice') => call('SendMessage', params, client);

  test('is the same task as it stands, and no second run, also after the task moved on', async () => {
    const params = { tenant: 'echo', message: message('once') };
    const first = (await again(params)).result.task;
    const runs = echo.requests.length;
    expect((await again(params)).result.task).toEqual(first);
    expect((await again({ ...params, configuration: { returnImmediately: true } })).result.task).toEqual(
      first,
    );
    expect(echo.requests.length).toBe(runs);
  });

  test('is the same however it is written', async () => {
    const { messageId } = message('');
    const first = await again({
      tenant: 'echo',
      message: {
        messageId,
        role: 'ROLE_USER',
        parts: [{ text: 'same', metadata: { a: 1, b: [2] } }],
        extensions: [],
      },
    });
    const second = await again({
      tenant: 'echo',
      message: {
        parts: [{ metadata: { b: [2], a: 1 }, text: 'same', extra: true }],
        role: 1,
        message_id: messageId,
      },
    });
    expect(second.result.task.id).toBe(first.result.task.id);
  });

  test('with another content, context, role of task or tenant is refused, and the first task stands', async () => {
    const sent = message('first');
    const task = (await again({ tenant: 'echo', message: sent })).result.task;
    const items = (await scene.dump('state')).length;
    for (const changed of [
      { tenant: 'echo', message: { ...sent, parts: [{ text: 'second' }] } },
      { tenant: 'echo', message: { ...sent, contextId: 'another' } },
      { tenant: 'echo', message: { ...sent, metadata: { a: 1 } } },
      { tenant: 'echo', message: { ...sent, taskId: task.id } },
      { tenant: 'speaks', message: sent },
      { message: sent },
    ]) {
      expect(errorOf(await again(changed)), JSON.stringify(changed)).toEqual({
        code: -32602,
        reason: 'INVALID_PARAMS',
        own: 'MESSAGE_ID_REUSED',
        field: 'message.messageId',
      });
    }
    expect((await scene.dump('state')).length).toBe(items);
    expect(await get(task.id)).toEqual(task);
  });

  test('by another client is a message of its own', async () => {
    const params = { tenant: 'echo', message: message('mine') };
    const mine = (await again(params)).result.task;
    const theirs = (await again(params, 'mallory')).result.task;
    expect(theirs.id).not.toBe(mine.id);
  });

  test('twenty times at once is one task, and one run', async () => {
    const params = { tenant: 'echo', message: message('at once') };
    const runs = echo.requests.length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => again(params)));
    expect(new Set(answers.map((answer) => answer.result.task.id)).size).toBe(1);
    for (const answer of answers) expect(answer.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(echo.requests.length).toBe(runs + 1);
  });

  test('as a follow-up resumes its task once, whether it was answered, asks again or has ended', async () => {
    const { id } = await taskOf('quiz', 'one');
    const followUp = { message: message('two', { taskId: id }) };
    const first = (await again(followUp)).result.task;
    expect((await again(followUp)).result.task).toEqual(first);
    await send(undefined, 'three', { taskId: id });
    expect((await again(followUp)).result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(texts((await get(id)).history)).toEqual(['one', 'and one?', 'two', 'and two?', 'three']);
  });

  test('as a follow-up twice at once is answered both times, also to the one that comes second', async () => {
    const { id } = await taskOf('asks', 'hi');
    const followUp = { message: message('twice', { taskId: id }) };
    let overtook = false;
    const overtaken = scene.instance({
      store: {
        ...scene.rig.store,
        async get(table, key, options) {
          const found = await scene.rig.store.get(table, key, options);
          // The other one commits between the look for an earlier send and the look at the task.
          if (key.pk.startsWith('D#') && !overtook) {
            overtook = true;
            await again(followUp);
          }
          return found;
        },
      },
    });
    const second = await ask(overtaken, 'alice', 'SendMessage', followUp);
    expect(second.error).toBeUndefined();
    expect(second.result.task.id).toBe(id);
    expect((await get(id)).history).toHaveLength(3);
  });

  test('as a follow-up never shows the question from before it, however late the view is', async () => {
    const { id } = await taskOf('slow', 'hi');
    const followUp = { message: message('late view', { taskId: id }) };
    const blind = scene.instance({
      store: {
        ...scene.rig.store,
        transact: async (actions, ...rest) => {
          if (actions.some((action) => action.table === 'view')) throw new Error('no projection');
          return scene.rig.store.transact(actions, ...rest);
        },
      },
    });
    await ask(blind, 'alice', 'SendMessage', { ...followUp, configuration: { returnImmediately: true } });
    // For this reader no time passes: it never finds the projection late, and leaves it to others.
    const asked = Date.now();
    const { promise: waits, resolve: isWaiting } = Promise.withResolvers<void>();
    const sleep: typeof systemClock.sleep = (ms, signal) => {
      isWaiting();
      return systemClock.sleep(ms, signal);
    };
    const patient = scene.instance({ clock: { now: () => asked, sleep } });
    const answering = ask(patient, 'alice', 'SendMessage', followUp);
    await Promise.race([waits, answering]);
    answer.release();
    const { result } = await answering;
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('to a profile that has dedup switched off is a new task each time', async () => {
    const params = { tenant: 'loose', message: message('again') };
    const [one, two] = [(await again(params)).result.task, (await again(params)).result.task];
    expect(one.id).not.toBe(two.id);
    expect(
      errorOf(await again({ ...params, message: { ...params.message, parts: [{ text: 'b' }] } })).code,
    ).toBeUndefined();
  });

  test('to a profile without dedup is not held against an id that another profile knows', async () => {
    const sent = message('known');
    const known = (await again({ tenant: 'echo', message: sent })).result.task;
    const loosely = await again({ tenant: 'loose', message: sent });
    expect(loosely.result.task.id).not.toBe(known.id);
    expect((await again({ tenant: 'echo', message: sent })).result.task).toEqual(known);
  });
});
