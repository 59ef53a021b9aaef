import type { QueryCommandInput } from '@aws-sdk/client-dynamodb';
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
    const { check = (_, clients) => broken(world, clients, scenario.expected) } = scenario;
    return { world, broken: await check(world, await playing) };
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

export interface Where {
  /**
   * `accepted`: from the moment on at which the first message was queued. What comes before is the same in every
   * scenario that begins with SendMessage, so one of them from its start does for all.
   */
  readonly from?: 'start' | 'accepted';
  /** Calls that are of interest; default: all that differ. */
  readonly which?: (call: Call) => boolean;
  /** Default: both for what changes something; a read that never was and one whose answer is lost are the same. */
  readonly moments?: (call: Call) => readonly When[];
}

const READ = /^(dynamodb (GetItem|BatchGetItem|Query|Scan)Command|kms Decrypt)$/;
/** Whoever dies of a read dies as before its next call. */
export const changes = ({ name }: Call): boolean => !READ.test(name);
const momentsOf = ({ name }: Call): readonly When[] => (READ.test(name) ? ['after'] : ['after', 'before']);
/** Whoever stands still before a call stands still behind the one before. */
export const behind = (): readonly When[] => ['after'];

/** A sweep asks shard after shard: of those reads, which change nothing and follow each other, the first does for all. */
export function differs({ name, input }: Call): boolean {
  if (name !== 'dynamodb QueryCommand') return true;
  const { IndexName, ExpressionAttributeValues = {} } = input as Partial<QueryCommandInput>;
  const shards = Object.values(ExpressionAttributeValues).map(({ S }) => S);
  return IndexName !== 'due' || shards.includes('due#0');
}

/**
 * Plays a scenario once for each of its calls that are of interest and for each moment, with that call's fate; goes on
 * until a run ends without having met another one.
 */
export async function everywhere(
  bench: Bench,
  scenario: Scenario,
  fateOf: (number: number, when: When) => Fate,
  { from = 'start', which = differs, moments = momentsOf }: Where = {},
): Promise<Everywhere> {
  const found: string[] = [];
  let points = 0;
  /** With the fate at the first call of interest from number `k` on. */
  const disturb = async (k: number, when: When) => {
    let met: { readonly call: Call; readonly number: number } | undefined;
    const plan: Plan = (call, number) => {
      if (met || number < k || !which(call)) return GO;
      met = { call, number };
      return fateOf(number, when);
    };
    const played = await play(bench, scenario, { plan });
    if (!met) return undefined;
    points++;
    const { instance, name } = met.call;
    const at = `${scenario.name}, call ${met.number} (${instance.name} ${name}), ${when}`;
    if (played.broken.length > 0) found.push([at, ...played.broken].join('\n  '));
    return met;
  };
  for (let k = from === 'start' ? 1 : await accepted(bench, scenario); found.length < ENOUGH; k++) {
    const met = await disturb(k, 'after');
    if (!met) break;
    k = met.number;
    if (moments(met.call).includes('before')) await disturb(k, 'before');
  }
  return { points, broken: found };
}

/** The number of the call behind which the first message is in the run queue. */
async function accepted(bench: Bench, scenario: Scenario): Promise<number> {
  let number = 1;
  const plan: Plan = (call, at) => {
    if (number === 1 && call.name === 'sqs SendMessage runs') number = at;
    return GO;
  };
  await play(bench, scenario, { plan });
  return number;
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
