import { project } from '../journal/project.ts';
import { purgeTask, removeRemains } from '../retention/index.ts';
import type { RunMessage, WorkQueue } from '../runtime/ports.ts';
import { keys } from '../storage/keys.ts';
import { commit, DUE_AHEAD_MS } from '../tasks/commit.ts';
import { type Head, liveHead, type Reason } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { StateServices } from '../tasks/services.ts';
import { type Need, needOf } from './decide.ts';

export interface RecoveryServices extends StateServices {
  readonly runQueue: WorkQueue<RunMessage>;
}

/** Ends a run of which nothing more can come, on the condition that it still is the one that was read (P5, P6). */
export async function endRun(services: StateServices, head: Head, reason: Reason): Promise<boolean> {
  const committed = await commit(services, head, { state: 'TASK_STATE_FAILED', run: 'ended', reason }, [
    { attribute: 'run', is: '=', value: head.run },
    { attribute: 'attempts', is: '=', value: head.attempts },
    head.lease
      ? { attribute: 'until', is: '=', value: head.lease.until }
      : { attribute: 'lease', is: 'absent' },
  ]);
  if (committed.kind === 'refused') return false;
  services.metrics.count('TaskEnded', 1, { state: 'TASK_STATE_FAILED', reason });
  await projectQuietly(services, head.task);
  return true;
}

/** Does for one run what it needs: ends it, queues it, or lets it be. Returns what it found. */
export async function recover(services: RecoveryServices, head: Head): Promise<Need> {
  const need = needOf(head, services.clock.now());
  if (need.kind === 'execute') await services.runQueue.send({ task: head.task });
  if (need.kind === 'end') await endRun(services, head, need.reason);
  if (need.kind === 'purge') {
    await purgeTask(services, head.task, (now) => needOf(now, services.clock.now()).kind === 'purge');
  }
  return need;
}

/**
 * What came out of the run queue's dead letters: ends the run if it is runnable, its lease dead and its attempts spent
 * or its deadline past; else queues it again (design §5).
 */
export async function recoverDeadLetter(services: RecoveryServices, task: string): Promise<Need | undefined> {
  const head = await readHead(services, task);
  if (!head) return undefined;
  services.metrics.count('RunDeadLettered');
  const need = await recover(services, head);
  // The executor that holds it may be the last one that knows of it: ask again when its lease would be dead.
  if (need.kind === 'wait' && head.run === 'running') {
    const delay = Math.ceil((need.until - services.clock.now()) / 1000) + 1;
    await services.runQueue.send({ task }, Math.max(1, Math.min(900, delay)));
  }
  return need;
}

/** Entries that one sweep of a shard looks at; what is left is due at the next sweep. */
const SWEEP_PAGE = 100;

export interface Swept {
  readonly looked: number;
  readonly queued: number;
  readonly ended: number;
  readonly purged: number;
}

/** Goes through all due entries and moves each on: the net under queue, lease and person (P6). */
export async function sweep(services: RecoveryServices, deadline: number): Promise<Swept> {
  const swept = { looked: 0, queued: 0, ended: 0, purged: 0 };
  for (const partition of keys.dueShards()) {
    let after: Readonly<Record<string, string>> | undefined;
    do {
      if (services.clock.now() >= deadline) return swept;
      const page = await services.store.query({
        table: 'state',
        index: 'due',
        partition,
        sort: { to: keys.dueAt(services.clock.now()) },
        limit: SWEEP_PAGE,
        ...(after ? { after } : {}),
      });
      for (const item of page.items) {
        if (services.clock.now() >= deadline) return swept;
        const need = await sweepOne(services, item.pk.slice(2), String(item['da']));
        swept.looked++;
        if (need?.kind === 'execute') swept.queued++;
        if (need?.kind === 'end') swept.ended++;
        if (need?.kind === 'purge') swept.purged++;
      }
      after = page.next;
    } while (after);
  }
  return swept;
}

/** One due entry; a failure of one holds up no other. */
async function sweepOne(services: RecoveryServices, task: string, due: string): Promise<Need | undefined> {
  try {
    const item = await services.store.get('state', keys.head(task), { consistent: true });
    // The index lags: an entry that was moved since is not this one any more.
    if (item?.['da'] !== due) return undefined;
    const head = liveHead(item);
    if (!head) {
      await removeRemains(services, task);
      return undefined;
    }
    const need = await recover(services, head);
    if (need.kind === 'purge') return need;
    await projectQuietly(services, task);
    if (need.kind !== 'end') await rekey(services, head, need);
    return need;
  } catch (error) {
    services.metrics.count('SweepFailed');
    services.log.error('a due task could not be moved on', { task, error: nameOf(error) });
    return undefined;
  }
}

/** What waits for a person or for its last day is looked at then; what is being executed, again in a minute. */
async function rekey(services: StateServices, head: Head, need: Need): Promise<void> {
  const rests = need.kind === 'wait' && head.run !== 'running';
  const at = rests ? need.until : services.clock.now() + DUE_AHEAD_MS;
  await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: { set: { ds: keys.dueShard(head.task), da: keys.dueAt(at) } },
    when: [
      { attribute: 'rev', is: '=', value: head.revision },
      { attribute: 'da', is: '=', value: head.due ?? '' },
    ],
  });
}

/** Best effort after a commit: the stream is the guarantee (design §4). */
export async function projectQuietly(services: StateServices, task: string): Promise<void> {
  try {
    await project(services, task);
  } catch (error) {
    services.metrics.count('ProjectionLate');
    services.log.warn('a projection is left to the stream', { task, error: nameOf(error) });
  }
}

/**
 * The class of an error for a log line, with its reason where it has a word for one; its text may hold what must not be
 * there (P10).
 */
export function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { tag, reason } = error as { readonly tag?: unknown; readonly reason?: unknown };
  const name = typeof tag === 'string' ? tag : error.name;
  return typeof reason === 'string' && /^[a-z-]{1,40}$/.test(reason) ? `${name} (${reason})` : name;
}
