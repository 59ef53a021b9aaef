import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { answerOf } from '../../functions/rpc/event.ts';
import { executing, message } from './rig.ts';
import {
  ask,
  asking,
  type EventReader,
  errorOf,
  gated,
  outline,
  provider,
  type Scene,
  type StreamEvent,
  skippingClock,
  startScene,
  stream,
} from './scene.ts';

// Many calls each: on a machine that does other things as well they take their time.
vi.setConfig({ testTimeout: 90_000 });

const ARTIFACTS = 100;
const many = provider(() => ({
  kind: 'completed',
  artifacts: Array.from({ length: ARTIFACTS }, (_, i) => ({ parts: [{ text: String(i) }] })),
  message: [{ text: 'that was all' }],
}));
const TALK = 30;
const talker = provider(async ({ progress }) => {
  for (let i = 0; i < TALK; i++) await progress(String(i));
  return { kind: 'completed', artifacts: [{ parts: [{ text: 'a' }] }, { parts: [{ text: 'b' }] }] };
});
let gate = gated();
const gates = provider(async (request) => {
  await request.progress('waiting');
  return gate.run(request);
});

let scene: Scene;
let executor: AsyncDisposable;
beforeAll(async () => {
  scene = await startScene({
    clients: ['alice', 'mallory', 'dropper'],
    adapters: { many, talker, gates, asks: asking(), authorises: asking('auth-required') },
    settings: { openStreams: 500 },
  });
  executor = executing(scene.gateway);
});
afterAll(async () => {
  gate.release();
  await executor[Symbol.asyncDispose]();
  await scene[Symbol.asyncDispose]();
});

const call = (method: string, params?: unknown, headers?: Record<string, string>, client = 'alice') =>
  ask(scene.gateway, client, method, params, headers);
const sendStream = (tenant: string, more: object = {}, client = 'alice') =>
  stream(scene.gateway, client, 'SendStreamingMessage', { tenant, message: message('hi', more) });
const subscribe = (id: string, last?: string, gateway = scene.gateway) =>
  stream(gateway, 'alice', 'SubscribeToTask', { id }, last === undefined ? {} : { 'last-event-id': last });
const send = async (tenant: string, configuration: object = {}) =>
  (await call('SendMessage', { tenant, message: message('hi'), configuration })).result.task;
const openPlaces = async (client: string) =>
  (await scene.dump('registry')).filter(({ pk }) => pk === `stream#${client}`).length;
const take = async (reader: EventReader, count: number) => {
  const all: StreamEvent[] = [];
  for (let i = 0; i < count; i++) all.push((await reader.next())!);
  return all;
};

describe('streaming and subscribe (S)', () => {
  test('S01 S13 a hundred streams of a hundred quick events each all end with the terminal update, in order', async () => {
    const streams = await Promise.all(Array.from({ length: 100 }, () => sendStream('many')));
    const expected = Array.from({ length: ARTIFACTS }, (_, i) => String(i));
    for (const all of await Promise.all(streams.map((each) => each.rest()))) {
      const updates = all.filter(({ result }) => result.artifactUpdate);
      expect(updates.map(({ result }) => result.artifactUpdate.artifact.parts[0].text)).toEqual(expected);
      expect(all.at(-1)!.result.statusUpdate.status).toMatchObject({
        state: 'TASK_STATE_COMPLETED',
        message: { parts: [{ text: 'that was all' }] },
      });
      const [revision] = all.at(-1)!.id.split('.');
      expect(all.slice(-ARTIFACTS - 1).map((event) => event.id)).toEqual(
        Array.from({ length: ARTIFACTS + 1 }, (_, i) => `${revision}.${i}`),
      );
    }
  });

  test('S13 back-to-back status updates reach every stream of a task in the order they were made, on any instance', async () => {
    const first = await sendStream('talker');
    const [task] = await take(first, 1);
    const others = await Promise.all(
      [scene.gateway, scene.instance(), scene.instance()].map((gateway) =>
        subscribe(task!.result.task.id, '1.0', gateway),
      ),
    );
    const [all, ...same] = await Promise.all([first, ...others].map((each) => each.rest()));
    const said = all!.flatMap(({ result }) => result.statusUpdate?.status.message?.parts[0].text ?? []);
    expect(said).toEqual(Array.from({ length: TALK }, (_, i) => String(i)));
    expect(outline(all!).slice(-3)).toEqual(['artifactUpdate', 'artifactUpdate', 'statusUpdate COMPLETED']);
    const bare = (events: readonly StreamEvent[]) => events.map(({ id, result }) => ({ id, result }));
    for (const one of same) expect(bare(one)).toEqual(bare(all!));
    const stamps = all!.flatMap(({ result }) => result.statusUpdate?.status.timestamp ?? []);
    expect(stamps).toEqual([...new Set(stamps)].sort());
  });

  test('S06 a stream continued behind any event holds exactly the rest, nothing lost and nothing twice', async () => {
    const all = await (await sendStream('talker')).rest();
    const id = all[0]!.result.task.id;
    for (const [index, event] of all.slice(0, -1).entries()) {
      const rest = await (await subscribe(id, event.id)).rest();
      expect(rest.map((each) => ({ id: each.id, result: each.result }))).toEqual(
        all.slice(index + 1).map((each) => ({ id: each.id, result: each.result })),
      );
    }
    expect(errorOf(await call('SubscribeToTask', { id }, { 'last-event-id': all.at(-1)!.id }))).toMatchObject(
      {
        code: -32004,
        own: 'STREAM_EXHAUSTED',
      },
    );
  });

  test('S06 a connection cut in the middle loses no state: a new subscription shows what changed meanwhile', async () => {
    gate = gated();
    const cut = await sendStream('gates');
    const [task, working] = await take(cut, 2);
    expect(outline([task!, working!])).toEqual(['task SUBMITTED', 'statusUpdate WORKING']);
    const id = task!.result.task.id;
    const again = await subscribe(id);
    const [snapshot] = await take(again, 1);
    expect(snapshot!.id).toBe(working!.id);
    expect(snapshot!.result.task).toEqual((await call('GetTask', { id })).result);
    const continued = await subscribe(id, working!.id);
    gate.release();
    const rest = await again.rest();
    expect(outline(rest)).toEqual(['artifactUpdate', 'statusUpdate COMPLETED']);
    expect(await continued.rest()).toMatchObject(
      rest.map(({ id: number, result }) => ({ id: number, result })),
    );
    await cut.rest();
  });

  test('S06 a stream continued where nothing was missed answers at once, not with the next event', async () => {
    const { id } = await send('asks');
    const clock = skippingClock();
    const begun = clock.now();
    const body = { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } };
    const answer = await scene.instance({ clock }).post('alice', body, { 'last-event-id': '2.0' });
    expect(answer.headers['Content-Type']).toBe('text/event-stream');
    const pieces = (answer.body as AsyncIterable<string>)[Symbol.asyncIterator]();
    expect((await pieces.next()).value).toBe(': keep-alive\n\n');
    expect(clock.now() - begun).toBeLessThan(10_000);
    await pieces.return?.();
  });

  test('S06 a streaming send that is repeated with Last-Event-ID goes on behind it, and runs nothing again', async () => {
    const params = { tenant: 'talker', message: message('once') };
    const all = await (await stream(scene.gateway, 'alice', 'SendStreamingMessage', params)).rest();
    const runs = talker.requests.length;
    const from = all[7]!;
    const rest = await stream(scene.gateway, 'alice', 'SendStreamingMessage', params, {
      'last-event-id': from.id,
    });
    expect((await rest.rest()).map((event) => event.id)).toEqual(all.slice(8).map((event) => event.id));
    const whole = await (await stream(scene.gateway, 'alice', 'SendStreamingMessage', params)).rest();
    expect(outline(whole)).toEqual(['task COMPLETED']);
    expect(talker.requests.length).toBe(runs);
  });

  test('P2 whoever saw an event finds that state or a later one by Get', async () => {
    const watching = await sendStream('talker');
    const rank = ['SUBMITTED', 'WORKING', 'COMPLETED'];
    const [first] = await take(watching, 1);
    const id = first!.result.task.id;
    for (let event = await watching.next(); event; event = await watching.next()) {
      const update = event.result.statusUpdate;
      if (!update) continue;
      const { result } = await ask(scene.instance(), 'alice', 'GetTask', { id });
      expect(result.status.timestamp >= update.status.timestamp).toBe(true);
      const [got, seen] = [result, update].map((each) => rank.indexOf(each.status.state.slice(11)));
      expect(got).toBeGreaterThanOrEqual(seen!);
    }
  });

  test('S03 an error before the stream is JSON, never an event stream', async () => {
    for (const [method, params] of [
      ['SubscribeToTask', { id: 'nope' }],
      ['SendStreamingMessage', { message: message('hi', { taskId: 'nope' }) }],
    ] as const) {
      const answer = await call(method, params);
      expect(answer.headers['Content-Type']).toBe('application/json');
      expect(errorOf(answer).code).toBe(-32001);
    }
  });

  test('S04 a subscription to a completed task is -32004 as JSON', async () => {
    const { id } = await send('echo');
    const answer = await call('SubscribeToTask', { id });
    expect(answer.headers['Content-Type']).toBe('application/json');
    expect(errorOf(answer)).toMatchObject({ code: -32004, own: 'TASK_TERMINAL' });
  });

  test('S07 at INPUT_REQUIRED a streaming send ends and a subscription stays, with what comes after it', async () => {
    const all = await (await sendStream('asks')).rest();
    expect(outline(all)).toEqual(['task SUBMITTED', 'statusUpdate INPUT_REQUIRED']);
    const taskId = all[0]!.result.task.id;
    const watching = await subscribe(taskId);
    await take(watching, 1);
    const answer = await (await sendStream('asks', { taskId })).rest();
    expect(outline(answer)).toEqual(['task WORKING', 'artifactUpdate', 'statusUpdate COMPLETED']);
    expect(outline(await watching.rest())).toEqual([
      'statusUpdate WORKING',
      'artifactUpdate',
      'statusUpdate COMPLETED',
    ]);
  });

  test('S07 at AUTH_REQUIRED both streams stay open, and later events arrive', async () => {
    const sent = await sendStream('authorises');
    const [task] = await take(sent, 2);
    const taskId = task!.result.task.id;
    const watching = await subscribe(taskId);
    expect(outline(await take(watching, 1))).toEqual(['task AUTH_REQUIRED']);
    await call('SendMessage', { message: message('granted', { taskId }) });
    const rest = ['statusUpdate WORKING', 'artifactUpdate', 'statusUpdate COMPLETED'];
    expect(outline(await sent.rest())).toEqual(rest);
    expect(outline(await watching.rest())).toEqual(rest);
  });

  test('S10 where streaming is off both stream methods are -32004 as JSON, and nothing is stored', async () => {
    await using quiet = await startScene({ clients: ['quiet'], settings: { streaming: false } });
    for (const [method, params] of [
      ['SendStreamingMessage', { message: message('hi') }],
      ['SubscribeToTask', { id: 'nope' }],
    ] as const) {
      const answer = await ask(quiet.gateway, 'quiet', method, params);
      expect(errorOf(answer)).toEqual({
        code: -32004,
        reason: 'UNSUPPORTED_OPERATION',
        own: 'STREAMING_DISABLED',
      });
      expect(answer.headers['Content-Type']).toBe('application/json');
    }
    expect(await quiet.dump('state')).toEqual([]);
    const { result } = await ask(quiet.gateway, 'quiet', 'GetExtendedAgentCard');
    expect(result.capabilities.streaming).toBe(false);
  });

  test('S12 an idle stream says every 15 s that it lives, and ends without an error when its time is over', async () => {
    const { id } = await send('asks');
    const clock = skippingClock();
    const idle = scene.instance({ clock });
    const begun = clock.now();
    const body = { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } };
    const answer = await idle.post('alice', body);
    let last = clock.now();
    const pieces: string[] = [];
    for await (const piece of answer.body as AsyncIterable<string>) {
      pieces.push(piece);
      expect(clock.now() - last).toBeLessThanOrEqual(16_000);
      last = clock.now();
    }
    expect(new Set(pieces.slice(1))).toEqual(new Set([': keep-alive\n\n']));
    expect(pieces.length).toBeGreaterThan(50);
    expect(clock.now() - begun).toBeGreaterThanOrEqual(839_000);
  });
});

describe('dropped streams (S09)', () => {
  test('S09 a dropped stream does not cancel its task, which completes', async () => {
    gate = gated();
    const dropped = await sendStream('gates');
    const [task] = await take(dropped, 2);
    await dropped.drop();
    gate.release();
    const id = task!.result.task.id;
    await expect
      .poll(async () => (await call('GetTask', { id })).result.status.state)
      .toBe('TASK_STATE_COMPLETED');
  });

  test('S09 no dropped stream keeps its place: neither one that was read, nor one that never was', async () => {
    const params = { tenant: 'asks', message: message('hi') };
    const { result } = await call('SendMessage', params, {}, 'dropper');
    const open = () => stream(scene.gateway, 'dropper', 'SubscribeToTask', { id: result.task.id });
    const readers = await Promise.all(Array.from({ length: 20 }, open));
    expect(await openPlaces('dropper')).toBe(20);
    for (const [i, reader] of readers.entries()) {
      if (i % 2 === 0) await reader.next();
      await reader.drop();
    }
    expect(await openPlaces('dropper')).toBe(0);
  });

  test('S09 a stream that is dropped while it waits for news gives its place back at the next sign of life', async () => {
    const { result } = await call('SendMessage', { tenant: 'asks', message: message('hi') }, {}, 'dropper');
    const idle = scene.instance({ clock: skippingClock() });
    const body = { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: result.task.id } };
    const answer = await idle.post('dropper', body);
    const pieces = (answer.body as AsyncIterable<string>)[Symbol.asyncIterator]();
    await pieces.next();
    const waiting = pieces.next();
    const dropping = pieces.return?.();
    expect((await waiting).value).toBe(': keep-alive\n\n');
    await dropping;
    expect(await openPlaces('dropper')).toBe(0);
  });

  test('S09 a stream that ends by itself, and one that is refused, keep no place', async () => {
    await (await sendStream('many', {}, 'dropper')).rest();
    await (await sendStream('asks', {}, 'dropper')).rest();
    expect(errorOf(await call('SubscribeToTask', { id: 'nope' }, {}, 'dropper')).code).toBe(-32001);
    const { result } = await call('SendMessage', { message: message('hi') }, {}, 'dropper');
    await call('SubscribeToTask', { id: result.task.id }, { 'last-event-id': '99.0' }, 'dropper');
    await call('SubscribeToTask', { id: result.task.id }, { 'last-event-id': '2.1' }, 'dropper');
    expect(await openPlaces('dropper')).toBe(0);
  });

  test('S09 a streaming send whose task cannot be stored keeps no place', async () => {
    const broken = scene.instance({
      store: { ...scene.rig.store, transact: () => Promise.reject(new Error('no transaction')) },
    });
    const answer = await ask(broken, 'dropper', 'SendStreamingMessage', { message: message('hi') });
    expect(errorOf(answer).code).toBe(-32603);
    expect(await openPlaces('dropper')).toBe(0);
  });

  test('S09 the function gives its place back when the connection is gone before anything was sent', async () => {
    const { result } = await call('SendMessage', { tenant: 'asks', message: message('hi') }, {}, 'dropper');
    const body = { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: result.task.id } };
    for (const reads of [0, 1]) {
      let ended = 0;
      const answer = answerOf(await scene.gateway.post('dropper', body), () => ended++);
      const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
      if (reads > 0) await reader.read();
      await reader.cancel();
      expect(ended).toBe(1);
      expect(await openPlaces('dropper')).toBe(0);
    }
  });

  test('S09 a stream whose first event cannot be made keeps no place', async () => {
    const { result } = await call('SendMessage', { tenant: 'asks', message: message('hi') }, {}, 'dropper');
    const sealed = result.task.id;
    const broken = scene.instance({
      store: {
        ...scene.rig.store,
        async getMany(wanted, options) {
          if (wanted.some(({ key }) => key.pk.startsWith(`M#${sealed}`))) throw new Error('no content');
          return scene.rig.store.getMany(wanted, options);
        },
      },
    });
    const answer = await ask(broken, 'dropper', 'SubscribeToTask', { id: sealed });
    expect(errorOf(answer).code).toBe(-32603);
    expect(await openPlaces('dropper')).toBe(0);
  });
});
