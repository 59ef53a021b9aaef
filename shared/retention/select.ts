import { type HeadCursor, headsFrom } from '../tasks/all-heads.ts';
import { given, type Head } from '../tasks/formats.ts';
import type { StateServices } from '../tasks/services.ts';
import { purgeTask } from './purge.ts';

/** Which tasks an operator wants gone: of a client, older than an age, or both. */
export interface PurgeSelection {
  readonly client?: string | undefined;
  /** Last change before this, epoch ms. */
  readonly before?: number | undefined;
}

/** One page of a purge on demand. `dryRun`: counts, changes nothing. */
export async function purgePage(
  services: StateServices,
  selection: PurgeSelection,
  cursor: HeadCursor | undefined,
  dryRun: boolean,
): Promise<{ readonly looked: number; readonly purged: number; readonly next?: HeadCursor }> {
  const { heads, next } = await headsFrom(services, cursor);
  let purged = 0;
  for (const head of heads) {
    if (!isSelected(head, selection)) continue;
    if (dryRun || (await purgeTask(services, head.task)) === 'purged') purged++;
  }
  return { looked: heads.length, purged, ...given({ next }) };
}

export function isSelected(head: Head, { client, before }: PurgeSelection): boolean {
  return (client === undefined || head.client === client) && (before === undefined || head.statusAt < before);
}
