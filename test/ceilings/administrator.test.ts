import { describe, expect, test, vi } from 'vitest';
import {
  applyCeiling,
  createPrivacy,
  readCeilingJob,
  runCeilingJob,
  startOfCeilingJob,
} from '../../shared/ceilings/index.ts';
import { RedactionUnavailable, type Redactor } from '../../shared/redaction/index.ts';
import { type AnswerLevel, CACHE_MS, type Tightened } from '../../shared/registry/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import { headOf } from '../../shared/tasks/formats.ts';
import { readHead } from '../../shared/tasks/read-head.ts';
import { message } from '../server/rig.ts';
import { ask, errorOf, stream } from '../server/scene.ts';
import {
  completing,
  held,
  type Keeping,
  type Levels,
  MAIL,
  MARK,
  REDACTED_MAIL,
  scripted,
  startKeeping,
  told,
} from './rig.ts';

vi.setConfig({ testTimeout: 30_000 });

const FUNCTION_LIFE_MS = 15 * 60_000;

/** What the command does: the level and the job in one transaction. */
async function tighten(keeping: Keeping, levels: Levels): Promise<void> {
  await keeping.levels(levels);
  const { global, profile, providers = {} } = levels;
  const tightened: Tightened[] = [
    ...(global ? [{ of: 'settings', level: global } as const] : []),
    ...(profile ? [{ of: 'profile', id: 'echo', level: profile } as const] : []),
    ...Object.entries(providers).flatMap(([id, level]) =>
      level ? [{ of: 'provider', id, level } as const] : [],
    ),
  ];
  for (const one of tightened)
    await keeping.store.write(await startOfCeilingJob(keeping.gateway.services, one));
}

async function runJob(keeping: Keeping) {
  return runCeilingJob(keeping.gateway.services, Number.POSITIVE_INFINITY);
}

/** Through both passes. */
async function finishJob(keeping: Keeping) {
  keeping.clock.advance(CACHE_MS + 1);
  const first = await runJob(keeping);
  keeping.clock.advance(CACHE_MS + FUNCTION_LIFE_MS);
  return { first, last: await runJob(keeping) };
}

/** A finished task whose prompt and result hold these words, told to its webhook. */
async function finishedTask(keeping: Keeping, words: string): Promise<string> {
  const id = await keeping.send(`do ${words}`, { url: keeping.webhooks.url() });
  await keeping.finish(id);
  return id;
}

describe('an administrator who lowers a level to keep nothing', () => {
  test('has it count on every read and delivery within the cache time, before any head was touched', async () => {
    const only = scripted(() => completing(MARK));
    await using keeping = await startKeeping({ adapters: { only } });
    const id = await finishedTask(keeping, MARK);
    const { result: before } = await ask(keeping.gateway, 'alice', 'GetTask', { id });
    expect(JSON.stringify(before)).toContain(MARK);
    await tighten(keeping, { providers: { only: 'none' } });
    keeping.clock.advance(CACHE_MS + 1);
    // A finished task without its content would say something wrong: to its client it is gone already.
    for (const [method, params] of [
      ['GetTask', { id }],
      ['CancelTask', { id }],
      ['SubscribeToTask', { id }],
      ['ListTaskPushNotificationConfigs', { taskId: id }],
    ] as const) {
      expect(errorOf(await ask(keeping.gateway, 'alice', method, params)).code, method).toBe(-32001);
    }
    const { result } = await ask(keeping.gateway, 'alice', 'ListTasks', { includeArtifacts: true });
    expect(result.tasks).toEqual([]);
    await keeping.outbox.drain();
    expect(keeping.webhooks.receiver.seen).toEqual([]);
  });

  test('has finished tasks purged, and unfinished ones ended FAILED with nothing readable', async () => {
    const only = scripted(({ message: { parts } }) =>
      parts[0]?.text?.startsWith('ask')
        ? { kind: 'input-required', message: [{ text: `which ${MARK}?` }] }
        : completing(MARK),
    );
    await using keeping = await startKeeping({ adapters: { only } });
    const done = await finishedTask(keeping, MARK);
    const asking = await keeping.send(`ask ${MARK}`);
    await keeping.gateway.runAll();
    const queued = await keeping.send(`later ${MARK}`);
    await tighten(keeping, { global: 'none' });
    const { first, last } = await finishJob(keeping);
    expect(first).toMatchObject({ pass: 2, total: 3, purged: 1, ended: 2 });
    expect(last).toMatchObject({ doneAt: keeping.clock.now(), purged: 1, ended: 2 });
    expect(errorOf(await ask(keeping.gateway, 'alice', 'GetTask', { id: done })).code).toBe(-32001);
    for (const id of [asking, queued]) {
      const { result } = await ask(keeping.gateway, 'alice', 'GetTask', { id });
      expect(told(result)).toEqual({ state: 'FAILED', reason: 'RESULT_NOT_RETAINED' });
    }
    expect(await keeping.readable()).toEqual([]);
    expect(await keeping.found(MARK)).toEqual([]);
    // A run that was queued finds nothing to do.
    const calls = only.requests.length;
    await keeping.gateway.runAll();
    expect(only.requests).toHaveLength(calls);
  });

  test('makes a completion in flight lose its condition, and its waiting caller sees the end', async () => {
    const only = held(completing(MARK));
    await using keeping = await startKeeping({ adapters: { only } });
    const live = await stream(keeping.gateway, 'alice', 'SendStreamingMessage', {
      message: message(`do ${MARK}`),
    });
    const id = (await live.next())!.result.task.id;
    const execution = keeping.gateway.execute(id);
    await only.begun;
    await tighten(keeping, { profile: 'metadata' });
    keeping.clock.advance(CACHE_MS + 1);
    expect(await runJob(keeping)).toMatchObject({ lowered: 1, ended: 0 });
    expect((await readHead(keeping.gateway.services, id))?.ceiling).toBe('metadata');
    only.release();
    await execution;
    const rest = await live.rest();
    expect(told(rest.at(-1)!.result.statusUpdate)).toEqual({
      state: 'FAILED',
      reason: 'RESULT_NOT_RETAINED',
    });
    expect(await keeping.found(MARK)).toEqual([]);
  });

  test('reaches tasks that were accepted by functions which still knew the older level: the second pass', async () => {
    const only = scripted(() => completing(MARK));
    await using keeping = await startKeeping({ adapters: { only } });
    await tighten(keeping, { global: 'none' });
    keeping.clock.advance(CACHE_MS + 1);
    expect(await runJob(keeping)).toMatchObject({ pass: 2, total: 0 });
    // Written by a function that lives on with what it knew.
    await keeping.levels({});
    keeping.clock.advance(CACHE_MS + 1);
    const id = await finishedTask(keeping, MARK);
    await keeping.levels({ global: 'none' });
    keeping.clock.advance(CACHE_MS + FUNCTION_LIFE_MS);
    expect(await runJob(keeping)).toMatchObject({ purged: 1, doneAt: keeping.clock.now() });
    expect(await readHead(keeping.gateway.services, id)).toBeUndefined();
  });

  test('has the job done wherever it was interrupted: page by page, each task as if it were the last', async () => {
    const only = scripted(() => completing(MARK));
    await using keeping = await startKeeping({ adapters: { only } });
    const ids: string[] = [];
    for (let i = 0; i < 12; i++) ids.push(await keeping.send(MARK));
    await keeping.gateway.runAll();
    await tighten(keeping, { global: 'none' });
    keeping.clock.advance(CACHE_MS + 1);
    let invocations = 0;
    for (let job = await readCeilingJob(keeping.gateway.services); job?.pass === 1; invocations++) {
      // Time is up after the first task of each.
      job = await runCeilingJob(oneTaskAtATime(keeping), keeping.clock.now() + 1);
    }
    expect(invocations).toBeGreaterThan(12);
    for (const id of ids) expect(await readHead(keeping.gateway.services, id)).toBeUndefined();
    expect(await readCeilingJob(keeping.gateway.services)).toMatchObject({ purged: 12, total: 12 });
  });

  test('starts anew with each tightening, and what ran before stops', async () => {
    const only = scripted(() => completing(MARK));
    await using keeping = await startKeeping({ adapters: { only } });
    await keeping.send(MARK);
    await keeping.gateway.runAll();
    await tighten(keeping, { global: 'redacted' });
    keeping.clock.advance(CACHE_MS + 1);
    const write = keeping.store.write.bind(keeping.store);
    const spy = vi.spyOn(keeping.store, 'write').mockImplementationOnce(async (action, options) => {
      // While it counted, another administrator was here.
      await write(await startOfCeilingJob(keeping.gateway.services, { of: 'settings', level: 'redacted' }));
      return write(action, options);
    });
    const job = await runJob(keeping);
    spy.mockRestore();
    expect(job).toMatchObject({ step: 0, pass: 1, looked: 0 });
  });
});

describe('an administrator who loosens a level again before the job has come to the tasks', () => {
  const places: [string, (level: AnswerLevel | undefined) => Levels][] = [
    ['the global setting', (level) => ({ global: level })],
    ['a profile', (level) => ({ profile: level })],
    ['a provider', (level) => ({ providers: { only: level } })],
  ];

  test.each(places)('makes no task whole again: %s, none and back', async (_, levelsOf) => {
    const only = scripted(() => completing(MARK));
    await using keeping = await startKeeping({ adapters: { only } });
    const id = await finishedTask(keeping, MARK);
    await tighten(keeping, levelsOf('none'));
    keeping.clock.advance(CACHE_MS + 1);
    await keeping.inForce(levelsOf(undefined));
    const get = () => ask(keeping.gateway, 'alice', 'GetTask', { id });
    expect(errorOf(await get()).code).toBe(-32001);
    const listed = await ask(keeping.gateway, 'alice', 'ListTasks', { includeArtifacts: true });
    expect(listed.text).not.toContain(id);
    // One that comes now is of the looser level.
    const later = await finishedTask(keeping, 'later');
    expect((await ask(keeping.gateway, 'alice', 'GetTask', { id: later })).text).toContain(MARK);
    const { last } = await finishJob(keeping);
    expect(last).toMatchObject({ doneAt: expect.any(Number), floors: [] });
    keeping.clock.advance(CACHE_MS + 1);
    expect(errorOf(await get()).code).toBe(-32001);
    const opened = (await keeping.readable()).filter((text) => text.includes(`do ${MARK}`));
    expect(opened).toEqual([]);
    expect((await ask(keeping.gateway, 'alice', 'GetTask', { id: later })).text).toContain(MARK);
  });

  test.each(places)('keeps redacted what was: %s, redacted and back', async (_, levelsOf) => {
    const only = scripted(() => completing(`from ${MAIL}`));
    await using keeping = await startKeeping({ adapters: { only } });
    const id = await finishedTask(keeping, MAIL);
    await tighten(keeping, levelsOf('redacted'));
    keeping.clock.advance(CACHE_MS + 1);
    await keeping.inForce(levelsOf(undefined));
    const get = async () => (await ask(keeping.gateway, 'alice', 'GetTask', { id })).text;
    expect(await get()).not.toContain(MAIL);
    expect(await get()).toContain(REDACTED_MAIL);
    await finishJob(keeping);
    keeping.clock.advance(CACHE_MS + 1);
    expect(await get()).not.toContain(MAIL);
    expect(await keeping.found(MAIL)).toEqual([]);
  });

  test('and tightens something else meanwhile: what was tightened first is not forgotten', async () => {
    const only = scripted(() => completing(MARK));
    await using keeping = await startKeeping({ adapters: { only } });
    const id = await finishedTask(keeping, MARK);
    await tighten(keeping, { profile: 'none' });
    keeping.clock.advance(CACHE_MS + 1);
    await keeping.inForce({});
    await tighten(keeping, { global: 'redacted' });
    keeping.clock.advance(CACHE_MS + 1);
    expect(errorOf(await ask(keeping.gateway, 'alice', 'GetTask', { id })).code).toBe(-32001);
    const { last } = await finishJob(keeping);
    expect(last?.doneAt).toBeDefined();
    expect(errorOf(await ask(keeping.gateway, 'alice', 'GetTask', { id })).code).toBe(-32001);
  });
});

/** A clock on which each look is a millisecond later. */
function oneTaskAtATime(keeping: Keeping): Keeping['gateway']['services'] {
  let ticks = 0;
  const base = keeping.clock.now();
  return {
    ...keeping.gateway.services,
    clock: { ...keeping.clock, now: () => base + Math.floor(ticks++ / 4) },
  };
}

describe('an administrator who lowers a level to redacted', () => {
  test('has finished tasks redacted on the way out at once, and rewritten by the job', async () => {
    const only = scripted(() => completing(`from ${MAIL}`));
    await using keeping = await startKeeping({ adapters: { only } });
    const id = await finishedTask(keeping, MAIL);
    await tighten(keeping, { global: 'redacted' });
    keeping.clock.advance(CACHE_MS + 1);
    const reads = async () => {
      const { result } = await ask(keeping.gateway, 'alice', 'GetTask', { id });
      expect(result.artifacts[0].parts[0].text).toBe(`from ${REDACTED_MAIL}`);
      expect(result.history[0].parts[0].text).toBe(`do ${REDACTED_MAIL}`);
      return result;
    };
    const onTheWayOut = await reads();
    expect((await keeping.readable()).join()).toContain(MAIL);
    await keeping.outbox.drain();
    const bodies = keeping.webhooks.receiver.seen.map(({ body }) => body).join();
    expect(bodies).toContain(REDACTED_MAIL);
    expect(bodies).not.toContain(MAIL);

    const { first, last } = await finishJob(keeping);
    expect(first).toMatchObject({ redacted: 1, pass: 2 });
    expect(last?.doneAt).toBeDefined();
    expect(await keeping.found(MAIL)).toEqual([]);
    expect(await reads()).toEqual(onTheWayOut);
    // The old items went, and nothing else came: one prompt, one result.
    const left = (await keeping.dump()).state.map(({ pk }) => pk[0]).sort();
    expect(left.filter((kind) => kind === 'M' || kind === 'A')).toEqual(['A', 'M']);
    expect((await readHead(keeping.gateway.services, id))?.spare).toEqual([]);
  });

  test('leaves an unfinished run its originals, and its client the redacted ones', async () => {
    const only = scripted(({ history, message: said }) =>
      history.length === 0
        ? { kind: 'input-required', message: [{ text: `who is ${MAIL}?` }] }
        : completing(`${history.map(({ parts }) => parts[0]?.text).join(', ')}, ${said.parts[0]?.text}`),
    );
    await using keeping = await startKeeping({ adapters: { only } });
    const id = await keeping.send(`find ${MAIL}`);
    await keeping.gateway.runAll();
    await tighten(keeping, { global: 'redacted' });
    const { first } = await finishJob(keeping);
    expect(first).toMatchObject({ redacted: 1 });
    const { result: waiting } = await ask(keeping.gateway, 'alice', 'GetTask', { id });
    expect(waiting.status.message.parts[0].text).toBe(`who is ${REDACTED_MAIL}?`);
    await ask(keeping.gateway, 'alice', 'SendMessage', {
      message: message('a friend', { taskId: id }),
      configuration: { returnImmediately: true },
    });
    await keeping.gateway.runAll();
    const { result } = await ask(keeping.gateway, 'alice', 'GetTask', { id });
    expect(result.artifacts[0].parts[0].text).toBe(
      `find ${REDACTED_MAIL}, who is ${REDACTED_MAIL}?, a friend`,
    );
    expect(only.requests.at(-1)!.history[0]!.parts[0]!.text).toBe(`find ${MAIL}`);
    expect(await keeping.found(MAIL)).toEqual([]);
  });

  test('without a redactor shows nothing unredacted: reads are answered 503, and the job comes again', async () => {
    const only = scripted(() => completing(MAIL));
    await using keeping = await startKeeping({ adapters: { only } });
    const id = await finishedTask(keeping, MAIL);
    await tighten(keeping, { global: 'redacted' });
    const redactor = brokenRedactor(keeping);
    keeping.clock.advance(CACHE_MS + 1);
    expect((await ask(keeping.gateway, 'alice', 'GetTask', { id })).status).toBe(503);
    expect((await ask(keeping.gateway, 'alice', 'ListTasks', {})).status).toBe(503);
    expect(await runJob(keeping)).toMatchObject({ pass: 2, redacted: 0 });
    keeping.clock.advance(CACHE_MS + FUNCTION_LIFE_MS);
    // Also in the second pass: so there is a third.
    expect(await runJob(keeping)).toMatchObject({ pass: 3 });
    redactor.mend();
    keeping.clock.advance(CACHE_MS + FUNCTION_LIFE_MS);
    const last = await runJob(keeping);
    expect(last).toMatchObject({ redacted: 1, doneAt: keeping.clock.now() });
    expect(await keeping.found(MAIL)).toEqual([]);
  });

  test('without a redactor a completion is tried again, and nothing original is kept when the run is given up', async () => {
    const only = scripted(() => completing(MAIL));
    await using keeping = await startKeeping({ adapters: { only }, profile: { attempts: 2 } });
    const id = await keeping.send(`for ${MAIL}`);
    await tighten(keeping, { global: 'redacted' });
    keeping.clock.advance(CACHE_MS + 1);
    brokenRedactor(keeping);
    await keeping.gateway.runAll();
    const head = await readHead(keeping.gateway.services, id);
    expect(head).toMatchObject({ state: 'TASK_STATE_FAILED', reason: 'EXECUTION_FAILED', attempts: 2 });
    expect(head?.salt).toBeUndefined();
    expect(await keeping.found(MAIL)).toEqual([]);
  });

  test('of two rewritings at once one is taken, and the other leaves nothing', async () => {
    const only = scripted(() => completing(`a ${MAIL}`));
    await using keeping = await startKeeping({ adapters: { only } });
    const id = await keeping.send(`q ${MAIL}`);
    await keeping.gateway.runAll();
    await keeping.inForce({ global: 'redacted' });
    const { services } = keeping.gateway;
    const head = await readHead(services, id);
    await Promise.all([1, 2, 3].map(() => applyCeiling(services, head!)));
    const { result } = await ask(keeping.gateway, 'alice', 'GetTask', { id });
    expect(result.artifacts[0].parts[0].text).toBe(`a ${REDACTED_MAIL}`);
    await applyCeiling(services, (await readHead(services, id))!);
    const copies = (await keeping.dump()).state.filter(({ pk }) => /^[MA]#/.test(pk));
    expect(copies).toHaveLength(2);
  });
});

/** Puts a redactor in the gateway's place that is not there until it is mended. */
function brokenRedactor(keeping: Keeping): { mend(): void } {
  const { services } = keeping.gateway;
  const { privacy } = services;
  const broken: Redactor = {
    redactTexts: async () => {
      throw new RedactionUnavailable('unavailable');
    },
  };
  const changed = services as { privacy: typeof privacy };
  changed.privacy = createPrivacy(services.registry, broken);
  return {
    mend: () => {
      changed.privacy = privacy;
    },
  };
}

test('a head says of a rewriting what a purge needs to know', async () => {
  const only = scripted(() => completing(MAIL));
  await using keeping = await startKeeping({ adapters: { only } });
  const id = await keeping.send(MAIL);
  await keeping.inForce({ global: 'redacted' });
  const { services } = keeping.gateway;
  const transact = keeping.store.transact.bind(keeping.store);
  // It dies before the switch.
  const spy = vi.spyOn(keeping.store, 'transact').mockImplementation(async (actions, token) => {
    if (actions[0]?.kind === 'update') throw new Error('died');
    return transact(actions, token);
  });
  await expect(applyCeiling(services, (await readHead(services, id))!)).rejects.toThrow('died');
  spy.mockRestore();
  const head = headOf((await keeping.store.get('state', keys.head(id)))!);
  expect(head.spare).toHaveLength(1);
  expect(head.working?.id).toBe(head.workingId);
  await applyCeiling(services, head);
  expect((await readHead(services, id))?.spare).toEqual([]);
});
