import { describe, expect, test } from 'vitest';
import { lost, troubled } from './harness/deliveries.ts';
import { play } from './harness/disturb.ts';
import { anything, broken, conflict, type Fault, nowAndThen, throttle } from './harness/faults.ts';
import { seeded } from './harness/seeded.ts';
import { PATIENCE, withBench } from './harness/suite.ts';
import type { WorldOptions } from './harness/world.ts';
import { type Scenario, scenarios } from './scenarios.ts';

const bench = withBench();

/** Plays scenarios under each seed; answers what broke, with the scenario and the seed that did it. */
async function allUnder(
  options: (rng: () => number) => WorldOptions,
  chosen: readonly Scenario[] = Object.values(scenarios),
  seeds: readonly number[] = [1, 2],
): Promise<string> {
  const found: string[] = [];
  for (const scenario of chosen) {
    for (const seed of seeds) {
      const played = await play(bench(), scenario, { seed, shuffled: true, ...options(seeded(seed)) });
      if (played.broken.length > 0)
        found.push([`${scenario.name}, seed ${seed}`, ...played.broken].join('\n  '));
    }
  }
  return found.join('\n');
}

describe('every scenario comes to the same end', () => {
  test.each<[string, Fault, number[]]>([
    ['conflicts between transactions', conflict, [1]],
    ['throttles', throttle, [1]],
    ['connections that break before and after the call was done', broken, [1]],
    ['all of these', anything, [1, 2]],
  ])('under %s', PATIENCE, async (_, fault, seeds) => {
    const every = Object.values(scenarios);
    expect(await allUnder((rng) => ({ plan: nowAndThen(fault, rng, 0.2) }), every, seeds)).toBe('');
  });

  test('with queue messages that are lost, doubled, late and out of order', PATIENCE, async () => {
    expect(await allUnder((rng) => ({ runQueue: troubled(rng, 120_000), visibilityMs: 45_000 }))).toBe('');
  });

  test('with stream records that are lost, doubled, late and out of order', PATIENCE, async () => {
    expect(await allUnder((rng) => ({ stream: troubled(rng, 120_000) }))).toBe('');
  });

  test('with no stream and no queue at all, by the due index alone', PATIENCE, async () => {
    const chosen = [scenarios.create, scenarios.question, scenarios.retried];
    const once = (): (() => readonly number[]) => {
      let sent = 0;
      // What a sweep sends must arrive, or nothing would.
      return () => (sent++ === 0 ? [] : [0]);
    };
    expect(await allUnder(() => ({ stream: lost, runQueue: once() }), chosen)).toBe('');
  });

  test('with transactions whose items become visible one after another', PATIENCE, async () => {
    expect(await allUnder(() => ({ unfoldingMs: 250 }), Object.values(scenarios), [1])).toBe('');
  });

  test(
    'with such transactions, and projectors and readers that are there before they are whole',
    PATIENCE,
    async () => {
      const options = { unfoldingMs: 250, streamLatencyMs: 4 };
      const chosen = [scenarios.pried, scenarios.interrupted, scenarios.watched, scenarios.sliced];
      expect(await allUnder(() => options, chosen, [1, 2, 3, 4, 5, 6])).toBe('');
    },
  );

  test('under all of it at once', PATIENCE, async () => {
    expect(
      await allUnder((rng) => ({
        plan: nowAndThen(anything, rng, 0.1),
        runQueue: troubled(rng, 120_000),
        stream: troubled(rng, 120_000),
        unfoldingMs: 40,
      })),
    ).toBe('');
  });
});
