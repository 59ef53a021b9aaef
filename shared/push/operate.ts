import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import type { StateServices } from '../tasks/services.ts';
import { type Config, configOf, DEADLINE_MS, jobItem, jobOf, MAX_ATTEMPTS } from './formats.ts';
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

/** Configs in a halted state, newest first, at most 200. */
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
  return shown;
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

/** One config with its jobs and the attempts that did not deliver. */
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
  const jobs = [...(await under(keys.pushJobPrefix(config))), ...(await under(keys.pushRetryPrefix(config)))];
  const attempts = await under(keys.pushAttemptPrefix(config));
  return {
    ...show(found),
    jobs: jobs.map(jobOf).map((job) => ({
      job: jobName(job),
      revision: job.revision,
      state: job.state,
      deadline: iso(job.deadline),
      endedAt: iso(job.endedAt),
    })),
    attempts: attempts.map((item) => ({
      at: iso(Number(item.sk.split('#')[2])),
      event: `${item['rev']}.${item['index']}`,
      number: item['number'],
      class: item['class'],
      status: item['status'],
      milliseconds: item['ms'],
    })),
  };
}

export type Resumption = 'resumed' | 'active' | 'stopped' | 'unknown';

/**
 * Makes a paused config active again; what is held and within its deadline is delivered, in order. `audit` is written
 * with it, and with nothing else.
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
      set: { state: 'active', generation: config.generation + 1 },
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
  return 'resumed';
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
  const { state } = jobOf(job);
  if (state === 'open' || state === 'delivered') return state;
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
    due: keys.dueAt(now + 60_000),
    retry: { id, index: 0, attempts: 0 },
  } as const;
  const made: Action = { kind: 'put', table: 'outbox', item: jobItem(retry) };
  await services.store.transact([made, audit], services.random.uuid());
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
  const { progress } = config;
  return {
    config: `${config.task}/${config.id}`,
    client: config.client,
    state: config.state,
    ...(config.reason ? { reason: config.reason } : {}),
    ...(config.haltedAt === undefined ? {} : { since: iso(config.haltedAt)! }),
    createdAt: iso(config.createdAt)!,
    next: `${progress.revision}.${progress.index}`,
    attempts: Math.min(config.attempts, MAX_ATTEMPTS),
    ...(config.notBefore === undefined ? {} : { notBefore: iso(config.notBefore)! }),
  };
}

function iso(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
