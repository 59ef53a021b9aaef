import { isTerminal } from '../protocol/index.ts';
import { jobsOf } from '../push/jobs.ts';
import type { Action } from '../storage/port.ts';
import { advance, type Head, journalItem, type Revision, type View, viewItem } from '../tasks/formats.ts';
import { readHeadAndView, readRevisions } from '../tasks/read-head.ts';
import type { StateServices } from '../tasks/services.ts';

export interface Projected {
  readonly head?: Head;
  readonly view?: View;
}

/** Thrown when a revision that the head counts is not visible yet; the caller tries again later (design §4). */
export class RevisionMissing extends Error {
  readonly tag = 'RevisionMissing';
  constructor(task: string, revision: number) {
    super(`revision ${revision} of task ${task} is not visible yet`);
  }
}

/** Pauses between reads of a revision that is not visible yet, ms. */
const READ_AGAIN = [20, 50, 100, 200];

/**
 * Catches the view up from its own revision to the head's, one revision a transaction: view, journal entry and
 * jobs (P2, P3).
 * Driven by state, so doubled, missing or reordered triggers do not matter; two at once do no harm, each step is gated
 * on the view's revision.
 */
export async function project(services: StateServices, task: string): Promise<Projected> {
  for (let again = 0; ; ) {
    const { head, view } = await readHeadAndView(services, task);
    if (!head) return view ? { view } : {};
    const from = (view?.revision ?? 0) + 1;
    if (from > head.revision) return { head, ...(view ? { view } : {}) };
    const revisions = await readRevisions(services, task, from, head.revision);
    const reached = await publish(services, head, view, revisions);
    if (reached && reached.revision >= head.revision) return { head, view: reached };
    if (revisions.length > 0) {
      // What is waited for is one revision: the next one has all its time.
      again = 0;
      continue;
    }
    const pause = READ_AGAIN[again++];
    if (pause === undefined) throw new RevisionMissing(task, from);
    await services.clock.sleep(pause);
  }
}

async function publish(
  services: StateServices,
  head: Head,
  start: View | undefined,
  revisions: readonly Revision[],
): Promise<View | undefined> {
  let view = start;
  for (const revision of revisions) {
    const next = advance(view, head, revision);
    // Someone else was faster: what stands there is read anew by the caller.
    if (!(await publishOne(services, head, view, next, revision))) return undefined;
    view = next;
  }
  return view;
}

/**
 * View, journal entry and jobs of one revision. A job that stands already (the view is being rebuilt) is left as it is:
 * rebuilding repeats no webhook (design §4).
 */
async function publishOne(
  services: StateServices,
  head: Head,
  view: View | undefined,
  next: View,
  revision: Revision,
): Promise<boolean> {
  const published = projection(view, next, revision);
  let jobs = jobsOf(head, revision);
  for (;;) {
    const outcome = await services.store.transact([...published, ...jobs], services.random.uuid());
    if (outcome.kind === 'done') return true;
    const standing = new Set(outcome.failed.map((action) => action - published.length));
    if (outcome.failed.some((action) => action < published.length)) return false;
    jobs = jobs.filter((_, job) => !standing.has(job));
  }
}

function projection(view: View | undefined, next: View, revision: Revision): Action[] {
  return [
    {
      kind: 'put',
      table: 'view',
      item: viewItem(next, !isTerminal(next.state)),
      when: view
        ? [{ attribute: 'rev', is: '=', value: view.revision }]
        : [{ attribute: 'pk', is: 'absent' }],
    },
    { kind: 'put', table: 'view', item: journalItem(revision) },
  ];
}
