import { keys } from '../storage/keys.ts';
import { type Head, isTombstone, liveHead, type Revision, revisionOf, type View, viewOf } from './formats.ts';
import type { StateServices } from './services.ts';

/** The head, read consistently; `undefined`: no such task (or purged). */
export async function readHead(
  services: Pick<StateServices, 'store'>,
  task: string,
): Promise<Head | undefined> {
  const item = await services.store.get('state', keys.head(task), { consistent: true });
  return liveHead(item);
}

export interface HeadAndView {
  readonly head?: Head;
  readonly view?: View;
}

/** Head and view in one consistent read each; the two may be of different revisions. */
export async function readHeadAndView(
  services: Pick<StateServices, 'store'>,
  task: string,
): Promise<HeadAndView> {
  const [head, view] = await services.store.getMany([
    { table: 'state', key: keys.head(task) },
    { table: 'view', key: keys.view(task) },
  ]);
  const live = liveHead(head);
  return {
    ...(live ? { head: live } : {}),
    ...(view && !isTombstone(view) ? { view: viewOf(view) } : {}),
  };
}

/** Revisions `from`..`to`, in order; shorter when one is not visible yet. */
export async function readRevisions(
  services: Pick<StateServices, 'store'>,
  task: string,
  from: number,
  to: number,
): Promise<Revision[]> {
  const revisions: Revision[] = [];
  let after: Readonly<Record<string, string>> | undefined;
  do {
    const page = await services.store.query({
      table: 'state',
      partition: keys.head(task).pk,
      sort: { from: keys.revision(task, from).sk, to: keys.revision(task, to).sk },
      consistent: true,
      ...(after ? { after } : {}),
    });
    revisions.push(...page.items.map(revisionOf));
    after = page.next;
  } while (after);
  const gap = revisions.findIndex((revision, i) => revision.revision !== from + i);
  return gap < 0 ? revisions : revisions.slice(0, gap);
}
