import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lost, prompt, troubled } from './harness/deliveries.ts';
import { frost } from './harness/disturb.ts';
import { seeded } from './harness/seeded.ts';
import { everywherePush, playPush, pushScenarios } from './push-scenarios.ts';
import { type PushBench, startPushBench } from './push-world.ts';

const [embed, twoConfigs, pause, , rebuild] = pushScenarios;

describe('push in disorder: each event at least once, in order, at most eight times', () => {
  let bench: PushBench;
  beforeAll(async () => {
    bench = await startPushBench();
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  test.each([embed!, twoConfigs!].map((scenario) => [scenario.name, scenario] as const))(
    'with a worker that stands still at any write until all others are done: %s',
    { timeout: 600_000 },
    async (_, scenario) => {
      const { points, broken } = await everywherePush(bench, scenario, frost, {
        moments: ['after'],
        of: /^(delivery|projector|projection-retry|sweeper)/,
      });
      console.log(`${scenario.name}: ${points} points of frost`);
      expect(broken.join('\n')).toBe('');
      expect(points).toBeGreaterThan(8);
    },
  );

  test('with two of three messages of the queue lost: the due index wakes', {
    timeout: 120_000,
  }, async () => {
    for (const scenario of pushScenarios) {
      let sent = 0;
      const outbox = () => (++sent % 3 === 0 ? prompt() : lost());
      expect((await playPush(bench, scenario, { outbox })).broken.join('\n'), scenario.name).toBe('');
    }
  });

  test.each([
    ['lost, doubled and late messages and records', {}],
    ['transactions that become visible item by item', { unfoldingMs: 400 }],
  ])('with %s, ten times', { timeout: 600_000 }, async (_, options) => {
    for (let seed = 1; seed <= 10; seed++) {
      const rng = seeded(seed);
      for (const scenario of [embed!, twoConfigs!, pause!, rebuild!]) {
        const outbox = troubled(rng, 300_000);
        // A record of the stream comes at least once: that is what it guarantees.
        const stream = () => [0, ...troubled(rng, 60_000)()];
        const { broken } = await playPush(bench, scenario, { ...options, outbox, stream, seed });
        expect(broken, `seed ${seed}, ${scenario.name}`).toEqual([]);
      }
    }
  });
});
