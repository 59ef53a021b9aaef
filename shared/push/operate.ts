import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import { DUE_AHEAD_MS } from '../tasks/commit.ts';
import type { StateServices } from '../tasks/services.ts';
import { type Config, configOf, DEADLINE_MS, type Job, jobItem, jobOf, UNTRIED } from './formats.ts';
import { readConfig } from './read-config.ts';
import type { OutboxServices } from './services.ts';

/** What an operator sees of a config: no URL, no token, no credential (P10). Times are ISO, UTC. */
export interface ShownConfig {
  /** `<task>/<id>`; the id is internal, the client's own name for it is sealed. */
  readonly config: string;
  readonly client: string;
  readonly state: string;
  readonly reason?: string;
  readonly since?: string;
  readonly createdAt: string;
  readonly next: string;
  readonly attempts: number;
  readonly notBefore?: string;
}

/** Configs in halted states, newest first, at most 200 of each. */
export async function listHalted(
  services: Pick<StateServices, 'store'>,
  states: readonly ('paused' | 'stopped')[],
): Promise<ShownConfig[]> {
  const shown: ShownConfig[] = [];
  for (const state of states) {
    const page = await services.store.query({
      table: 'outbox',
      index: 'halted',
      partition: keys.halted(state),
      descending: true,
      limit: 200,
    });
    const items = await services.store.getMany(
      page.items.map(({ pk, sk }) => ({ table: 'outbox' as const, key: { pk, sk } })),
    );
    for (const item of items) if (item && item['state'] === state) shown.push(show(configOf(item)));
  }
  return shown.sort((a, b) => ((a.since ?? '') < (b.since ?? '') ? 1 : -1));
}

/** Configs of one task. */
export async function listOfTask(
  services: Pick<StateServices, 'store'>,
  task: string,
): Promise<ShownConfig[]> {
  const page = await services.store.query({
    table: 'outbox',
    partition: keys.pushConfig(task, '').pk,
    sort: { prefix: keys.pushConfigPrefix },
    consistent: true,
  });
  return page.items.map((item) => show(configOf(item)));
}

/**
 * One config with its jobs and their attempts, oldest first. An attempt that delivered is shown where it was its job's
 * last; of artifact updates before that only those that did not deliver.
 */
export async function showConfig(
  services: Pick<StateServices, 'store'>,
  task: string,
  config: string,
): Promise<object | undefined> {
  const found = await readConfig(services, task, config);
  if (!found) return undefined;
  const under = async (prefix: string) => {
    const partition = keys.pushConfig(task, config).pk;
    const page = await services.store.query({
      table: 'outbox',
      partition,
      sort: { prefix },
      consistent: true,
    });
    return page.items;
  };
  const items = [
    ...(await under(keys.pushJobPrefix(config))),
    ...(await under(keys.pushRetryPrefix(config))),
  ];
  const jobs = items.map(jobOf);
  const noted = (await under(keys.pushAttemptPrefix(config))).map(({ sk, ...note }) => ({
    at: Number(sk.split('#')[2]),
    event: `${note['rev']}.${note['index']}`,
    number: Number(note['number']),
    class: String(note['class']),
    status: note['status'] as number | undefined,
    milliseconds: Number(note['ms']),
  }));
  const delivered = jobs.flatMap(({ revision, delivery }) =>
    delivery
      ? [
          {
            at: delivery.at,
            event: `${revision}.${delivery.index}`,
            number: delivery.number,
            class: '2xx',
            status: delivery.status,
            milliseconds: delivery.ms,
          },
        ]
      : [],
  );
  return {
    ...show(found),
    jobs: jobs.map((job) => ({
      job: jobName(job),
      revision: job.revision,
      state: job.state,
      deadline: iso(job.deadline),
      endedAt: iso(job.endedAt),
    })),
    attempts: [...noted, ...delivered]
      .sort((a, b) => a.at - b.at)
      .map((attempt) => ({ ...attempt, at: iso(attempt.at) })),
  };
}

export type Resumption = 'resumed' | 'active' | 'stopped' | 'unknown';

/**
 * Makes a paused config active again; what is held and within its deadline is delivered, in order. The event that was
 * refused has what is left of its eight attempts, also where it was to have a single one. `audit` is written with it, and
 * with nothing else.
 */
export async function resumeConfig(
  services: OutboxServices,
  task: string,
  id: string,
  audit: Action,
): Promise<Resumption> {
  const config = await readConfig(services, task, id);
  if (!config) return 'unknown';
  if (config.state !== 'paused') return config.state;
  const resume: Action = {
    kind: 'update',
    table: 'outbox',
    key: keys.pushConfig(task, id),
    changes: {
      set: { state: 'active', generation: config.generation + 1, single: false },
      remove: ['reason', 'halted', 'hs', 'ha', 'notBefore'],
    },
    when: [
      { attribute: 'state', is: '=', value: 'paused' },
      { attribute: 'generation', is: '=', value: config.generation },
    ],
  };
  const outcome = await services.store.transact([resume, audit], services.random.uuid());
  // Somebody else came first, another operator or the client: what it is now is the answer.
  if (outcome.kind === 'refused') return resumeConfig(services, task, id, audit);
  await services.outboxQueue.send({ task, config: id });
  await wakeRetries(services, task, id);
  return 'resumed';
}

/** Retries that the pause held have wakings of their own. */
async function wakeRetries(services: OutboxServices, task: string, config: string): Promise<void> {
  for (const { state, retry, revision } of await retriesOf(services, task, config)) {
    if (state !== 'open' || !retry) continue;
    await services.outboxQueue.send({ task, config, retry: { id: retry.id, revision } });
  }
}

/** Retries of a config's jobs, or of one of them. */
async function retriesOf(
  services: Pick<StateServices, 'store'>,
  task: string,
  config: string,
  revision?: number,
): Promise<Job[]> {
  const page = await services.store.query({
    table: 'outbox',
    partition: keys.pushConfig(task, config).pk,
    sort: { prefix: keys.pushRetryPrefix(config) },
    consistent: true,
  });
  const jobs = page.items.map(jobOf);
  return revision === undefined ? jobs : jobs.filter((job) => job.revision === revision);
}

export type Retried =
  | { readonly job: string; readonly deadline: string }
  | 'unknown'
  | 'open'
  | 'delivered'
  | 'paused'
  | 'stopped';

/**
 * A new job for a job that ended undelivered: a deadline of its own, outside the order (design §6). `audit` is written
 * with it, and with nothing else.
 */
export async function retryJob(
  services: OutboxServices,
  task: string,
  config: string,
  revision: number,
  audit: Action,
): Promise<Retried> {
  const [job, found] = await services.store.getMany([
    { table: 'outbox', key: keys.pushJob(task, config, revision) },
    { table: 'outbox', key: keys.pushConfig(task, config) },
  ]);
  if (!job || !found) return 'unknown';
  const earlier = await retriesOf(services, task, config, revision);
  for (const state of ['delivered', 'open'] as const) {
    if ([jobOf(job), ...earlier].some((one) => one.state === state)) return state;
  }
  const { retries = 0 } = jobOf(job);
  const { state: halted } = configOf(found);
  if (halted !== 'active') return halted;
  const id = Buffer.from(services.random.bytes(6)).toString('hex');
  const now = services.clock.now();
  const retry = {
    task,
    config,
    revision,
    state: 'open',
    deadline: now + DEADLINE_MS,
    due: keys.dueAt(now + DUE_AHEAD_MS),
    retry: { id, standing: UNTRIED },
  } as const;
  const made: Action = { kind: 'put', table: 'outbox', item: jobItem(retry) };
  // Only beside its config, as that was read: nothing is written of a task that was purged meanwhile.
  const beside: Action = {
    kind: 'check',
    table: 'outbox',
    key: keys.pushConfig(task, config),
    when: [{ attribute: 'state', is: '=', value: 'active' }],
  };
  // Of two operators at once the second finds the retry of the first.
  const counted: Action = {
    kind: 'update',
    table: 'outbox',
    key: keys.pushJob(task, config, revision),
    changes: { set: { retries: retries + 1 } },
    when: [
      { attribute: 'state', is: '=', value: jobOf(job).state },
      retries > 0
        ? { attribute: 'retries', is: '=', value: retries }
        : { attribute: 'retries', is: 'absent' },
    ],
  };
  const outcome = await services.store.transact([made, counted, audit, beside], services.random.uuid());
  if (outcome.kind === 'refused') return retryJob(services, task, config, revision, audit);
  await services.outboxQueue.send({ task, config, retry: { id, revision } });
  return { job: jobName(retry), deadline: iso(retry.deadline)! };
}

/** How an operator names a job: `<task>/<config>/<revision>`, with the retry's id behind it where it is one. */
export function jobName(job: {
  readonly task: string;
  readonly config: string;
  readonly revision: number;
  readonly retry?: { readonly id: string };
}): string {
  return [job.task, job.config, job.revision, ...(job.retry ? [job.retry.id] : [])].join('/');
}

function show(config: Config): ShownConfig {
  const { index, attempts, notBefore } = config.standing;
  return {
    config: `${config.task}/${config.id}`,
    client: config.client,
    state: config.state,
    ...(config.reason ? { reason: config.reason } : {}),
    ...(config.haltedAt === undefined ? {} : { since: iso(config.haltedAt)! }),
    createdAt: iso(config.createdAt)!,
    next: `${config.revision}.${index}`,
    attempts,
    ...(notBefore === undefined ? {} : { notBefore: iso(notBefore)! }),
  };
}

function iso(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
