import { describe, expect, test, vi } from 'vitest';
import type { Clock } from '../../shared/runtime/ports.ts';
import { executing, message } from './rig.ts';
import { ask, asking, completed, gated, outline, provider, startScene, stream } from './scene.ts';

// Many calls each: on a machine that does other things as well they take their time.
vi.setConfig({ testTimeout: 90_000 });

const TERMINAL = /TASK_STATE_(COMPLETED|FAILED|CANCELED|REJECTED)/;

describe('many at once (R)', () => {
  test('R01 two writers of one run with a hundred updates each leave two hundred history entries, each in its order', async () => {
    const busy = provider(async ({ progress }) => {
      const write = async (who: string) => {
        for (let i = 0; i < 100; i++) await progress(`${who}${i}`);
      };
      await Promise.all([write('a'), write('b')]);
      return completed('done');
    });
    await using scene = await startScene({
      clients: ['rone'],
      adapters: { busy },
      settings: { maxTaskMessages: 500, maxHistoryMessages: 500 },
    });
    const sent = await ask(scene.gateway, 'rone', 'SendMessage', {
      tenant: 'busy',
      message: message('go'),
      configuration: { returnImmediately: true },
    });
    const { id } = sent.result.task;
    // The queue delivers twice, to two instances, and two projectors follow the stream.
    const instances = [scene.gateway, scene.instance()] as const;
    const running = Promise.all(instances.map((gateway) => gateway.execute(id)));
    let isOver = false;
    const following = (async () => {
      while (!isOver) {
        await Promise.all(instances.map((gateway) => gateway.follow(id)));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    await running;
    isOver = true;
    await following;
    const { result } = await ask(scene.gateway, 'rone', 'GetTask', { id });
    expect(result.status.state).toBe('TASK_STATE_COMPLETED');
    const said: string[] = result.history
      .slice(1)
      .map((each: { parts: { text: string }[] }) => each.parts[0]!.text);
    expect(said).toHaveLength(200);
    for (const who of ['a', 'b']) {
      expect(said.filter((text) => text.startsWith(who))).toEqual(
        Array.from({ length: 100 }, (_, i) => `${who}${i}`),
      );
    }
    expect(busy.requests).toHaveLength(1);
    const all = await stream(scene.gateway, 'rone', 'SubscribeToTask', { id }, { 'last-event-id': '1.0' });
    const ids = (await all.rest()).map((event) => event.id);
    expect(ids).toEqual([...Array.from({ length: 200 }, (_, i) => `${i + 2}.0`), '202.0', '202.1']);
  });

  test('R03 four instances with every call on any of them behave as one', async () => {
    await using scene = await startScene({
      clients: ['rthree'],
      adapters: {
        asks: asking(),
        slow: provider(async ({ progress }) => {
          await progress('one');
          return completed('x', 'y');
        }),
      },
    });
    const instances = [scene.gateway, scene.instance(), scene.instance(), scene.instance()] as const;
    await using _executor = executing(...instances);
    let turn = 0;
    const any = () => instances[turn++ % 4]!;
    const call = async (method: string, params: object) =>
      (await ask(any(), 'rthree', method, params)).result;
    const conversation = async (i: number) => {
      const contextId = `c${i}`;
      const first = (await call('SendMessage', { tenant: 'asks', message: message('q', { contextId }) }))
        .task;
      expect(first.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
      const answered = await stream(any(), 'rthree', 'SendStreamingMessage', {
        message: message('a', { taskId: first.id }),
      });
      expect(outline(await answered.rest())).toEqual([
        'task WORKING',
        'artifactUpdate',
        'statusUpdate COMPLETED',
      ]);
      const told = await stream(any(), 'rthree', 'SendStreamingMessage', {
        tenant: 'slow',
        message: message('s', { contextId }),
      });
      const [task, ...rest] = await told.rest();
      expect(outline(rest).slice(-3)).toEqual(['artifactUpdate', 'artifactUpdate', 'statusUpdate COMPLETED']);
      const again = await stream(
        any(),
        'rthree',
        'SubscribeToTask',
        { id: task!.result.task.id },
        { 'last-event-id': task!.id },
      );
      expect((await again.rest()).map((event) => event.id)).toEqual(rest.map((event) => event.id));
      const listed = await call('ListTasks', { contextId, includeArtifacts: true });
      expect(listed.totalSize).toBe(2);
      for (const each of listed.tasks) expect(await call('GetTask', { id: each.id })).toEqual(each);
    };
    await Promise.all(Array.from({ length: 8 }, (_, i) => conversation(i)));
  });

  test('R04 sixty sends at once beside idle subscribers all finish, and other calls are served meanwhile', async () => {
    await using scene = await startScene({
      clients: ['rfour'],
      adapters: { asks: asking() },
      settings: { openTasks: 1_000 },
    });
    await using _executor = executing(scene.gateway);
    const waiting = (
      await ask(scene.gateway, 'rfour', 'SendMessage', { tenant: 'asks', message: message('q') })
    ).result.task;
    const idle = await Promise.all(
      Array.from({ length: 20 }, () => stream(scene.gateway, 'rfour', 'SubscribeToTask', { id: waiting.id })),
    );
    const sends = Array.from({ length: 60 }, () =>
      ask(scene.gateway, 'rfour', 'SendMessage', {
        message: message('hi'),
        configuration: { returnImmediately: true },
      }),
    );
    const card = await ask(scene.gateway, 'rfour', 'GetExtendedAgentCard');
    expect(card.result.name).toBe('Sealpost');
    const ids = (await Promise.all(sends)).map((sent) => sent.result.task.id);
    expect(new Set(ids).size).toBe(60);
    await expect
      .poll(
        async () =>
          (await ask(scene.gateway, 'rfour', 'ListTasks', { status: 'TASK_STATE_COMPLETED', pageSize: 1 }))
            .result.totalSize,
        {
          timeout: 50_000,
          interval: 250,
        },
      )
      .toBe(60);
    for (const reader of idle) await reader.drop();
    expect((await scene.dump('registry')).filter(({ pk }) => pk.startsWith('stream#'))).toEqual([]);
  });

  test('R06 P6 abandoned tasks end by their limit, and no longer count as open', async () => {
    let ahead = 0;
    const clock: Clock = {
      now: () => Date.now() + ahead,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 50))),
    };
    await using scene = await startScene({
      clients: ['rsix'],
      adapters: { asks: asking() },
      profiles: { asks: { inputSeconds: 3_600 } },
      settings: { openTasks: 20 },
      clock,
    });
    await using _executor = executing(scene.gateway);
    const send = () => ask(scene.gateway, 'rsix', 'SendMessage', { tenant: 'asks', message: message('q') });
    const tasks: { id: string }[] = [];
    for (let i = 0; i < 20; i++) tasks.push((await send()).result.task);
    expect((await send()).status).toBe(429);
    ahead = 120_000;
    await scene.gateway.sweep();
    expect((await ask(scene.gateway, 'rsix', 'GetTask', tasks[0])).result.status.state).toBe(
      'TASK_STATE_INPUT_REQUIRED',
    );
    ahead = 3_700_000;
    await scene.gateway.sweep();
    for (const { id } of tasks) {
      const { result } = await ask(scene.gateway, 'rsix', 'GetTask', { id });
      expect(result).toMatchObject({
        status: { state: 'TASK_STATE_FAILED' },
        metadata: { reason: 'INPUT_EXPIRED' },
      });
    }
    expect((await send()).status).toBe(200);
  });
});

describe('races', () => {
  test('P5 cancel against completion: one ending stands, both answers say so, and events have no gap', async () => {
    const gates: ReturnType<typeof gated>[] = [];
    const racing = provider((request) => {
      const gate = gated();
      gates.push(gate);
      return gate.run(request);
    });
    await using scene = await startScene({ clients: ['racer'], adapters: { racing } });
    await using _executor = executing(scene.gateway, scene.instance());
    const outcomes = new Set<string>();
    for (let i = 0; i < 20; i++) {
      const sent = await ask(scene.gateway, 'racer', 'SendMessage', {
        tenant: 'racing',
        message: message('hi'),
        configuration: { returnImmediately: true },
      });
      const { id } = sent.result.task;
      await expect.poll(() => gates.length, { interval: 1 }).toBe(i + 1);
      const watching = await stream(
        scene.gateway,
        'racer',
        'SubscribeToTask',
        { id },
        { 'last-event-id': '1.0' },
      );
      // The first round leaves the run its head start, the last one the cancel; between them it may go either way.
      const states = async () => (await ask(scene.gateway, 'racer', 'GetTask', { id })).result.status.state;
      const release = async () => {
        if (i === 19) await expect.poll(states).toBe('TASK_STATE_CANCELED');
        else if (i % 2 === 1) await new Promise((resolve) => setTimeout(resolve, i));
        gates[i]!.release();
        if (i === 0) await expect.poll(states).toBe('TASK_STATE_COMPLETED');
      };
      const releasing = release();
      if (i === 0) await releasing;
      const canceled = await ask(scene.gateway, 'racer', 'CancelTask', { id });
      await releasing;
      const all = await watching.rest();
      const { result } = await ask(scene.gateway, 'racer', 'GetTask', { id });
      expect(result.status.state).toMatch(TERMINAL);
      const isCanceled = result.status.state === 'TASK_STATE_CANCELED';
      expect(isCanceled ? canceled.result?.status.state : canceled.error?.code).toBe(
        isCanceled ? 'TASK_STATE_CANCELED' : -32002,
      );
      expect(outline(all).filter((line) => TERMINAL.test(`TASK_STATE_${line.split(' ')[1]}`))).toHaveLength(
        1,
      );
      expect(all.at(-1)!.result.statusUpdate.status).toEqual(result.status);
      expect('artifacts' in result).toBe(!isCanceled);
      outcomes.add(result.status.state);
    }
    expect(outcomes).toContain('TASK_STATE_COMPLETED');
    expect(outcomes).toContain('TASK_STATE_CANCELED');
  });

  test('a follow-up against its expiry: either the task goes on, or the sender learns that it has ended', async () => {
    let ahead = 0;
    const clock: Clock = {
      now: () => Date.now() + ahead,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 20))),
    };
    await using scene = await startScene({
      clients: ['late'],
      adapters: { asks: asking() },
      profiles: { asks: { inputSeconds: 60 } },
      clock,
    });
    await using _executor = executing(scene.gateway);
    for (let i = 0; i < 6; i++) {
      const { id } = (
        await ask(scene.gateway, 'late', 'SendMessage', { tenant: 'asks', message: message('q') })
      ).result.task;
      ahead += 120_000;
      const [answer] = await Promise.all([
        ask(scene.gateway, 'late', 'SendMessage', { message: message('a', { taskId: id }) }),
        scene.gateway.sweep(),
      ]);
      const { result } = await ask(scene.gateway, 'late', 'GetTask', { id });
      if (answer.error) {
        expect(answer.error.code).toBe(-32004);
        expect(result).toMatchObject({
          status: { state: 'TASK_STATE_FAILED' },
          metadata: { reason: 'INPUT_EXPIRED' },
        });
      } else {
        expect(result.status.state).toBe('TASK_STATE_COMPLETED');
        expect(answer.result.task).toEqual(result);
      }
    }
  });
});
