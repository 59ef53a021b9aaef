import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ScenarioName, scenarios } from '../scenarios.ts';
import { type Bench, startBench } from './bench.ts';
import { death, everywhere, type Where } from './disturb.ts';

/** An engine for the tests of one `describe`; they get it when they run. */
export function withBench(): () => Bench {
  let bench: Bench | undefined;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench?.[Symbol.asyncDispose]());
  return () => bench!;
}

/** A run takes about 0.1 s, a test some hundred of them. */
export const PATIENCE = { timeout: 600_000 };

/** Tests that a scenario survives a death at every call; the number of crash points is printed. */
export function surviveDeath(names: Readonly<Partial<Record<ScenarioName, Where>>>): void {
  describe('a death at any call leaves nothing stuck, lost or doubled', () => {
    const bench = withBench();
    let points = 0;
    afterAll(() => console.log(`crash points: ${points} (${Object.keys(names).join(', ')})`));
    for (const [name, where] of Object.entries(names)) {
      const scenario = scenarios[name as ScenarioName];
      test(`while ${scenario.name}`, PATIENCE, async () => {
        const done = await everywhere(bench(), scenario, death, where);
        points += done.points;
        expect(done.broken.join('\n')).toBe('');
        expect(done.points).toBeGreaterThan(20);
      });
    }
  });
}
