import { nameOf } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import { DUE_AHEAD_MS } from '../tasks/commit.ts';
import { type Config, DEADLINE_MS, type Job, type JobEnd, jobOf } from './formats.ts';
import { readConfig } from './read-config.ts';
import type { OutboxMessage, OutboxServices } from './services.ts';
import { endJob, jobUpdate } from './standing.ts';

/** A held job is looked at this often: whoever resumed its config may not have lived to wake it. */
const HELD_MS = 15 * 60_000;

/** What a due job needs: an end, a worker, or to be looked at again at `at`, epoch ms. */
export type JobNeed =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'end'; readonly state: JobEnd }
  | { readonly kind: 'wake' | 'wait' | 'hold'; readonly at: number };

/** What is next for a due job. Pure. */
export function jobNeed(job: Job, config: Config | undefined, now: number): JobNeed {
  if (job.state !== 'open') return { kind: 'nothing' };
  if (!config || config.state === 'stopped') return { kind: 'end', state: 'superseded' };
  // Behind the config's progress: made anew by a rebuild, after its time.
  if (!job.retry && job.revision < config.revision) return { kind: 'end', state: 'superseded' };
  if (config.state === 'paused') {
    if (now >= job.deadline) return { kind: 'end', state: 'expired' };
    return { kind: 'hold', at: Math.min(job.deadline, now + HELD_MS) };
  }
  const { notBefore = 0 } = job.retry?.standing ?? config.standing;
  const ahead = now + DUE_AHEAD_MS;
  return notBefore > now ? { kind: 'wait', at: Math.max(ahead, notBefore) } : { kind: 'wake', at: ahead };
}

/** Wakes what no queue message wakes any more and ends what has nobody to end it; measures the backlog. */
export async function sweepOutbox(services: OutboxServices, deadline: number): Promise<void> {
  const woken = new Set<string>();
  let due = 0;
  let oldest = services.clock.now();
  const look = async (partition: string, after?: Readonly<Record<string, string>>): Promise<boolean> => {
    if (services.clock.now() >= deadline) return false;
    const page = await services.store.query({
      table: 'outbox',
      index: 'due',
      partition,
      sort: { to: keys.dueAt(services.clock.now()) },
      limit: 100,
      ...(after ? { after } : {}),
    });
    for (const { pk, sk } of page.items) {
      const swept = await sweepOne(services, { pk, sk }, woken);
      // Held jobs wait for a person, not for a worker.
      if (!swept || swept.need.kind === 'hold') continue;
      due++;
      oldest = Math.min(oldest, swept.job.deadline - DEADLINE_MS);
    }
    return page.next ? look(partition, page.next) : true;
  };
  for (const partition of keys.dueShards()) if (!(await look(partition))) break;
  // Also of a sweep that its time ends early: then more than ever.
  services.metrics.count('PushJobsDue', due);
  services.metrics.milliseconds('PushOldestDue', services.clock.now() - oldest);
}

/** One due entry; a failure of one holds up no other. */
async function sweepOne(
  services: OutboxServices,
  key: { readonly pk: string; readonly sk: string },
  woken: Set<string>,
): Promise<{ readonly job: Job; readonly need: JobNeed } | undefined> {
  try {
    const found = await judge(services, key);
    if (!found) return undefined;
    const { job, need } = found;
    if (need.kind === 'nothing') return undefined;
    if (need.kind === 'end') {
      await end(services, job, need.state);
      return undefined;
    }
    const { task, config, revision, retry } = job;
    const worker = [task, config, retry?.id].join('#');
    // One worker goes through all that its config has due.
    if (need.kind === 'wake' && !woken.has(worker)) {
      await services.outboxQueue.send({
        task,
        config,
        ...(retry ? { retry: { id: retry.id, revision } } : {}),
      });
      woken.add(worker);
    }
    const rekey = jobUpdate(job, { set: { da: keys.dueAt(need.at) } });
    const same = { attribute: 'da', is: '=', value: job.due ?? '' } as const;
    await services.store.write({ ...rekey, when: [...rekey.when, same] });
    return found;
  } catch (error) {
    services.metrics.count('SweepFailed');
    services.log.error('a due job could not be moved on', { task: key.pk.slice(2), error: nameOf(error) });
    return undefined;
  }
}

/**
 * What came out of the outbox queue's dead letters: a delivery that failed again and again by a fault of ours. Its job
 * stands in the due index, so nothing is lost and it is tried again; one that is over is ended here. Either way the
 * fault is made visible.
 */
export async function settleDeadLetter(services: OutboxServices, message: OutboxMessage): Promise<void> {
  const { task, config: id, retry } = message;
  services.metrics.count('PushDeadLettered');
  services.log.error('a delivery ran out of retries', { task, config: id });
  const revision = retry?.revision ?? (await readConfig(services, task, id))?.revision;
  if (revision === undefined) return;
  const key = retry ? keys.pushRetry(task, id, revision, retry.id) : keys.pushJob(task, id, revision);
  const found = await judge(services, key);
  if (found?.need.kind === 'end') await end(services, found.job, found.need.state);
}

async function judge(
  services: OutboxServices,
  key: { readonly pk: string; readonly sk: string },
): Promise<{ readonly job: Job; readonly need: JobNeed } | undefined> {
  const item = await services.store.get('outbox', key, { consistent: true });
  if (!item) return undefined;
  const job = jobOf(item);
  const config = await readConfig(services, job.task, job.config);
  return { job, need: jobNeed(job, config, services.clock.now()) };
}

async function end(services: OutboxServices, job: Job, state: JobEnd): Promise<void> {
  await services.store.write(endJob(job, state, services.clock.now()));
  services.metrics.count('PushJobEnded', 1, { state });
}
