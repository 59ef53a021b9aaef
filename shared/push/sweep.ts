import { nameOf } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import { DUE_AHEAD_MS } from '../tasks/commit.ts';
import { type Config, configOf, DEADLINE_MS, type Job, type JobState, jobOf } from './formats.ts';
import { readConfig } from './read-config.ts';
import type { OutboxMessage, OutboxServices } from './services.ts';
import { endJob } from './settle.ts';

/** What is next for a due job. Pure. */
export function jobNeed(
  job: Job,
  config: Config | undefined,
  now: number,
): { readonly end: JobState } | { readonly wake: boolean; readonly at: number } | 'nothing' {
  if (job.state !== 'open') return 'nothing';
  if (!config || config.state === 'stopped') return { end: 'superseded' };
  const ahead = now + DUE_AHEAD_MS;
  if (config.state === 'paused') {
    // Held until someone resumes it; a job whose time passed meanwhile is over.
    return now >= job.deadline ? { end: 'expired' } : { wake: false, at: job.deadline };
  }
  // Behind the config's progress it can only be a job whose end was not written.
  if (!job.retry && job.revision < config.progress.revision) return { end: 'superseded' };
  return { wake: true, at: Math.max(ahead, config.notBefore ?? 0) };
}

/** Wakes what no queue message wakes any more and ends what has nobody to end it; measures the backlog. */
export async function sweepOutbox(services: OutboxServices, deadline: number): Promise<void> {
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
      due++;
      const job = await sweepOne(services, { pk, sk });
      if (job) oldest = Math.min(oldest, job.deadline - DEADLINE_MS);
    }
    return page.next ? look(partition, page.next) : true;
  };
  for (const partition of keys.dueShards()) if (!(await look(partition))) break;
  // Also of a sweep that its time ends early: then more than ever.
  services.metrics.count('PushJobsDue', due);
  services.metrics.milliseconds('PushOldestDue', services.clock.now() - oldest);
}

/**
 * What came out of the outbox queue's dead letters: a delivery that failed again and again by a fault of ours. Its job
 * stands in the due index, so nothing is lost; one that is over is ended here, and the fault is made visible.
 */
export async function settleDeadLetter(services: OutboxServices, message: OutboxMessage): Promise<void> {
  const { task, config: id, retry } = message;
  services.metrics.count('PushDeadLettered');
  services.log.error('a delivery ran out of retries', { task, config: id });
  const config = await readConfig(services, task, id);
  if (!config && !retry) return;
  const revision = retry ? retry.revision : config!.progress.revision;
  await sweepOne(
    services,
    retry ? keys.pushRetry(task, id, revision, retry.id) : keys.pushJob(task, id, revision),
    'quietly',
  );
}

async function sweepOne(
  services: OutboxServices,
  key: { readonly pk: string; readonly sk: string },
  how: 'waking' | 'quietly' = 'waking',
): Promise<Job | undefined> {
  try {
    const item = await services.store.get('outbox', key, { consistent: true });
    if (!item) return undefined;
    const job = jobOf(item);
    const found = await services.store.get('outbox', keys.pushConfig(job.task, job.config), {
      consistent: true,
    });
    const now = services.clock.now();
    const need = jobNeed(job, found && configOf(found), now);
    if (need === 'nothing') return undefined;
    if ('end' in need) {
      await services.store.write(endJob(job, need.end, now));
      services.metrics.count('PushJobEnded', 1, { state: need.end });
      return undefined;
    }
    if (how === 'quietly') return job;
    if (need.wake) {
      const { task, config, revision, retry } = job;
      await services.outboxQueue.send({
        task,
        config,
        ...(retry ? { retry: { id: retry.id, revision } } : {}),
      });
    }
    await services.store.write({
      kind: 'update',
      table: 'outbox',
      key,
      changes: { set: { da: keys.dueAt(need.at) } },
      when: [
        { attribute: 'state', is: '=', value: 'open' },
        { attribute: 'da', is: '=', value: job.due ?? '' },
      ],
    });
    return job;
  } catch (error) {
    services.metrics.count('SweepFailed');
    services.log.error('a due job could not be moved on', { task: key.pk.slice(2), error: nameOf(error) });
    return undefined;
  }
}
