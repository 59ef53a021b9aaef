import { answerLevels, CACHE_MS, isRetainable } from '../registry/index.ts';
import { purgeTask } from '../retention/purge.ts';
import { needOf } from '../runs/decide.ts';
import { endRun, nameOf } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import type { Value } from '../storage/port.ts';
import { countHeads, type HeadCursor, headsFrom } from '../tasks/all-heads.ts';
import { given, type Head, headOf, liveHead } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';
import { rewriteRedacted } from './rewrite.ts';

/** The longest life of a function, ms: so long may one go on that read an older level. */
const FUNCTION_LIFE_MS = 15 * 60_000;
const FORMAT = 1;

/** What a tightening did so far (design §7, an administrator's tightening). Times are epoch ms. */
export interface CeilingJob {
  readonly startedAt: number;
  /** 1: first look; 2: second look, at what was created by functions that still knew the older level. */
  readonly pass: 1 | 2;
  /** Not before this. */
  readonly from: number;
  readonly cursor?: HeadCursor;
  readonly total: number;
  readonly looked: number;
  readonly lowered: number;
  readonly redacted: number;
  readonly ended: number;
  readonly purged: number;
  readonly failed: number;
  readonly doneAt?: number;
}

/** Starts the job, or starts it anew: a level changed. Reads and deliveries follow within the registry's cache time. */
export async function startCeilingJob(services: Pick<TaskServices, 'store' | 'clock'>): Promise<CeilingJob> {
  const now = services.clock.now();
  const job: CeilingJob = {
    startedAt: now,
    pass: 1,
    from: now + CACHE_MS,
    total: await countHeads(services),
    ...{ looked: 0, lowered: 0, redacted: 0, ended: 0, purged: 0, failed: 0 },
  };
  await services.store.write({ kind: 'put', table: 'registry', item: jobItem(job) });
  return job;
}

export async function readCeilingJob(services: Pick<TaskServices, 'store'>): Promise<CeilingJob | undefined> {
  const item = await services.store.get('registry', keys.ceilingJob(), { consistent: true });
  return item && (item['job'] as unknown as CeilingJob);
}

/**
 * Goes on with the job until `until` (epoch ms): lowers the ceiling of every task that was accepted under a looser one,
 * so that a completion in flight loses its condition; ends runs whose result may not be kept, purges finished tasks that
 * may not be kept any more, rewrites those that must be redacted. Resumable at each page; one task's failure holds up no
 * other and is looked at again in the second pass.
 */
export async function runCeilingJob(services: TaskServices, until: number): Promise<CeilingJob | undefined> {
  let job = await readCeilingJob(services);
  while (
    job &&
    job.doneAt === undefined &&
    services.clock.now() >= job.from &&
    services.clock.now() < until
  ) {
    const next = await onePage(services, job);
    if (!(await save(services, job, next))) return readCeilingJob(services);
    job = next;
  }
  return job;
}

async function onePage(services: TaskServices, job: CeilingJob): Promise<CeilingJob> {
  const { heads, next } = await headsFrom(services, job.cursor);
  const counts = { looked: 0, lowered: 0, redacted: 0, ended: 0, purged: 0, failed: 0 };
  for (const head of heads) {
    counts.looked++;
    try {
      const did = await applyCeiling(services, head);
      if (did !== 'nothing') counts[did]++;
    } catch (error) {
      counts.failed++;
      services.metrics.count('CeilingFailed');
      services.log.error('a ceiling could not be applied', { task: head.task, error: nameOf(error) });
    }
  }
  const { cursor: _, ...rest } = job;
  const summed = Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [name, job[name as keyof typeof counts] + count]),
  ) as typeof counts;
  const now = services.clock.now();
  if (next) return { ...rest, ...summed, cursor: next };
  if (job.pass === 1) return { ...rest, ...summed, pass: 2, from: now + CACHE_MS + FUNCTION_LIFE_MS };
  return { ...rest, ...summed, doneAt: now };
}

export type CeilingDeed = 'nothing' | 'lowered' | 'redacted' | 'ended' | 'purged';

/** Brings one task to the level in force. */
export async function applyCeiling(services: TaskServices, found: Head): Promise<CeilingDeed> {
  for (let head: Head | undefined = found, tries = 0; head && tries < 8; tries++) {
    const level = await services.privacy.levelOf(head);
    const stored = head.form === 'redacted' ? 'redacted' : 'full';
    if (level === head.ceiling && (level !== 'redacted' || stored === 'redacted')) return 'nothing';
    if (head.run === 'ended' && !isRetainable(level)) {
      await purgeTask(services, head.task);
      return 'purged';
    }
    const lowered: Head | undefined = level === head.ceiling ? head : await lower(services, head, level);
    if (lowered && !isRetainable(level)) return endUnkept(services, lowered);
    if (lowered && (level === 'full' || lowered.form === 'redacted')) return 'lowered';
    if (lowered && (await rewriteRedacted(services, lowered))) return 'redacted';
    head = await readHead(services, found.task);
  }
  return 'nothing';
}

/** How many tasks a change of levels would touch; `services.privacy` knows the levels as they would be. */
export async function countTouched(
  services: Pick<TaskServices, 'store' | 'privacy'>,
  cursor: HeadCursor | undefined,
): Promise<{ readonly looked: number; readonly touched: number; readonly next?: HeadCursor }> {
  const { heads, next } = await headsFrom(services, cursor);
  let touched = 0;
  for (const head of heads) {
    const level = await services.privacy.levelOf(head);
    if (answerLevels.indexOf(level) > answerLevels.indexOf(head.ceiling)) touched++;
  }
  return { looked: heads.length, touched, ...given({ next }) };
}

async function lower(services: TaskServices, head: Head, level: Head['ceiling']): Promise<Head | undefined> {
  const outcome = await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: { set: { ceiling: level } },
    when: [
      { attribute: 'rev', is: '=', value: head.revision },
      { attribute: 'ceiling', is: '=', value: head.ceiling },
      { attribute: 'copy', is: '=', value: head.copy },
    ],
  });
  if (outcome.kind === 'done') return outcome.item && headOf(outcome.item);
  const found = liveHead(outcome.items[0]);
  return found?.revision === head.revision && found.ceiling === level ? found : undefined;
}

/** An unfinished run whose result could not be kept. One that an executor holds is ended by it, at its completion. */
async function endUnkept(services: TaskServices, head: Head): Promise<CeilingDeed> {
  const need = needOf(head, services.clock.now());
  if (head.run === 'running' && need.kind === 'wait') return 'lowered';
  return (await endRun(services, head, 'RESULT_NOT_RETAINED')) ? 'ended' : 'lowered';
}

function jobItem(job: CeilingJob) {
  return { ...keys.ceilingJob(), v: FORMAT, started: job.startedAt, job: job as unknown as Value };
}

/** `false`: the job was started anew meanwhile. */
async function save(services: TaskServices, before: CeilingJob, job: CeilingJob): Promise<boolean> {
  const outcome = await services.store.write({
    kind: 'put',
    table: 'registry',
    item: jobItem(job),
    when: [{ attribute: 'started', is: '=', value: before.startedAt }],
  });
  return outcome.kind === 'done';
}
