import { type HeadCursor, visitHeads } from '../tasks/all-heads.ts';
import { given, type Head } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { StateServices } from '../tasks/services.ts';
import { purgeTask } from './purge.ts';

/** Which tasks an operator wants gone; all that is named must hold. */
export interface PurgeSelection {
  readonly task?: string | undefined;
  readonly client?: string | undefined;
  /** Last change before this, epoch ms. */
  readonly before?: number | undefined;
}

export interface PurgeProgress {
  readonly looked: number;
  /** Tasks purged, or on a dry run: that would be. */
  readonly purged: number;
  /** Where to go on; absent: that was all. */
  readonly next?: HeadCursor;
}

/**
 * A part of a purge on demand: goes on from the cursor until `until` (epoch ms), at least by one task. `dryRun` counts and
 * changes nothing.
 */
export async function purgeSelected(
  services: StateServices,
  selection: PurgeSelection,
  cursor: HeadCursor | undefined,
  until: number,
  dryRun: boolean,
): Promise<PurgeProgress> {
  let looked = 0;
  let purged = 0;
  const isMeant = (head: Head) => isSelected(head, selection);
  const purge = async ({ task }: Head) => dryRun || (await purgeTask(services, task, isMeant)) === 'purged';
  const visit = async (head: Head) => {
    looked++;
    if (isMeant(head) && (await purge(head))) purged++;
  };
  if (selection.task !== undefined) {
    const head = await readHead(services, selection.task);
    if (head) await visit(head);
    return { looked, purged };
  }
  let next = await visitHeads(services, cursor, until, visit);
  while (next && services.clock.now() < until) next = await visitHeads(services, next, until, visit);
  return { looked, purged, ...given({ next }) };
}

/** Pure: whether a task is among those meant. */
export function isSelected(
  head: Pick<Head, 'task' | 'client' | 'statusAt'>,
  { task, client, before }: PurgeSelection,
): boolean {
  return (
    (task === undefined || head.task === task) &&
    (client === undefined || head.client === client) &&
    (before === undefined || head.statusAt < before)
  );
}
