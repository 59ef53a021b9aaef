import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Bench, startBench } from './harness/bench.ts';
import { broken } from './harness/invariants.ts';
import { scenarios } from './scenarios.ts';

describe('undisturbed', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  test.each(Object.values(scenarios).map((s) => [s.name, s] as const))('%s', async (_, scenario) => {
    const world = await bench.world(scenario.world);
    const t = performance.now();
    const playing = scenario.play(world);
    try {
      await world.run(playing);
    } catch (e) {
      console.log(world.calls.log.join('\n'), world.log.lines);
      throw e;
    }
    const found = await broken(world, await playing, scenario.expected);
    console.log(
      scenario.name,
      world.calls.made,
      (performance.now() - t).toFixed(0) + 'ms',
      (world.clock.now() - Date.UTC(2026, 0, 12, 9)) / 1000,
    );
    if (found.length) console.log(world.calls.log.join('\n'), world.log.lines);
    expect(found).toEqual([]);
  });
});
