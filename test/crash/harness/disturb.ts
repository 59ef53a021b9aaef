import type { Scenario } from '../scenarios.ts';
import type { Bench } from './bench.ts';
import type { Call, Fate, Plan, When } from './calls.ts';
import { GO } from './calls.ts';
import { broken } from './invariants.ts';
import type { World, WorldOptions } from './world.ts';

export interface Played {
  readonly world: World;
  /** What does not hold; empty when all does. */
  readonly broken: readonly string[];
}

/** Plays a scenario to rest, under what the options add to it, and holds what is left to the promises. */
export async function play(bench: Bench, scenario: Scenario, options: WorldOptions = {}): Promise<Played> {
  const world = await bench.world({ ...scenario.world, ...options });
  try {
    const playing = scenario.play(world);
    await world.run(playing);
    return { world, broken: await broken(world, await playing, scenario.expected) };
  } catch (error) {
    return { world, broken: [String(error)] };
  }
}

export interface Everywhere {
  /** Runs that were disturbed. */
  readonly points: number;
  /** What broke, with the call at which it did. */
  readonly broken: readonly string[];
}

/** Stops looking after so many points that broke: one fault shows at many. */
const ENOUGH = 3;

/**
 * Plays a scenario once for each of its calls and for both moments, with that call's fate; goes on until the run ends
 * before its call k. `where` leaves out calls that are of no interest.
 */
export async function everywhere(
  bench: Bench,
  scenario: Scenario,
  fateOf: (number: number, when: When) => Fate,
  where: (call: Call) => boolean = () => true,
): Promise<Everywhere> {
  const found: string[] = [];
  let points = 0;
  for (let k = 1; ; k++) {
    for (const when of ['before', 'after'] as const) {
      let met: Call | undefined;
      const plan: Plan = (call, number) => {
        if (number !== k) return GO;
        met = call;
        return where(call) ? fateOf(k, when) : GO;
      };
      const played = await play(bench, scenario, { plan });
      if (!met) return { points, broken: found };
      if (!where(met)) break;
      points++;
      const at = `${scenario.name}, call ${k} (${met.instance.name} ${met.name}), ${when}`;
      if (played.broken.length > 0) found.push([at, ...played.broken].join('\n  '));
      if (found.length >= ENOUGH) return { points, broken: found };
    }
  }
}

/**
 * The caller dies of the call: alone, as a function does, or with the whole host. Each call has both, one before it took
 * effect and one after.
 */
export function death(number: number, when: When): Fate {
  const alone = (number % 2 === 0) === (when === 'before');
  return { kind: 'die', when, scope: alone ? 'instance' : 'host' };
}

/** The caller stands still until all others have come to rest: its lease is long over, another did its work. */
export function frost(_number: number, when: When): Fate {
  return { kind: 'freeze', when };
}
