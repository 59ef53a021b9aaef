import { describe, expect, test } from 'vitest';
import { GO } from './harness/calls.ts';
import { delegateUnder } from './harness/delegation-suite.ts';
import { troubled } from './harness/deliveries.ts';
import { anything, type Fault, nowAndThen } from './harness/faults.ts';
import { PATIENCE, withBench } from './harness/suite.ts';
import type { WorldOptions } from './harness/world.ts';

const bench = withBench();

/** What a remote agent or the network to it does is its script's business. */
const ours: Fault = (call, rng) => (call.name.startsWith('remote') ? GO : anything(call, rng));

describe('every delegation comes to the same end', PATIENCE, () => {
  test('under conflicts, throttles and connections that break', async () => {
    const options = (rng: () => number) => ({ plan: nowAndThen(ours, rng, 0.1) });
    expect(await delegateUnder(bench(), options, [1, 2])).toBe('');
  });

  test('with transactions whose items become visible one after another', async () => {
    expect(await delegateUnder(bench(), () => ({ unfoldingMs: 250 }), [1, 2])).toBe('');
  });

  test('under all of it at once', async () => {
    const everything = (rng: () => number): WorldOptions => ({
      plan: nowAndThen(ours, rng, 0.05),
      ...{ inbox: troubled(rng, 120_000), runQueue: troubled(rng, 120_000), stream: troubled(rng, 60_000) },
      unfoldingMs: 40,
    });
    expect(await delegateUnder(bench(), everything, [1, 2])).toBe('');
  });
});
