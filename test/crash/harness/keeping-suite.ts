import { afterAll, describe, expect, test } from 'vitest';
import { type KeepingScenarioName, keepingScenarios } from '../ceilings-scenarios.ts';
import type { Call } from './calls.ts';
import { behind, changes, death, everywhere, frost, type Where } from './disturb.ts';
import { PATIENCE, withBench } from './suite.ts';

/**
 * Tests that a scenario of what is kept survives a death behind every call that changes something: whoever dies before it
 * dies behind the one before. The number of crash points is printed.
 */
export function keepThroughDeath(
  names: Readonly<Partial<Record<KeepingScenarioName, NonNullable<Where['from']>>>>,
): void {
  describe('a death at any write keeps nothing too long, loses nothing and leaves nothing behind', () => {
    const bench = withBench();
    let points = 0;
    afterAll(() => console.log(`crash points: ${points} (${Object.keys(names).join(', ')})`));
    for (const [name, from] of Object.entries(names)) {
      const scenario = keepingScenarios[name as KeepingScenarioName];
      test(`while ${scenario.name}`, PATIENCE, async () => {
        const done = await everywhere(bench(), scenario, death, {
          from,
          which: changes,
          moments: behind,
        });
        points += done.points;
        expect(done.broken.join('\n')).toBe('');
        expect(done.points).toBeGreaterThan(10);
      });
    }
  });
}

/** Tests that instances of these functions change nothing any more when they go on after everybody else. */
export function keepThroughFrost(
  names: Readonly<Partial<Record<KeepingScenarioName, readonly string[]>>>,
): void {
  describe('an instance that stands still until all others have come to rest brings nothing back', () => {
    const bench = withBench();
    let points = 0;
    afterAll(() => console.log(`frost points: ${points} (${Object.keys(names).join(', ')})`));
    for (const [name, functions] of Object.entries(names)) {
      const scenario = keepingScenarios[name as KeepingScenarioName];
      test(`of ${functions.join(', ')}, while ${scenario.name}`, PATIENCE, async () => {
        const of = ({ instance }: Call) => functions.some((one) => instance.name.startsWith(`${one}-`));
        const which = (call: Call) => of(call) && changes(call);
        const done = await everywhere(bench(), scenario, frost, {
          from: 'accepted',
          which,
          moments: behind,
        });
        points += done.points;
        expect(done.broken.join('\n')).toBe('');
        expect(done.points).toBeGreaterThan(5);
      });
    }
  });
}
