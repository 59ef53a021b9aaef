import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { death } from './harness/disturb.ts';
import { everywherePush, exhausting, playPush, pushScenarios } from './push-scenarios.ts';
import { type PushBench, startPushBench } from './push-world.ts';

describe('push with a death at every step: each event at least once, in order, at most eight times', () => {
  let bench: PushBench;
  beforeAll(async () => {
    bench = await startPushBench();
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  test.each([...pushScenarios, exhausting].map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    { timeout: 600_000 },
    async (_, scenario) => {
      // Undisturbed first: what breaks then is no crash's fault.
      expect((await playPush(bench, scenario)).broken.join('\n')).toBe('');
      const started = performance.now();
      const { points, broken } = await everywherePush(bench, scenario, death, {
        moments: scenario === pushScenarios[0] ? ['before', 'after'] : ['after'],
      });
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      console.log(`${scenario.name}: ${points} crash points, ${seconds} s`);
      expect(broken.join('\n')).toBe('');
      expect(points).toBeGreaterThan(15);
    },
  );
});
