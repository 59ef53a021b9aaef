import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../shared/guard/index.ts';
import { deliver } from '../../shared/push/deliver.ts';
import { jobOf } from '../../shared/push/formats.ts';
import type { StoredItem } from '../../shared/storage/port.ts';
import { earliestDue, type Push, startPush } from './rig.ts';
import { seeded } from './seeded.ts';

const HOUR = 3_600_000;
const WORKERS = 8;
const ENDS = {
  canceled: ['TASK_STATE_CANCELED'],
  completed: [expect.stringContaining('artifact'), 'TASK_STATE_COMPLETED'],
};

/** One request as a receiver took it. */
interface Taken {
  readonly config: string;
  readonly id: string;
  readonly event: string;
  readonly accepted: boolean;
}

function eventOf(body: string): string {
  const { statusUpdate, artifactUpdate } = JSON.parse(body);
  return statusUpdate ? statusUpdate.status.state : `artifact ${artifactUpdate.artifact.artifactId}`;
}

async function everything(push: Push): Promise<StoredItem[]> {
  const items: StoredItem[] = [];
  let after: Readonly<Record<string, string>> | undefined;
  do {
    const page = await push.store.scan('outbox', after);
    items.push(...page.items);
    after = page.next;
  } while (after);
  return items;
}

/** Handles what waits, several at once as the platform does, until nothing waits any more. */
async function settle(push: Push, services: Push['services']): Promise<void> {
  const { outbox, clock } = push;
  const { waiting } = outbox;
  for (;;) {
    outbox.collect();
    waiting.sort((a, b) => a.at - b.at);
    const first = waiting[0];
    if (!first) {
      // What no message wakes, the due index does.
      const due = await earliestDue(push.store);
      if (due === undefined) return;
      clock.advance(Math.max(0, due - clock.now()));
      await push.sweep();
      continue;
    }
    clock.advance(Math.max(0, first.at - clock.now()));
    const ready = waiting.findIndex(({ at }) => at > clock.now());
    const batch = waiting.splice(0, ready < 0 ? waiting.length : ready);
    const work = async () => {
      for (let one = batch.shift(); one; one = batch.shift())
        await deliver(services, one.message, clock.now() + HOUR);
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
  }
}

/**
 * Holds everything to P3 and P7: per config each event was accepted once or more, in order, or its job is exhausted; an
 * event had at most eight attempts, and exactly eight before it was given up, or one behind such a one; no job is left.
 */
async function check(push: Push, taken: readonly Taken[], expected: number, all: readonly unknown[]) {
  const items = await everything(push);
  const configs = items.filter(({ sk }) => sk.startsWith('C#'));
  const jobs = items.filter(({ sk }) => sk.startsWith('J#')).map(jobOf);
  expect(jobs).toHaveLength(expected);
  expect(jobs.filter(({ state }) => state !== 'delivered' && state !== 'exhausted')).toEqual([]);
  expect(items.filter(({ ds, da }) => ds !== undefined || da !== undefined)).toEqual([]);
  expect(configs.map(({ lease }) => lease).filter(Boolean)).toEqual([]);

  const byConfig = Map.groupBy(taken, ({ config }) => config);
  const exhausted = new Set(
    jobs.filter(({ state }) => state === 'exhausted').map(({ task, config }) => `${task}/${config}`),
  );
  let most = 0;
  let givenUp = 0;
  for (const [config, requests] of byConfig) {
    const events = [...new Set(requests.map(({ event }) => event))];
    // In order: an event's attempts stand together, and once it was accepted it is not sent again.
    expect(requests.map(({ event }) => events.indexOf(event))).toEqual(
      requests.map(({ event }) => events.indexOf(event)).toSorted((a, b) => a - b),
    );
    // The second config of a task was made when it had been submitted.
    expect(events).toEqual(config.endsWith('/a') ? all : all.slice(1));
    let single = false;
    for (const event of events) {
      const attempts = requests.filter((request) => request.event === event);
      expect(new Set(attempts.map(({ id }) => id)).size).toBe(1);
      expect(attempts.slice(0, -1).some(({ accepted }) => accepted)).toBe(false);
      most = Math.max(most, attempts.length);
      if (attempts.at(-1)?.accepted) {
        single = false;
        continue;
      }
      givenUp++;
      expect(attempts).toHaveLength(single ? 1 : 8);
      single = true;
    }
  }
  return { configs: configs.length, jobs: jobs.length, exhausted: exhausted.size, givenUp, most };
}

describe('at receivers that fail', () => {
  test.each([
    [500, 30, 'canceled', 7],
    // Fewer, so that many events are given up in short time.
    [40, 70, 'completed', 11],
  ] as const)(
    '%i tasks with two webhooks each, at %i percent failures: each event is delivered in order, or exhausted after eight attempts',
    { timeout: 480_000 },
    async (tasks, percent, end, seed) => {
      const failing = percent / 100;
      const rng = seeded(seed);
      const taken: Taken[] = [];
      const failures: readonly Outcome[] = [
        { kind: 'response', status: 503, headers: {} },
        { kind: 'timeout', phase: 'exchange' },
        { kind: 'reset', phase: 'exchange', code: 'ECONNRESET' },
      ];
      const push = await startPush({
        async request({ url, headers, body }) {
          const accepted = rng() >= failing;
          const { taskId } = (Object.values(JSON.parse(String(body)))[0] ?? {}) as { taskId: string };
          const event = eventOf(String(body));
          taken.push({ config: `${taskId} ${url}`, id: headers['webhook-id'] ?? '', event, accepted });
          if (accepted) return { kind: 'response', status: 200, headers: {} };
          return failures[Math.floor(rng() * failures.length)]!;
        },
      });
      const started = performance.now();
      const began = push.clock.now();
      for (let i = 0; i < tasks; i += 10) {
        const made = await Promise.all(
          Array.from({ length: 10 }, async () => {
            const task = await push.send('x', { url: push.webhooks.url('/a') });
            await push.create(task, { url: push.webhooks.url('/b') });
            if (end === 'canceled') await push.gateway.call('alice', 'CancelTask', { id: task });
            return task;
          }),
        );
        // Canceled before anybody ran them.
        if (end === 'canceled') await push.gateway.follow(...made);
        else await push.finish(...made);
      }
      const made = performance.now();
      const random = { ...push.services.random, fraction: seeded(seed + 1) };
      const services = { ...push.services, random };
      await settle(push, services);
      const figures = await check(push, taken, tasks * 3, ['TASK_STATE_SUBMITTED', ...ENDS[end]]);
      console.log(
        `${tasks} tasks × 2 configs, ${percent} % failing: ${taken.length} attempts of`,
        `${figures.jobs} jobs, ${figures.exhausted} exhausted (${figures.givenUp} events given up),`,
        `at most ${figures.most} attempts of one event, ${((push.clock.now() - began) / HOUR).toFixed(1)} h gone by;`,
        `made in ${((made - started) / 1000).toFixed(0)} s, delivered in ${((performance.now() - made) / 1000).toFixed(0)} s`,
      );
      await push[Symbol.asyncDispose]();
    },
  );

  test('8 tasks with two webhooks each, over real connections: likewise', { timeout: 120_000 }, async () => {
    const rng = seeded(5);
    const taken: Taken[] = [];
    const push = await startPush({
      // Long enough that what was accepted is heard of, on a busy machine too.
      exchangeMs: 4_000,
      answer: (response, { path, headers, body }) => {
        const accepted = rng() >= 0.3;
        const { taskId } = (Object.values(JSON.parse(body))[0] ?? {}) as { taskId: string };
        const id = String(headers['webhook-id']);
        taken.push({ config: `${taskId} ${path}`, id, event: eventOf(body), accepted });
        const failure = Math.floor(rng() * 3);
        if (accepted) response.writeHead(202).end();
        else if (failure === 0) response.writeHead(503).end();
        else if (failure === 1) response.socket?.destroy();
        // Else it never answers.
      },
    });
    const tasks: string[] = [];
    for (let i = 0; i < 8; i++) {
      const task = await push.send('x', { url: push.webhooks.url('/a') });
      await push.create(task, { url: push.webhooks.url('/b') });
      tasks.push(task);
    }
    await push.finish(...tasks);
    const services = { ...push.services, random: { ...push.services.random, fraction: seeded(6) } };
    await settle(push, services);
    const figures = await check(push, taken, 24, ['TASK_STATE_SUBMITTED', ...ENDS.completed]);
    console.log(
      `over real connections: ${taken.length} attempts of ${figures.jobs} jobs, ${figures.exhausted} exhausted`,
    );
    await push[Symbol.asyncDispose]();
  });
});
