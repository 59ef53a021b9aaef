import { describe, expect, test, vi } from 'vitest';
import { project } from '../../shared/journal/project.ts';
import { deliver } from '../../shared/push/deliver.ts';
import { purgeSelected, purgeTask, removeRemains } from '../../shared/retention/index.ts';
import { rebuildTask, repairAll } from '../../shared/runs/operate.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { StoredItem } from '../../shared/storage/port.ts';
import { readHead } from '../../shared/tasks/read-head.ts';
import { completing, held, type Keeping, MARK, scripted, startKeeping, told } from '../ceilings/rig.ts';
import { executing, message } from '../server/rig.ts';
import { ask, errorOf, stream } from '../server/scene.ts';

vi.setConfig({ testTimeout: 30_000 });

const DAY = 86_400_000;

/** Asks once if told to, says something on its way, completes with the mark. */
const marking = () =>
  scripted(async ({ progress, message: { parts }, history }) => {
    await progress(`working on ${MARK}`);
    return parts[0]?.text?.startsWith('ask') && history.length === 0
      ? { kind: 'input-required', message: [{ text: `which ${MARK}?` }] }
      : completing(MARK);
  });

async function startMarked(profile = {}) {
  const only = marking();
  const keeping = await startKeeping({ adapters: { only }, profile });
  return { only, keeping };
}

/** A task with everything a task can have: history, result, a webhook with jobs. */
async function fullTask(keeping: Keeping, text = `please ${MARK}`) {
  const sent = message(text);
  const config = {
    url: keeping.webhooks.url(`/${MARK}`),
    token: MARK,
    authentication: { scheme: 'Bearer', credentials: MARK },
  };
  const params = {
    message: sent,
    configuration: { returnImmediately: true, taskPushNotificationConfig: config },
  };
  const { result } = await ask(keeping.gateway, 'alice', 'SendMessage', params);
  const { id } = result.task;
  await keeping.finish(id);
  return { id, params };
}

/** What is left of tasks: everything but the registry. */
async function left(keeping: Keeping): Promise<StoredItem[]> {
  const { state, view, outbox, delegation } = await keeping.dump();
  return [...state, ...view, ...outbox, ...delegation];
}

/** The two tombstones of a purged task, with nothing in them. */
async function expectOnlyTombstones(keeping: Keeping, id: string): Promise<void> {
  const items = await left(keeping);
  const ttl = Math.ceil((keeping.clock.now() + DAY) / 1000);
  expect(items).toEqual([
    { ...keys.head(id), v: 1, gone: true, ttl },
    { ...keys.view(id), v: 1, gone: true, ttl },
  ]);
}

describe('after a purge', () => {
  test('every method answers as if the task never was', async () => {
    const { keeping } = await startMarked();
    await using _keeping = keeping;
    const { id, params } = await fullTask(keeping);
    const config = (await ask(keeping.gateway, 'alice', 'ListTaskPushNotificationConfigs', { taskId: id }))
      .result.configs[0];
    expect(await purgeTask(keeping.gateway.services, id)).toBe('purged');
    const push = { taskId: id, id: config.id };
    for (const [method, wanted] of [
      ['GetTask', { id }],
      ['CancelTask', { id }],
      ['SubscribeToTask', { id }],
      ['ListTaskPushNotificationConfigs', { taskId: id }],
      ['GetTaskPushNotificationConfig', push],
      ['DeleteTaskPushNotificationConfig', push],
      ['CreateTaskPushNotificationConfig', { taskId: id, url: keeping.webhooks.url() }],
      ['SendMessage', { message: message('more', { taskId: id }) }],
      ['SendMessage', { message: message('like that', { referenceTaskIds: [id] }) }],
    ] as const) {
      const asked = await ask(keeping.gateway, 'alice', method, wanted);
      const unknown = await ask(
        keeping.gateway,
        'alice',
        method,
        JSON.parse(JSON.stringify(wanted).replaceAll(id, 'never-was')),
      );
      expect(errorOf(asked).code, method).toBe(-32001);
      expect(asked.error, method).toEqual(unknown.error);
    }
    const continued = await ask(
      keeping.gateway,
      'alice',
      'SubscribeToTask',
      { id },
      { 'last-event-id': '1.0' },
    );
    expect(errorOf(continued).code).toBe(-32001);
    expect((await ask(keeping.gateway, 'alice', 'ListTasks', {})).result).toMatchObject({
      tasks: [],
      totalSize: 0,
    });
    // The same message again is a new task, with a run of its own.
    const again = await ask(keeping.gateway, 'alice', 'SendMessage', params);
    expect(again.result.task.id).not.toBe(id);
    await keeping.gateway.runAll();
    expect(
      told((await ask(keeping.gateway, 'alice', 'GetTask', { id: again.result.task.id })).result).state,
    ).toBe('COMPLETED');
    expect(await readHead(keeping.gateway.services, id)).toBeUndefined();
  });

  test('nothing of it stands in any table, queue or log but its two tombstones, which expire', async () => {
    const { keeping } = await startMarked();
    await using _keeping = keeping;
    const { id } = await fullTask(keeping);
    expect((await keeping.readable()).join()).toContain(MARK);
    await purgeTask(keeping.gateway.services, id);
    await expectOnlyTombstones(keeping, id);
    expect(await keeping.found(MARK)).toEqual([]);
    // Nothing is due any more.
    expect(await keeping.gateway.sweep()).toMatchObject({ looked: 0 });
  });

  test('an unfinished task is gone with it: one that asks, one that waits for approval, one that runs', async () => {
    const running = held(completing(MARK));
    const only = scripted((request) => {
      const text = request.message.parts[0]?.text ?? '';
      if (text.startsWith('ask')) return { kind: 'input-required', message: [{ text: MARK }] };
      return text.startsWith('run') ? running.run(request) : completing(MARK);
    });
    await using keeping = await startKeeping({ adapters: { only }, profile: { approval: 'result' } });
    const ids = [
      (await fullTask(keeping, `ask ${MARK}`)).id,
      (await fullTask(keeping, `approve ${MARK}`)).id,
    ];
    const { result } = await ask(keeping.gateway, 'alice', 'SendMessage', {
      message: message(`run ${MARK}`),
      configuration: { returnImmediately: true },
    });
    const execution = keeping.gateway.execute(result.task.id);
    await running.begun;
    for (const id of [...ids, result.task.id]) await purgeTask(keeping.gateway.services, id);
    running.release();
    await execution;
    expect(await keeping.found(MARK)).toEqual([]);
    const items = await left(keeping);
    expect(items.map(({ gone }) => gone)).toEqual(Array.from({ length: 6 }, () => true));
  });

  test('who waits for it is told that there is no such task, and a stream ends', async () => {
    const running = held(completing(MARK));
    await using keeping = await startKeeping({ adapters: { only: running } });
    await using _executor = executing(keeping.gateway);
    const live = await stream(keeping.gateway, 'alice', 'SendStreamingMessage', { message: message('go') });
    const { id } = (await live.next())!.result.task;
    const blocking = ask(keeping.gateway, 'alice', 'SendMessage', { message: message('go too') });
    await running.begun;
    await vi.waitFor(() => expect(running.requests).toHaveLength(2));
    const { result } = await ask(keeping.gateway, 'alice', 'ListTasks', {});
    for (const task of result.tasks) await purgeTask(keeping.gateway.services, task.id);
    expect(errorOf(await blocking).code).toBe(-32001);
    expect(JSON.stringify(await live.rest())).not.toContain('COMPLETED');
    running.release();
    expect(id).toBeDefined();
  });
});

describe('nothing late brings a task back', () => {
  /** Everything that works on a task, whenever it comes. */
  const latecomers = (keeping: Keeping, id: string, config: string): [string, () => Promise<unknown>][] => [
    ['a projector', () => project(keeping.gateway.services, id)],
    ['the stream', () => keeping.gateway.follow(id)],
    ['an executor', () => keeping.gateway.execute(id)],
    ['a dead letter', () => keeping.gateway.deadLetter(id)],
    ['a delivery', () => deliver(keeping.services, { task: id, config }, keeping.clock.now() + 600_000)],
    ['a rebuild', () => rebuildTask(keeping.gateway.services, id)],
    [
      'a repair',
      () =>
        repairAll({
          ...keeping.gateway.services,
          outboxQueue: keeping.gateway.outboxQueue,
          inboxQueue: keeping.gateway.inboxQueue,
        }),
    ],
    ['a sweep', () => keeping.gateway.sweep()],
    ['a sweep of the outbox', () => keeping.sweep()],
    ['a second purge', () => purgeTask(keeping.gateway.services, id)],
    ['removal of remains', () => removeRemains(keeping.gateway.services, id)],
  ];

  test('after it: each finds nothing to do', async () => {
    const { keeping } = await startMarked();
    await using _keeping = keeping;
    const { id } = await fullTask(keeping);
    const [config] = await keeping.configs(id);
    await purgeTask(keeping.gateway.services, id);
    for (const [, late] of latecomers(keeping, id, config!)) await late();
    await expectOnlyTombstones(keeping, id);
    expect(keeping.webhooks.receiver.seen).toEqual([]);
  });

  test('that had read it before: what it writes then is refused', async () => {
    const { keeping } = await startMarked();
    await using _keeping = keeping;
    for (let which = 0; which < 8; which++) {
      const { id } = await fullTask(keeping, `ask ${MARK}`);
      const [config] = await keeping.configs(id);
      // A follow-up, so that there is something to project, execute and deliver.
      await ask(keeping.gateway, 'alice', 'SendMessage', {
        message: message('this', { taskId: id }),
        configuration: { returnImmediately: true },
      });
      const [name, late] = latecomers(keeping, id, config!)[which]!;
      const { store } = keeping;
      let writes = 0;
      const spies = (['transact', 'write'] as const).map((method) => {
        const real = store[method].bind(store) as (...input: unknown[]) => Promise<unknown>;
        return vi.spyOn(store, method).mockImplementation((async (...input: unknown[]) => {
          // Its first write comes when the task is gone.
          if (writes++ === 0) {
            for (const spy of spies) spy.mockRestore();
            await purgeTask(keeping.gateway.services, id);
          }
          return real(...input);
        }) as never);
      });
      await late().catch(() => {});
      for (const spy of spies) spy.mockRestore();
      await purgeTask(keeping.gateway.services, id);
      keeping.gateway.runQueue.messages.splice(0);
      const items = (await left(keeping)).filter(({ pk }) => pk.includes(id));
      // Its two tombstones, which keep out who comes later still.
      expect(
        items.map(({ pk, sk, gone }) => [pk, sk, gone]),
        name,
      ).toEqual([
        [`T#${id}`, 'H', true],
        [`T#${id}`, 'V', true],
      ]);
    }
    expect(await keeping.found(MARK)).toEqual([]);
  });
});

describe('a purge that is interrupted', () => {
  test('anywhere after its first write has taken all content with it, and the sweeper removes the rest', async () => {
    const { keeping } = await startMarked();
    await using _keeping = keeping;
    for (let dies = 1; ; dies++) {
      const { id } = await fullTask(keeping);
      const { store } = keeping;
      let writes = 0;
      const write = store.write.bind(store);
      const spy = vi.spyOn(store, 'write').mockImplementation(async (action, options) => {
        if (++writes >= dies) throw new Error('died');
        return write(action, options);
      });
      // The purge is acknowledged all the same.
      expect(await purgeTask(keeping.gateway.services, id)).toBe('purged');
      spy.mockRestore();
      expect(errorOf(await ask(keeping.gateway, 'alice', 'GetTask', { id })).code).toBe(-32001);
      expect(await keeping.readable()).toEqual([]);
      keeping.clock.advance(1_000);
      await keeping.gateway.sweep();
      const items = (await left(keeping)).filter(({ pk }) => pk.includes(id));
      expect(items.map(({ gone, da }) => [gone, da])).toEqual([
        [true, undefined],
        [true, undefined],
      ]);
      expect((await left(keeping)).every(({ gone }) => gone === true)).toBe(true);
      if (writes < dies) {
        expect(dies).toBeGreaterThan(15);
        return;
      }
    }
  }, 60_000);
});

describe('a purge on demand', () => {
  test('takes what was selected and nothing else, part by part, counted first', async () => {
    const { keeping } = await startMarked();
    await using _keeping = keeping;
    const { services } = keeping.gateway;
    const old: string[] = [];
    for (let i = 0; i < 3; i++) old.push((await fullTask(keeping)).id);
    keeping.clock.advance(8 * DAY);
    const { id: young } = await fullTask(keeping);
    const selection = { client: 'alice', before: keeping.clock.now() - 7 * DAY };
    const parts = async (dryRun: boolean) => {
      const sum = { looked: 0, purged: 0, parts: 0 };
      let next: Parameters<typeof purgeSelected>[2];
      do {
        // No time at all: one task each.
        const part = await purgeSelected(services, selection, next, 0, dryRun);
        sum.looked += part.looked;
        sum.purged += part.purged;
        sum.parts++;
        next = part.next;
      } while (next);
      return sum;
    };
    expect(await parts(true)).toMatchObject({ looked: 4, purged: 3 });
    for (const id of old) expect(await readHead(services, id)).toBeDefined();
    expect((await parts(false)).purged).toBe(3);
    for (const id of old) expect(await readHead(services, id)).toBeUndefined();
    expect(await readHead(services, young)).toBeDefined();
    expect(
      await purgeSelected(services, { client: 'mallory' }, undefined, Number.POSITIVE_INFINITY, false),
    ).toEqual({
      looked: 1,
      purged: 0,
    });
    expect(await purgeSelected(services, { task: young }, undefined, 0, false)).toEqual({
      looked: 1,
      purged: 1,
    });
    expect(await purgeSelected(services, { task: young }, undefined, 0, false)).toEqual({
      looked: 0,
      purged: 0,
    });
  });

  test('for its age spares a task that changed since it was found', async () => {
    const { keeping } = await startMarked();
    await using _keeping = keeping;
    const { services } = keeping.gateway;
    const { id } = await fullTask(keeping, `ask ${MARK}`);
    keeping.clock.advance(8 * DAY);
    const selection = { before: keeping.clock.now() - 7 * DAY };
    const found = (await readHead(services, id))!;
    const transact = keeping.store.transact.bind(keeping.store);
    const spy = vi.spyOn(keeping.store, 'transact').mockImplementationOnce(async (actions, token) => {
      spy.mockRestore();
      await ask(keeping.gateway, 'alice', 'SendMessage', {
        message: message('at last', { taskId: id }),
        configuration: { returnImmediately: true },
      });
      return transact(actions, token);
    });
    const { purged } = await purgeSelected(services, selection, undefined, Number.POSITIVE_INFINITY, false);
    expect(purged).toBe(0);
    expect((await readHead(services, id))?.revision).toBe(found.revision + 1);
  });
});
