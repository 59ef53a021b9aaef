import { wakeDependencies } from '../delegation/wake.ts';
import { project } from '../journal/project.ts';
import { hasRemains, removeRemains } from '../retention/index.ts';
import { keys } from '../storage/keys.ts';
import type { StoredItem } from '../storage/port.ts';
import { DUE_AHEAD_MS } from '../tasks/commit.ts';
import { type Head, liveHead } from '../tasks/formats.ts';
import { readHeadAndView, readRevisions } from '../tasks/read-head.ts';
import type { StateServices } from '../tasks/services.ts';
import { needOf } from './decide.ts';
import type { FollowOneServices } from './follow.ts';
import { nameOf, recover } from './recover.ts';

/** What an operator sees of a task: states, revisions, sizes and times; no content (P10). Times are ISO, UTC. */
export async function showTask(services: StateServices, task: string): Promise<object | undefined> {
  const { head, view } = await readHeadAndView(services, task);
  if (!head) return undefined;
  const revisions = await readRevisions(services, task, 1, head.revision);
  return {
    id: head.task,
    client: head.client,
    context: head.context,
    profile: head.profile,
    state: head.state,
    reason: head.reason,
    createdAt: iso(head.createdAt),
    statusAt: iso(head.statusAt),
    revision: head.revision,
    viewRevision: view?.revision ?? 0,
    run: head.run,
    attempts: head.attempts,
    maxAttempts: head.maxAttempts,
    leaseUntil: iso(head.lease?.until),
    deadline: iso(head.deadline),
    due: iso(head.due === undefined ? undefined : Number(head.due)),
    ceiling: head.ceiling,
    tried: head.tried,
    contentRemoved: head.salt === undefined,
    revisions: revisions.map((revision) => ({
      revision: revision.revision,
      state: revision.state,
      at: iso(revision.statusAt),
      reason: revision.reason,
      messageSlices: revision.message?.slices,
      artifacts: revision.result?.artifacts,
      resultSlices: revision.result?.slices,
    })),
  };
}

/**
 * Recreates view and journal from the committed state (design §4, projection). Entries go before the view: while the
 * view stands nobody publishes anew, and once it is gone whoever is first starts from revision 1.
 */
export async function rebuildTask(services: StateServices, task: string): Promise<object | undefined> {
  const { head } = await readHeadAndView(services, task);
  if (!head) return undefined;
  let after: Readonly<Record<string, string>> | undefined;
  do {
    const page = await services.store.query({
      table: 'view',
      partition: keys.view(task).pk,
      sort: { prefix: keys.journalPrefix },
      consistent: true,
      ...(after ? { after } : {}),
    });
    for (const { pk, sk } of page.items) {
      await services.store.write({ kind: 'delete', table: 'view', key: { pk, sk } });
    }
    after = page.next;
  } while (after);
  // The tombstone of a task that was purged meanwhile stays: it is what keeps a late projector from publishing anew.
  await services.store.write({
    kind: 'delete',
    table: 'view',
    key: keys.view(task),
    when: [{ attribute: 'gone', is: 'absent' }],
  });
  const { view } = await project(services, task);
  return { id: task, revision: head.revision, viewRevision: view?.revision ?? 0 };
}

/** What a repair did. */
export interface Repaired {
  readonly tasks: number;
  readonly queued: number;
  readonly ended: number;
  readonly projected: number;
  readonly rekeyed: number;
  readonly failed: number;
}

/**
 * Does for every task what a lost queue, a restored table or a stopped host left undone (design §4, queue messages):
 * queues runnable runs, ends those past their limits, catches views up, wakes webhooks, sets missing due entries. Reads the whole state
 * table. Harmless to repeat, and beside running functions.
 */
export async function repairAll(services: FollowOneServices): Promise<Repaired> {
  const repaired = { tasks: 0, queued: 0, ended: 0, projected: 0, rekeyed: 0, failed: 0 };
  let after: Readonly<Record<string, string>> | undefined;
  do {
    const page = await services.store.scan('state', after);
    for (const item of page.items) {
      if (item.sk !== keys.head('').sk) continue;
      repaired.tasks++;
      try {
        await repairOne(services, item, repaired);
      } catch (error) {
        repaired.failed++;
        services.log.error('a task could not be repaired', { task: item.pk.slice(2), error: nameOf(error) });
      }
    }
    after = page.next;
  } while (after);
  return repaired;
}

async function repairOne(
  services: FollowOneServices,
  item: StoredItem,
  repaired: { -readonly [K in keyof Repaired]: number },
): Promise<void> {
  const head = liveHead(item);
  if (!head) {
    if (hasRemains(item)) await removeRemains(services, item.pk.slice(2));
    return;
  }
  const need = await recover(services, head);
  if (need.kind === 'execute') repaired.queued++;
  if (need.kind === 'end') repaired.ended++;
  const { view } = await readHeadAndView(services, head.task);
  if ((view?.revision ?? 0) < head.revision) {
    await project(services, head.task);
    repaired.projected++;
  }
  if (head.turns > 0) await wakeDependencies(services, head.task);
  for (const config of head.configs) await services.outboxQueue.send({ task: head.task, config: config.id });
  if (need.kind === 'purge') return;
  if (need.kind !== 'end' && head.due === undefined) {
    await setDue(services, head);
    repaired.rekeyed++;
  }
}

async function setDue(services: StateServices, head: Head): Promise<void> {
  const need = needOf(head, services.clock.now());
  const at = need.kind === 'wait' ? need.until : services.clock.now() + DUE_AHEAD_MS;
  await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: { set: { ds: keys.dueShard(head.task), da: keys.dueAt(at) } },
    when: [
      { attribute: 'rev', is: '=', value: head.revision },
      { attribute: 'da', is: 'absent' },
    ],
  });
}

function iso(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
