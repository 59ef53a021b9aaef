import type { Task, TaskState } from '../protocol/index.ts';
import { RedactionUnavailable } from '../redaction/index.ts';
import { keys, timeKey } from '../storage/keys.ts';
import type { Condition, QueryInput, StoredItem } from '../storage/port.ts';
import { isWithdrawn } from './content.ts';
import { liveHead, type View, viewOf } from './formats.ts';
import { type PagePosition, readPageToken, writePageToken } from './page-token.ts';
import type { TaskServices } from './services.ts';
import { snapshot } from './snapshot.ts';

export interface Listing {
  readonly client: string;
  readonly profile?: string | undefined;
  readonly context?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Status timestamps from this instant on, inclusive; ISO. */
  readonly since?: string | undefined;
  /** 1..100. */
  readonly pageSize: number;
  readonly pageToken?: string | undefined;
  readonly historyLength?: number | undefined;
  readonly artifacts: boolean;
  readonly maxHistory: number;
}

export type Listed =
  | { readonly kind: 'page'; readonly tasks: readonly Task[]; readonly next: string; readonly total: number }
  | { readonly kind: 'page-token-invalid' };

/** Bytes of an answer; a page may be shorter than asked (design §4, sizes). One task always fits. */
const MAX_PAGE_BYTES = 4_000_000;
/** Index entries that one page looks through at most, so that a rare filter does not cost a whole table. */
const MAX_LOOKED_THROUGH = 1_000;

/**
 * A page of a client's tasks, newest status first, then by id, descending. A task that changes moves to the front, so
 * behind a token no unchanged task is skipped or repeated. Lists may lag; they never show what was not committed (P2).
 * `total` counts the matches when the listing starts. A task whose content cannot be read is left out and counted as a
 * metric: one bad row hides no other.
 */
export async function listTasks(services: TaskServices, listing: Listing): Promise<Listed> {
  const scope = { client: listing.client, filters: filtersOf(listing) };
  let position: PagePosition | undefined;
  if (listing.pageToken) {
    position = await readPageToken(services, scope, listing.pageToken);
    if (!position) return { kind: 'page-token-invalid' };
  }
  const query = queryOf(listing);
  const [found, total] = await Promise.all([
    findPage(services, query, listing, position),
    position ? position.total : services.store.count(query),
  ]);
  const tasks: Task[] = [];
  let last = found.lookedAt;
  let more = found.more;
  let bytes = 0;
  for (const { task, view } of await openAll(services, found.views, listing)) {
    const size = task ? JSON.stringify(task).length : 0;
    if (tasks.length > 0 && bytes + size > MAX_PAGE_BYTES) {
      more = true;
      break;
    }
    bytes += size;
    last = view;
    if (task) tasks.push(task);
  }
  const next =
    more && last
      ? await writePageToken(services, scope, {
          order: keys.viewOrder(last.statusAt, last.task),
          task: last.task,
          total,
        })
      : '';
  return { kind: 'page', tasks, next, total };
}

function queryOf(listing: Listing): QueryInput {
  const filter: Condition[] = [];
  if (listing.state) filter.push({ attribute: 'state', is: '=', value: listing.state });
  if (listing.profile) filter.push({ attribute: 'profile', is: '=', value: listing.profile });
  return {
    table: 'view',
    ...(listing.context === undefined
      ? { index: 'client', partition: keys.viewOfClient(listing.client) }
      : { index: 'context', partition: keys.viewOfContext(listing.client, listing.context) }),
    ...(listing.since ? { sort: { from: timeKey(Date.parse(listing.since)) } } : {}),
    descending: true,
    ...(filter.length > 0 ? { filter } : {}),
  };
}

interface Found {
  readonly views: readonly View[];
  readonly more: boolean;
  /** The last index entry looked at, where a short page goes on. */
  readonly lookedAt?: View;
}

async function findPage(
  services: TaskServices,
  query: QueryInput,
  listing: Listing,
  position: PagePosition | undefined,
): Promise<Found> {
  const views: View[] = [];
  let after = position && startOf(listing, position);
  let lookedThrough = 0;
  for (;;) {
    const limit = listing.pageSize + 1 - views.length;
    const page = await services.store.query({ ...query, limit, ...(after ? { after } : {}) });
    views.push(...page.items.flatMap((item) => readable(services, item)));
    lookedThrough += limit;
    if (views.length > listing.pageSize) return { views: views.slice(0, listing.pageSize), more: true };
    if (!page.next) return { views, more: false };
    after = page.next;
    if (lookedThrough >= MAX_LOOKED_THROUGH) return { views, more: true, lookedAt: placeOf(after) };
  }
}

/** One entry that cannot be read hides no other. */
function readable(services: TaskServices, item: StoredItem): readonly View[] {
  try {
    return [viewOf(item)];
  } catch {
    leftOut(services, item.pk.slice(2));
    return [];
  }
}

function leftOut(services: TaskServices, task: string): void {
  services.metrics.count('TaskUnreadable');
  services.log.error('a task was left out of a list because it could not be read', { task });
}

function startOf(listing: Listing, position: PagePosition): Record<string, string> {
  const { pk, sk } = keys.view(position.task);
  return listing.context === undefined
    ? { pk, sk, gc: keys.viewOfClient(listing.client), go: position.order }
    : { pk, sk, gx: keys.viewOfContext(listing.client, listing.context), go: position.order };
}

/** Only what the token needs of the entry at which the search stopped. */
function placeOf(after: Readonly<Record<string, string>>): View {
  const [at, task] = String(after['go']).split('#') as [string, string];
  return { task, statusAt: Number(at) } as View;
}

async function openAll(
  services: TaskServices,
  views: readonly View[],
  listing: Listing,
): Promise<readonly { readonly view: View; readonly task?: Task }[]> {
  const heads = await services.store.getMany(
    views.map((view) => ({ table: 'state', key: keys.head(view.task) })),
  );
  return Promise.all(views.map((view, i) => openOne(services, heads[i], view, listing)));
}

async function openOne(services: TaskServices, item: StoredItem | undefined, view: View, listing: Listing) {
  if (!item) return { view };
  try {
    const head = liveHead(item);
    if (!head || head.client !== listing.client || (await isWithdrawn(services, head))) return { view };
    const task = await snapshot(services, head, view, {
      historyLength: listing.historyLength,
      artifacts: listing.artifacts,
      maxHistory: listing.maxHistory,
    });
    return task === 'withdrawn' ? { view } : { view, task };
  } catch (error) {
    // Not this row's fault: all that must be redacted would be missing from the list.
    if (error instanceof RedactionUnavailable) throw error;
    leftOut(services, view.task);
    return { view };
  }
}

function filtersOf(listing: Listing): Record<string, string | number | boolean | undefined> {
  return { profile: listing.profile, context: listing.context, state: listing.state, since: listing.since };
}
