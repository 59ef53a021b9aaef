import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Bench, startBench } from './harness/bench.ts';
import { death, everywhere } from './harness/disturb.ts';
import { scenarios } from './scenarios.ts';

describe('undisturbed', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  test.each(Object.values(scenarios).map((s) => [s.name, s] as const))('%s', { timeout: 200_000 }, async (_, scenario) => {
    const t = performance.now();
    const { points, broken } = await everywhere(bench, scenario, death);
    console.log(scenario.name, points, ((performance.now()-t)/1000).toFixed(1));
    expect(broken.join('\n')).toBe('');
  });
});
