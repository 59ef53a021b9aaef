import { isDeepStrictEqual } from 'node:util';
import { CACHE_MS, type Floor, floorsOf, type Tightened } from '../registry/index.ts';
import { nameOf } from '../runs/recover.ts';
import type { Random } from '../runtime/ports.ts';
import { keys } from '../storage/keys.ts';
import type { Action, Condition, Value } from '../storage/port.ts';
import { countHeads, type HeadCursor, visitHeads } from '../tasks/all-heads.ts';
import type { TaskServices } from '../tasks/services.ts';
import { applyCeiling, type CeilingDeed } from './apply.ts';

/** The longest life of a function, ms: so long may one go on that read an older level. */
const FUNCTION_LIFE_MS = 15 * 60_000;
/** Passes that every task is looked at in: the second finds what functions made that still knew the older level. */
const LEAST_PASSES = 2;
const FORMAT = 1;

/** What a tightening did so far (design §7, an administrator's tightening). Times are epoch ms. */
export interface CeilingJob {
  readonly id: string;
  /** Counts what was saved of the job: of two that run it at once, one stops. */
  readonly step: number;
  readonly startedAt: number;
  /** From 1. */
  readonly pass: number;
  /** Not before this. */
  readonly from: number;
  readonly cursor?: HeadCursor;
  /** Tasks there were at its start, about; absent: not counted yet. */
  readonly total?: number;
  /** In this pass. */
  readonly looked: number;
  /** In this pass: tasks that could not be brought to their level. While there are any, another pass follows. */
  readonly failed: number;
  readonly lowered: number;
  readonly redacted: number;
  readonly ended: number;
  readonly purged: number;
  /** What was tightened and is not on every head yet; of several that follow each other, all. */
  readonly floors: readonly Floor[];
  readonly doneAt?: number;
}

/**
 * The put that starts the job, or starts it anew with what an unfinished one had to apply; to be part of the transaction
 * that tightens a level, so that neither is without the other, and conditioned on the job as it stands. The job begins
 * when reads and deliveries know of the change.
 */
export async function startOfCeilingJob(
  services: Pick<TaskServices, 'store'> & {
    readonly clock: { now(): number };
    readonly random: Pick<Random, 'uuid'>;
  },
  tightened: Tightened,
): Promise<Extract<Action, { kind: 'put' }>> {
  const before = await readCeilingJob(services);
  const now = services.clock.now();
  const counts = { looked: 0, failed: 0, lowered: 0, redacted: 0, ended: 0, purged: 0 };
  const floor: Floor = { ...tightened, at: now };
  const others = floorsOf(before).filter((other) => !isSame(other, floor));
  const job: CeilingJob = {
    ...{ id: services.random.uuid(), step: 0, startedAt: now, pass: 1, from: now + CACHE_MS },
    ...counts,
    floors: [...others, floor],
  };
  const same: Condition = before
    ? { attribute: 'id', is: '=', value: before.id }
    : { attribute: 'pk', is: 'absent' };
  return { ...putJob(job), when: [same] };
}

/** The later of two equal ones holds for more tasks. */
function isSame(one: Floor, other: Floor): boolean {
  const { at: _, ...a } = one;
  const { at: __, ...b } = other;
  return isDeepStrictEqual(a, b);
}

/** When the level before the last tightening is known to no read and no delivery any more, epoch ms. */
export async function tighteningInForceAt(
  services: Pick<TaskServices, 'store'>,
): Promise<number | undefined> {
  const job = await readCeilingJob(services);
  return job && job.startedAt + CACHE_MS;
}

export async function readCeilingJob(services: Pick<TaskServices, 'store'>): Promise<CeilingJob | undefined> {
  const item = await services.store.get('registry', keys.ceilingJob(), { consistent: true });
  const job = item && (item['job'] as unknown as CeilingJob);
  return job && { ...job, floors: floorsOf(job) };
}

/**
 * Goes on with the job until `until` (epoch ms): brings every task to the level in force, pass by pass. Resumable at each
 * page; of two runners one stops. A task that fails holds up no other and is looked at again in the next pass: a redactor
 * that is away for an hour delays the job's end, and nothing unredacted is shown meanwhile.
 */
export async function runCeilingJob(services: TaskServices, until: number): Promise<CeilingJob | undefined> {
  let job = await readCeilingJob(services);
  while (
    job &&
    job.doneAt === undefined &&
    services.clock.now() >= job.from &&
    services.clock.now() < until
  ) {
    const next: CeilingJob =
      job.total === undefined
        ? { ...job, total: await countHeads(services) }
        : await onePage(services, job, until);
    const saved = { ...next, step: job.step + 1 };
    const outcome = await services.store.write({
      ...putJob(saved),
      when: [
        { attribute: 'id', is: '=', value: job.id },
        { attribute: 'step', is: '=', value: job.step },
      ],
    });
    if (outcome.kind === 'refused') return readCeilingJob(services);
    job = saved;
  }
  return job;
}

async function onePage(services: TaskServices, job: CeilingJob, until: number): Promise<CeilingJob> {
  const { cursor: before, ...rest } = job;
  const counts = {
    ...{ looked: job.looked, failed: job.failed, lowered: job.lowered },
    ...{ redacted: job.redacted, ended: job.ended, purged: job.purged },
  };
  const cursor = await visitHeads(services, before, until, async (head) => {
    counts.looked++;
    try {
      const deed: CeilingDeed = await applyCeiling(services, head);
      if (deed !== 'nothing') counts[deed]++;
    } catch (error) {
      counts.failed++;
      services.metrics.count('CeilingFailed');
      services.log.error('a ceiling could not be applied', { task: head.task, error: nameOf(error) });
    }
  });
  if (cursor) return { ...rest, ...counts, cursor };
  const now = services.clock.now();
  if (job.pass >= LEAST_PASSES && counts.failed === 0) {
    return { ...rest, ...counts, floors: [], doneAt: now };
  }
  const from = now + CACHE_MS + FUNCTION_LIFE_MS;
  return { ...rest, ...counts, pass: job.pass + 1, from, looked: 0, failed: 0 };
}

function putJob(job: CeilingJob): Extract<Action, { kind: 'put' }> {
  const item = { ...keys.ceilingJob(), v: FORMAT, id: job.id, step: job.step, job: job as unknown as Value };
  return { kind: 'put', table: 'registry', item };
}
