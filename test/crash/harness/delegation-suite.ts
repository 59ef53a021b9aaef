import { afterAll, describe, expect, test } from 'vitest';
import { type DelegationScenarioName, delegationScenarios } from '../delegation-scenarios.ts';
import type { Bench } from './bench.ts';
import type { Call } from './calls.ts';
import { behind, death, differs, everywhere, frost, play, type Where } from './disturb.ts';
import { seeded } from './seeded.ts';
import { PATIENCE, withBench } from './suite.ts';
import type { WorldOptions } from './world.ts';

/**
 * `all`: every call of a storage, a queue, a provider or a remote agent. `changes`: whoever dies of a read dies as before
 * its next call, so those that change something or leave the gateway do for the rest. What `rpc` does is of interest only
 * where clients act on a delegated task.
 */
export type Calls = 'all' | 'changes' | 'changes of clients too' | 'changes of the reconciler';

const isRead = ({ name }: Call): boolean => /(GetItem|Query|Scan)Command$/.test(name);
const isOf = ({ instance }: Call, ...functions: string[]): boolean =>
  functions.some((one) => instance.name.startsWith(`${one}-`));

function which(calls: Calls): (call: Call) => boolean {
  if (calls === 'all') return differs;
  const isCounted = {
    changes: (call: Call) => !isOf(call, 'rpc'),
    'changes of clients too': () => true,
    'changes of the reconciler': (call: Call) => isOf(call, 'reconciler'),
  }[calls];
  return (call) => !isRead(call) && call.name !== 'kms Decrypt' && isCounted(call);
}

/**
 * Tests that a delegation survives a death at every call of interest, before and after it took effect, from the moment on
 * at which its message was accepted; the number of crash points is printed.
 */
export function delegateThroughDeath(names: Readonly<Partial<Record<DelegationScenarioName, Calls>>>): void {
  describe('a death at any call leaves every dependency resolved once and its run resumed once', () => {
    const bench = withBench();
    const points: string[] = [];
    afterAll(() => console.log(`crash points: ${points.join(', ')}`));
    for (const [name, calls] of Object.entries(names)) {
      const scenario = delegationScenarios[name as DelegationScenarioName];
      test(`while ${scenario.name}`, PATIENCE, async () => {
        const where: Where = { from: 'accepted', which: which(calls) };
        // Whoever dies before a change dies behind the one before it: only where all is played both are.
        const moments = calls === 'all' ? {} : { moments: behind };
        const done = await everywhere(bench(), scenario, death, { ...where, ...moments });
        points.push(`${name} ${done.points}`);
        expect(done.broken.join('\n')).toBe('');
        expect(done.points).toBeGreaterThan(10);
      });
    }
  });
}

/** Tests that an instance of these functions which goes on after everybody else resolves nothing again. */
export function delegateThroughFrost(
  names: Readonly<Partial<Record<DelegationScenarioName, readonly string[]>>>,
): void {
  describe('an instance that stands still until all others have come to rest resolves nothing again', () => {
    const bench = withBench();
    const points: string[] = [];
    afterAll(() => console.log(`frost points: ${points.join(', ')}`));
    for (const [name, functions] of Object.entries(names)) {
      const scenario = delegationScenarios[name as DelegationScenarioName];
      test(`of ${functions.join(', ')}, while ${scenario.name}`, PATIENCE, async () => {
        const of = (call: Call) => isOf(call, ...functions) && !isRead(call);
        const done = await everywhere(bench(), scenario, frost, {
          from: 'accepted',
          which: of,
          moments: behind,
        });
        points.push(`${name} ${done.points}`);
        expect(done.broken.join('\n')).toBe('');
        expect(done.points).toBeGreaterThan(5);
      });
    }
  });
}

/** Plays every delegation under each seed; answers what broke, with the scenario and the seed that did it. */
export async function delegateUnder(
  bench: Bench,
  options: (rng: () => number) => WorldOptions,
  seeds: readonly number[],
): Promise<string> {
  const found: string[] = [];
  for (const scenario of Object.values(delegationScenarios)) {
    for (const seed of seeds) {
      const played = await play(bench, scenario, { seed, shuffled: true, ...options(seeded(seed)) });
      if (played.broken.length > 0)
        found.push([`${scenario.name}, seed ${seed}`, ...played.broken].join('\n  '));
    }
  }
  return found.join('\n');
}
