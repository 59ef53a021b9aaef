import { describe, expect, test } from 'vitest';
import { delegationScenarios } from './delegation-scenarios.ts';
import { lost, troubled } from './harness/deliveries.ts';
import { play } from './harness/disturb.ts';
import { anything, type Fault, nowAndThen } from './harness/faults.ts';
import { seeded } from './harness/seeded.ts';
import { PATIENCE, withBench } from './harness/suite.ts';
import type { WorldOptions } from './harness/world.ts';

const bench = withBench();

/** Plays scenarios under each seed; answers what broke, with the scenario and the seed that did it. */
async function allUnder(
  options: (rng: () => number) => WorldOptions,
  seeds: readonly number[],
  chosen = Object.values(delegationScenarios),
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

/** What a remote agent or the network to it does is its script's business. */
const ours: Fault = (call, rng) => (call.name.startsWith('remote') ? { kind: 'go' } : anything(call, rng));

describe('every delegation comes to the same end', PATIENCE, () => {
  test('in whatever order calls of the same moment are made', async () => {
    expect(await allUnder(() => ({}), [1, 2, 3])).toBe('');
  });

  test('with messages of the inbox that are lost, doubled, late and out of order', async () => {
    expect(await allUnder((rng) => ({ inbox: troubled(rng, 120_000) }), [1, 2])).toBe('');
  });

  test('with no message of the inbox at all but those that a sweep sends, and no stream', async () => {
    const everyOther = () => {
      let sent = 0;
      return () => (sent++ % 2 === 0 ? [] : [0]);
    };
    expect(await allUnder(() => ({ inbox: everyOther(), stream: lost }), [1])).toBe('');
  });

  test('under conflicts, throttles and connections that break', async () => {
    expect(await allUnder((rng) => ({ plan: nowAndThen(ours, rng, 0.1) }), [1, 2])).toBe('');
  });

  test('with transactions whose items become visible one after another', async () => {
    expect(await allUnder(() => ({ unfoldingMs: 250 }), [1, 2])).toBe('');
  });

  test('under all of it at once', async () => {
    const everything = (rng: () => number): WorldOptions => ({
      plan: nowAndThen(ours, rng, 0.05),
      ...{ inbox: troubled(rng, 120_000), runQueue: troubled(rng, 120_000), stream: troubled(rng, 60_000) },
      unfoldingMs: 40,
    });
    expect(await allUnder(everything, [1, 2])).toBe('');
  });
});
