import { keys } from '../storage/keys.ts';
import type { Store } from '../storage/port.ts';
import { resolveLevel, tighter } from './levels.ts';
import type { AnswerLevel } from './types.ts';

/** What is tightened: settings, a profile or a provider, and to which level. */
export type Tightened = { readonly level: AnswerLevel } & (
  | { readonly of: 'settings' }
  | { readonly of: 'profile' | 'provider'; readonly id: string }
);

/**
 * A tightening that is still being applied (design §7): a task that was there then keeps no more than it allowed, also
 * where settings, profile or provider were loosened again before the job came to the task (P9). `at` epoch ms.
 */
export type Floor = Tightened & { readonly at: number };

/** The floors in an item of the ceiling job; none once it is done, since every head carries its level then. */
export function floorsOf(job: { readonly floors?: readonly Floor[]; readonly doneAt?: number } | undefined) {
  return job?.doneAt === undefined ? (job?.floors ?? []) : [];
}

/** The floors that stand, read fresh and consistently. */
export async function readFloors(store: Store): Promise<readonly Floor[]> {
  const item = await store.get('registry', keys.ceilingJob(), { consistent: true });
  return floorsOf(item?.['job'] as Parameters<typeof floorsOf>[0]);
}

/**
 * What the floors leave of a level for a task: those of its profile, of the providers it tried and of the settings, set
 * when it was there already. `knownMs`: for how long after a change tasks are made by who does not know of it.
 */
export function underFloors(
  level: AnswerLevel,
  floors: readonly Floor[],
  task: { readonly createdAt: number; readonly profile: string; readonly tried: readonly string[] },
  knownMs: number,
): AnswerLevel {
  const isMeant = (floor: Floor): boolean => {
    if (task.createdAt > floor.at + knownMs) return false;
    if (floor.of === 'settings') return true;
    return floor.of === 'profile' ? floor.id === task.profile : task.tried.includes(floor.id);
  };
  return floors
    .filter(isMeant)
    .reduce<AnswerLevel>((least, floor) => tighter(least, resolveLevel('full', floor.level)), level);
}
