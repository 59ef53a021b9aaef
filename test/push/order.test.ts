import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Guard, Outcome } from '../../shared/guard/index.ts';
import { deliver } from '../../shared/push/deliver.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Store } from '../../shared/storage/port.ts';
import { outline, type Push, startPush } from './rig.ts';

const answered = (status: number, headers: Record<string, string> = {}): Outcome => ({
  kind: 'response',
  status,
  headers,
});
const PATIENT = answered(503, { 'retry-after': '600' });

describe('a slow webhook', () => {
  test('that hangs 15 s takes nothing from one that answers at once (D10)', { timeout: 60_000 }, async () => {
    const arrivals: { readonly path: string; readonly at: number }[] = [];
    const push = await startPush({
      answer: (response, { path }) => {
        arrivals.push({ path, at: performance.now() });
        if (path !== '/hangs') response.end();
      },
    });
    const task = await push.send('both', { url: push.webhooks.url('/hangs') });
    push.clock.advance(1);
    await push.create(task, { url: push.webhooks.url('/answers') });
    await push.finish(task);
    const [hanging, answering] = await push.configs(task);
    const started = performance.now();
    // As the platform does: a message an invocation, several at once. The one that hangs is received first.
    const hangs = deliver(push.services, { task, config: hanging! }, push.clock.now() + 60_000);
    await expect.poll(() => arrivals.length).toBe(1);
    await deliver(push.services, { task, config: answering! }, push.clock.now() + 60_000);
    const took = performance.now() - started;
    expect(arrivals.map(({ path }) => path)).toEqual(['/hangs', '/answers', '/answers']);
    expect(took).toBeLessThan(8_000);
    await hangs;
    const hung = performance.now() - started;
    expect(hung).toBeGreaterThan(14_900);
    console.log(
      `15 s beside it: ${(took / 1000).toFixed(1)} s; the one that hangs: ${(hung / 1000).toFixed(1)} s`,
    );
    expect((await push.show(task, hanging)).attempts).toMatchObject([{ event: '1.0', class: 'timeout' }]);
    expect((await push.show(task, answering)).jobs).toMatchObject([{ revision: 2, state: 'delivered' }]);
    await push[Symbol.asyncDispose]();
  });
});

describe('the events of one config', () => {
  let push: Push;
  /** What the receiver does with the next requests; then 200. */
  let script: (Outcome | (() => Promise<Outcome>))[] = [];
  let sent: string[] = [];
  let inFlight = 0;
  let most = 0;
  let until = 600_000;
  const request: Guard['request'] = async ({ body }) => {
    inFlight++;
    most = Math.max(most, inFlight);
    sent.push(String(body));
    const next = script.shift() ?? answered(200);
    const outcome = typeof next === 'function' ? await next() : next;
    inFlight--;
    return outcome;
  };
  beforeAll(async () => {
    push = await startPush({ request });
  });
  beforeEach(() => {
    script = [];
    sent = [];
    most = 0;
    until = 600_000;
    push.outbox.waiting.splice(0);
    push.gateway.outboxQueue.messages.splice(0);
  });
  afterAll(() => push[Symbol.asyncDispose]());

  /** A finished task of three events, none of which was sent. */
  async function finished() {
    const task = await push.send('x', { url: push.webhooks.url() });
    await push.finish(task);
    push.gateway.outboxQueue.messages.splice(0);
    const [config] = await push.configs(task);
    return { task, config: config! };
  }
  const work = (message: { task: string; config: string }, changed: Partial<Push['services']> = {}) =>
    deliver({ ...push.services, ...changed }, message, push.clock.now() + until);
  const ALL = ['SUBMITTED', 'artifact x', 'COMPLETED'];

  test('come once and in order, however many messages wake their workers', async () => {
    const message = await finished();
    for (let i = 0; i < 5; i++) await push.outbox.send(message);
    await push.outbox.drain();
    expect(outline(sent)).toEqual(ALL);
    expect(push.outbox.waiting).toEqual([]);
  });

  test('come one at a time, in order, with eight workers at once', async () => {
    for (let round = 0; round < 5; round++) {
      sent = [];
      const message = await finished();
      script = Array.from({ length: 3 }, () => async () => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        return answered(200);
      });
      await Promise.all(Array.from({ length: 8 }, () => work(message)));
      await push.outbox.pass(120_000);
      expect(outline(sent)).toEqual(ALL);
      expect(most).toBe(1);
    }
  });

  test('wait for the one before them, whatever its waits', async () => {
    const message = await finished();
    script = [
      answered(503),
      answered(429),
      { kind: 'timeout', phase: 'answer' },
      answered(200),
      answered(502),
    ];
    await push.outbox.send(message);
    await push.outbox.pass(3_600_000);
    expect(outline(sent)).toEqual([...Array(4).fill('SUBMITTED'), 'artifact x', 'artifact x', 'COMPLETED']);
  });

  test('are handed over by a worker that has too little time for another exchange', async () => {
    const message = await finished();
    until = 19_999;
    await work(message);
    expect(sent).toEqual([]);
    expect(push.outbox.waiting).toEqual([{ message, at: push.clock.now() }]);
    await push.outbox.drain();
    expect(outline(sent)).toEqual(ALL);
  });

  test('are attempted eight times, then given up, and each behind has one until one succeeds', async () => {
    const message = await finished();
    script = Array.from({ length: 10 }, () => answered(503));
    await push.outbox.send(message);
    await push.outbox.pass(4 * 3_600_000);
    // Eight of the first, one of the second, which failed too; the third is the next, and has one.
    expect(outline(sent)).toEqual([...Array(8).fill('SUBMITTED'), 'artifact x', 'COMPLETED']);
    const shown = await push.show(message.task);
    expect(shown.jobs.map(({ state }) => state)).toEqual(['exhausted', 'exhausted']);
    expect(shown.attempts.map(({ event, number }) => `${event}#${number}`)).toEqual([
      ...[1, 2, 3, 4, 5, 6, 7, 8].map((number) => `1.0#${number}`),
      ...['2.0#1', '2.1#1'],
    ]);
  });

  test('have all their attempts again once one succeeded behind an exhausted one', async () => {
    const message = await finished();
    script = [...Array(8).fill(answered(503)), answered(200), answered(503), answered(503), answered(200)];
    await push.outbox.send(message);
    await push.outbox.pass(6 * 3_600_000);
    expect(outline(sent)).toEqual([
      ...Array(8).fill('SUBMITTED'),
      'artifact x',
      ...Array(3).fill('COMPLETED'),
    ]);
    expect((await push.show(message.task)).jobs.map(({ state }) => state)).toEqual([
      'exhausted',
      'delivered',
    ]);
  });

  test('are each tried before their deadline, behind one that fails at every turn', async () => {
    const message = await finished();
    // As if the first one's waits had lasted until half an hour before its deadline.
    push.clock.advance(23 * 3_600_000 + 29 * 60_000);
    script = Array.from({ length: 20 }, () => PATIENT);
    await push.outbox.send(message);
    await push.outbox.pass(3_600_000);
    expect(outline(sent)).toEqual(ALL);
    expect((await push.show(message.task)).jobs.map(({ state }) => state)).toEqual(['expired', 'exhausted']);
  });

  test('are not attempted after their deadline, and those of a later revision still are', async () => {
    const message = await finished();
    const job = keys.pushJob(message.task, message.config, 1);
    await push.store.write({
      ...{ kind: 'update', table: 'outbox', key: job, when: [{ attribute: 'pk', is: 'present' }] },
      changes: { set: { deadline: push.clock.now() } },
    });
    await push.outbox.send(message);
    await push.outbox.drain();
    expect(outline(sent)).toEqual(['artifact x', 'COMPLETED']);
    expect((await push.show(message.task)).jobs.map(({ state }) => state)).toEqual(['expired', 'delivered']);
  });

  test('do not begin an attempt when their deadline passes while they are read', async () => {
    const message = await finished();
    const policyOf: typeof push.services.policyOf = async (client) => {
      push.clock.advance(24 * 3_600_000);
      return push.services.policyOf(client);
    };
    await work(message, { policyOf });
    expect(sent).toEqual([]);
  });

  test('whose worker died after it began have that attempt counted, and are attempted again', async () => {
    const message = await finished();
    const dying = () => {
      // Nothing of this worker happens any more.
      void work(message, { guard: { ...push.services.guard, request: () => new Promise(() => {}) } });
    };
    for (let deaths = 1; deaths <= 8; deaths++) {
      dying();
      await expect.poll(async () => (await item(message))?.['attempts']).toBe(deaths);
      // While its lease holds, nobody else begins, and who comes looks again when it is over.
      await work(message);
      expect(sent).toEqual([]);
      expect(push.outbox.waiting.splice(0)).toEqual([{ message, at: push.clock.now() + 30_000 }]);
      push.clock.advance(30_000);
    }
    // Eight times begun: not once more. Those behind have their single attempt.
    await work(message);
    expect(outline(sent)).toEqual(['artifact x', 'COMPLETED']);
    expect((await push.show(message.task)).jobs.map(({ state }) => state)).toEqual([
      'exhausted',
      'delivered',
    ]);
  });

  test('that were to have a single attempt have another when its worker died: it may never have been sent', async () => {
    const message = await finished();
    script = Array.from({ length: 8 }, () => answered(503));
    await push.outbox.send(message);
    const { consume } = push.outbox;
    // The ninth would be the single attempt of the next event; its worker dies instead.
    let nth = 0;
    let die = () => {};
    const dead = new Promise<void>((resolve) => {
      die = resolve;
    });
    const dying: Guard['request'] = (call) => {
      if (++nth !== 9) return request(call);
      die();
      return new Promise(() => {});
    };
    push.outbox.consume = (one) =>
      Promise.race([work(one, { guard: { ...push.services.guard, request: dying } }), dead]);
    await push.outbox.pass(4 * 3_600_000);
    push.outbox.consume = consume;
    expect(outline(sent)).toEqual(Array(8).fill('SUBMITTED'));
    await work(message);
    expect(outline(sent).slice(8)).toEqual(['artifact x', 'COMPLETED']);
    expect((await push.show(message.task)).jobs.map(({ state }) => state)).toEqual([
      'exhausted',
      'delivered',
    ]);
  });

  test('are not sent by a worker that was frozen since it began', async () => {
    const message = await finished();
    const store: Store = {
      ...push.store,
      async write(action, options) {
        const outcome = await push.store.write(action, options);
        if (action.kind === 'update' && action.changes.set?.['lease']) push.clock.advance(15_001);
        return outcome;
      },
    };
    await work(message, { store });
    expect(sent).toEqual([]);
    // What is left of its lease is waited for; the attempt counts.
    expect(push.outbox.waiting).toEqual([{ message, at: push.clock.now() + 15_000 }]);
    await push.outbox.pass(15_000);
    expect(outline(sent)).toEqual(ALL);
  });

  test('are not spoilt by a worker that was frozen while it sent: whoever has the lease decides', async () => {
    const message = await finished();
    const [first, second] = [Promise.withResolvers<Outcome>(), Promise.withResolvers<Outcome>()];
    script = [answered(200), answered(200), () => first.promise, () => second.promise];
    const frozen = work(message);
    await expect.poll(() => sent.length).toBe(3);
    push.clock.advance(30_000);
    const other = work(message);
    await expect.poll(() => sent.length).toBe(4);
    expect(outline(sent)).toEqual([...ALL, 'COMPLETED']);
    // Thawed while the other is under way: what it learned would fail the job.
    first.resolve(answered(500));
    await frozen;
    second.resolve(answered(200));
    await other;
    expect((await push.show(message.task)).jobs.map(({ state }) => state)).toEqual([
      'delivered',
      'delivered',
    ]);
    expect(await item(message)).toMatchObject({ rev: 3, attempts: 0 });
  });

  test('are sent once though the answer to the write that began them was lost', async () => {
    const message = await finished();
    const { store, faults } = push.rig.another();
    faults.next.push(...Array(6).fill(undefined));
    const lost = Object.assign(new Error('socket hang up'), { name: 'TimeoutError' });
    const spied: Store = {
      ...store,
      write(action, options) {
        faults.next.splice(0);
        if (action.kind === 'update') faults.next.push({ when: 'after', error: lost });
        return store.write(action, options);
      },
    };
    await work(message, { store: spied });
    expect(outline(sent)).toEqual(ALL);
    expect((await push.show(message.task)).attempts.map(({ number }) => number)).toEqual([1, 1]);
    expect((await push.show(message.task)).jobs.map(({ state }) => state)).toEqual([
      'delivered',
      'delivered',
    ]);
  });

  test('use no attempt when something of ours fails before one begins', async () => {
    const message = await finished();
    const policyOf = async () => {
      throw new Error('the registry does not answer');
    };
    await expect(work(message, { policyOf })).rejects.toThrow();
    expect(await item(message)).toMatchObject({ attempts: 0 });
    expect(await item(message)).not.toHaveProperty('lease');
  });

  test('that cannot be read hold up those behind until half an hour before their deadline, and no longer', async () => {
    const message = await finished();
    const unreadable = {
      ...push.services.sealer,
      forTask: (owner: Parameters<typeof push.services.sealer.forTask>[0]) => {
        const own = push.services.sealer.forTask(owner);
        if (owner.purpose === 'push') return own;
        return { ...own, open: () => Promise.reject(new Error('broken')) };
      },
    };
    const changed = { sealer: unreadable };
    await work(message, changed).catch(() => {});
    expect(outline(sent)).toEqual(['SUBMITTED']);
    await expect(work(message, changed)).rejects.toThrow();
    push.clock.advance(23 * 3_600_000 + 31 * 60_000);
    await work(message, changed);
    expect((await push.show(message.task)).jobs.map(({ state }) => state)).toEqual(['delivered', 'failed']);
  });

  const item = ({ task, config }: { task: string; config: string }) =>
    push.store.get('outbox', keys.pushConfig(task, config), { consistent: true });
});

describe('waiting', () => {
  let push: Push;
  let outcome: Outcome = answered(503);
  let about = '';
  let sent = 0;
  beforeAll(async () => {
    push = await startPush({
      request: async ({ body }) => {
        // The sweeps wake the tasks of other tests too.
        if (String(body).includes(about)) sent++;
        return outcome;
      },
    });
  });
  beforeEach(() => {
    sent = 0;
    outcome = answered(503);
    push.outbox.waiting.splice(0);
  });
  afterAll(() => push[Symbol.asyncDispose]());

  const waiting = async () => {
    const task = await push.send('w', { url: push.webhooks.url() });
    await push.gateway.follow(task);
    push.gateway.outboxQueue.messages.splice(1);
    about = task;
    return task;
  };
  /** Times of the wake-ups from now on, in seconds. */
  async function wakeUps(ms: number): Promise<number[]> {
    const started = push.clock.now();
    const times: number[] = [];
    const { consume } = push.outbox;
    push.outbox.consume = async (message) => {
      times.push((push.clock.now() - started) / 1000);
      await consume(message);
    };
    await push.outbox.pass(ms);
    push.outbox.consume = consume;
    return times;
  }

  test('longer than a queue can goes by wake-ups of 15 minutes at most, and attempts nothing in between', async () => {
    const task = await waiting();
    await push.store.write({
      kind: 'update',
      table: 'outbox',
      key: keys.pushConfig(task, (await push.configs(task))[0]!),
      changes: { set: { attempts: 6 } },
      when: [{ attribute: 'pk', is: 'present' }],
    });
    const random = { ...push.services.random, fraction: () => 0.999 };
    push.outbox.consume = (one) => deliver({ ...push.services, random }, one, push.clock.now() + 600_000);
    const times = await wakeUps(2 * 3_600_000 - 60_000);
    expect(times).toEqual([0, 900, 1_800, 2_700, 3_600, 4_500, 5_400, 6_300]);
    expect(sent).toBe(1);
    await push.outbox.pass(60_000);
    expect(sent).toBe(2);
  });

  test('is done by one message, however many find their config waiting', async () => {
    const task = await waiting();
    await push.outbox.drain();
    expect(push.outbox.waiting).toHaveLength(1);
    const [config] = await push.configs(task);
    for (let i = 0; i < 5; i++) await push.outbox.send({ task, config: config! });
    outcome = PATIENT;
    await push.outbox.pass(10_000);
    expect(push.outbox.waiting).toHaveLength(1);
    expect(sent).toBe(2);
  });

  test('ends by the due index when its message is lost', async () => {
    const task = await waiting();
    await push.outbox.drain();
    const others = push.outbox.waiting.splice(0);
    expect(others).toHaveLength(1);
    outcome = answered(200);
    for (let minutes = 0; minutes < 3 && sent < 2; minutes++) {
      push.clock.advance(60_000);
      await push.sweep();
      await push.outbox.drain();
    }
    expect(sent).toBe(2);
    expect((await push.show(task)).jobs).toMatchObject([{ state: 'delivered' }]);
    expect(push.outbox.waiting).toEqual([]);
  });

  test('is not cut short by the due index', async () => {
    outcome = PATIENT;
    await waiting();
    await push.outbox.drain();
    push.outbox.waiting.splice(0);
    for (let minutes = 1; minutes < 10; minutes++) {
      push.clock.advance(60_000);
      await push.sweep();
      await push.outbox.drain();
      expect(sent).toBe(1);
    }
    push.clock.advance(61_000);
    await push.sweep();
    await push.outbox.drain();
    expect(sent).toBe(2);
  });
});
