import { keys } from '../storage/keys.ts';
import type { Item, StoredItem } from '../storage/port.ts';
import { FormatError, given } from '../tasks/formats.ts';

/** Stored formats of the outbox (design §6). URL, token and credentials stand sealed in one value. */
export const PUSH_FORMAT = 1;

export const MAX_CONFIGS = 5;
export const MAX_ATTEMPTS = 8;
/** From the revision (or an operator's retry) on, ms. */
export const DEADLINE_MS = 24 * 3_600_000;

export type ConfigState = 'active' | 'paused' | 'stopped';
export type HaltReason = 'authentication_failed' | 'gone' | 'address_refused';

/** What is sealed of a config. */
export interface ConfigSecret {
  /** The client's name for it. */
  readonly name: string;
  readonly url: string;
  readonly token?: string;
  readonly scheme?: string;
  readonly credentials?: string;
}

/** How far the events of one job have come. */
export interface Standing {
  /** The next event: those before it were delivered or given up. */
  readonly index: number;
  /** Of that event, begun, crashed ones included. */
  readonly attempts: number;
  /** Behind an exhausted event each one gets a single attempt until one succeeds. */
  readonly single: boolean;
  /** Some event of the job was given up. */
  readonly spoiled?: JobEnd;
  /** No attempt before this, epoch ms. */
  readonly notBefore?: number;
}

export interface Config {
  readonly task: string;
  /** Internal: one made again under an old name inherits nothing. */
  readonly id: string;
  readonly client: string;
  readonly createdAt: number;
  readonly state: ConfigState;
  readonly haltedAt?: number;
  readonly reason?: HaltReason;
  /** Raised by pause, resume, purge and scrub: an attempt prepared before starts no more. */
  readonly generation: number;
  /** Its next job; those before it ended. */
  readonly revision: number;
  /** Of that job. */
  readonly standing: Standing;
  readonly lease?: { readonly token: string; readonly until: number };
  readonly epoch: string;
  readonly salt: Uint8Array;
  readonly sealed: Uint8Array;
}

export type JobEnd = 'delivered' | 'exhausted' | 'failed' | 'expired' | 'superseded';
export type JobState = 'open' | JobEnd;

/** An attempt that delivered; times in ms. */
export interface Delivery {
  readonly at: number;
  readonly index: number;
  readonly number: number;
  readonly status: number;
  readonly ms: number;
}

export interface Job {
  readonly task: string;
  readonly config: string;
  readonly revision: number;
  readonly state: JobState;
  /** Epoch ms. */
  readonly deadline: number;
  readonly endedAt?: number;
  /** The attempt that delivered its last event. */
  readonly delivery?: Delivery;
  readonly due?: string;
  /** Retries that operators made of it: of two at once one is refused. */
  readonly retries?: number;
  /** Of an operator's retry only: a job stands where its config says. */
  readonly retry?: { readonly id: string; readonly standing: Standing };
}

export function configItem(config: Config): StoredItem {
  return {
    ...keys.pushConfig(config.task, config.id),
    v: PUSH_FORMAT,
    client: config.client,
    created: config.createdAt,
    state: config.state,
    generation: config.generation,
    rev: config.revision,
    ...standingItem(config.standing),
    epoch: config.epoch,
    salt: config.salt,
    sealed: config.sealed,
  };
}

export function configOf(item: StoredItem): Config {
  if (item['v'] !== PUSH_FORMAT) throw new FormatError('push config');
  const lease = item['lease'] as string | undefined;
  return {
    task: item.pk.slice(2),
    id: item.sk.slice(2),
    client: String(item['client']),
    createdAt: Number(item['created']),
    state: item['state'] as ConfigState,
    generation: Number(item['generation']),
    revision: Number(item['rev']),
    standing: standingOf(item),
    epoch: String(item['epoch']),
    salt: item['salt'] as Uint8Array,
    sealed: item['sealed'] as Uint8Array,
    ...given({
      haltedAt: item['halted'] as number | undefined,
      reason: item['reason'] as HaltReason | undefined,
    }),
    ...(lease === undefined ? {} : { lease: { token: lease, until: Number(item['until']) } }),
  };
}

export function jobItem(job: Job): StoredItem {
  const key = job.retry
    ? keys.pushRetry(job.task, job.config, job.revision, job.retry.id)
    : keys.pushJob(job.task, job.config, job.revision);
  return {
    ...key,
    v: PUSH_FORMAT,
    state: job.state,
    deadline: job.deadline,
    ...given({ retries: job.retries }),
    ...(job.retry ? standingItem(job.retry.standing) : {}),
    ...(job.due ? { ds: keys.dueShard(`${job.task}#${job.config}`), da: job.due } : {}),
  };
}

export function jobOf(item: StoredItem): Job {
  if (item['v'] !== PUSH_FORMAT) throw new FormatError('push job');
  const [, config, revision, retry] = item.sk.split('#') as [string, string, string, string | undefined];
  return {
    task: item.pk.slice(2),
    config,
    revision: Number(revision),
    state: item['state'] as JobState,
    deadline: Number(item['deadline']),
    ...given({
      retries: item['retries'] as number | undefined,
      endedAt: item['ended'] as number | undefined,
      delivery: item['delivery'] as unknown as Delivery | undefined,
      due: item['da'] as string | undefined,
    }),
    ...(retry === undefined ? {} : { retry: { id: retry, standing: standingOf(item) } }),
  };
}

/** Before the first attempt of the first event. */
export const UNTRIED: Standing = { index: 0, attempts: 0, single: false };

function standingItem({ index, attempts, single }: Standing): Item {
  return { index, attempts, single };
}

function standingOf(item: StoredItem): Standing {
  return {
    index: Number(item['index']),
    attempts: Number(item['attempts']),
    single: item['single'] === true,
    ...given({
      spoiled: item['spoiled'] as JobEnd | undefined,
      notBefore: item['notBefore'] as number | undefined,
    }),
  };
}
