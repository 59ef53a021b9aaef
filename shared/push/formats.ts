import { keys } from '../storage/keys.ts';
import type { StoredItem } from '../storage/port.ts';
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

/** The next event to deliver: everything before it was delivered or given up. */
export interface Progress {
  readonly revision: number;
  readonly index: number;
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
  readonly progress: Progress;
  /** Of the event at `progress`, begun, crashed ones included. */
  readonly attempts: number;
  /** Behind an exhausted event each one gets a single attempt until one succeeds. */
  readonly single: boolean;
  /** Some event of the job at `progress` was given up. */
  readonly spoiled?: JobState;
  /** No attempt before this, epoch ms. */
  readonly notBefore?: number;
  readonly lease?: { readonly token: string; readonly until: number };
  readonly epoch: string;
  readonly salt: Uint8Array;
  readonly sealed: Uint8Array;
}

export type JobState = 'open' | 'delivered' | 'exhausted' | 'failed' | 'expired' | 'superseded';

export interface Job {
  readonly task: string;
  readonly config: string;
  readonly revision: number;
  readonly state: JobState;
  /** Epoch ms. */
  readonly deadline: number;
  readonly endedAt?: number;
  readonly due?: string;
  /** Of an operator's retry only: its id, next event, attempts. */
  readonly retry?: { readonly id: string; readonly index: number; readonly attempts: number };
}

/** One attempt that did not deliver: no body, no credential, no address. */
export interface Attempt {
  readonly at: number;
  readonly revision: number;
  readonly index: number;
  readonly number: number;
  /** Class of the outcome. */
  readonly class: string;
  readonly status?: number;
  readonly milliseconds: number;
}

export function configItem(config: Config): StoredItem {
  return {
    ...keys.pushConfig(config.task, config.id),
    v: PUSH_FORMAT,
    client: config.client,
    created: config.createdAt,
    state: config.state,
    generation: config.generation,
    rev: config.progress.revision,
    index: config.progress.index,
    attempts: config.attempts,
    single: config.single,
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
    progress: { revision: Number(item['rev']), index: Number(item['index']) },
    attempts: Number(item['attempts']),
    single: item['single'] === true,
    epoch: String(item['epoch']),
    salt: item['salt'] as Uint8Array,
    sealed: item['sealed'] as Uint8Array,
    ...given({
      haltedAt: item['halted'] as number | undefined,
      reason: item['reason'] as HaltReason | undefined,
      spoiled: item['spoiled'] as JobState | undefined,
      notBefore: item['notBefore'] as number | undefined,
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
    ...(job.retry ? { index: job.retry.index, attempts: job.retry.attempts } : {}),
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
    ...given({ endedAt: item['ended'] as number | undefined, due: item['da'] as string | undefined }),
    ...(retry === undefined
      ? {}
      : { retry: { id: retry, index: Number(item['index']), attempts: Number(item['attempts']) } }),
  };
}
