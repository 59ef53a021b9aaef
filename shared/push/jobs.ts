import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import { DUE_AHEAD_MS } from '../tasks/commit.ts';
import type { Head, Revision } from '../tasks/formats.ts';
import { DEADLINE_MS, jobItem } from './formats.ts';

/**
 * The jobs of a revision: one for each config that was registered before it (design §6, fence; P3). The head is of this
 * revision or a later one, so every config with a lower fence stands in it. Part of the projecting transaction; a job
 * that is there already is not made anew.
 */
export function jobsOf(head: Head, revision: Revision): Action[] {
  return head.configs
    .filter(({ fence }) => fence < revision.revision)
    .map(({ id }) => ({
      kind: 'put',
      table: 'outbox',
      item: jobItem({
        task: head.task,
        config: id,
        revision: revision.revision,
        state: 'open',
        deadline: revision.statusAt + DEADLINE_MS,
        due: keys.dueAt(revision.statusAt + DUE_AHEAD_MS),
      }),
      when: [{ attribute: 'pk', is: 'absent' }],
    }));
}
