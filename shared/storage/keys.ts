import { createHash } from 'node:crypto';
import type { Key } from './port.ts';
import { DUE_SHARDS } from './tables.ts';

/**
 * Every key of every table. Nothing else builds keys (design §4); the README's key table is held against this file by
 * a test. Stored items carry their format in `v`.
 */
const RECORD = '-';

/** Epoch ms as a fixed-width string, so that strings sort as times. */
export const timeKey = (ms: number): string => String(Math.max(0, Math.floor(ms))).padStart(14, '0');
const serial = (n: number): string => String(n).padStart(8, '0');

export const keys = {
  /** state: the head of a task. */
  head: (task: string): Key => ({ pk: `T#${task}`, sk: 'H' }),
  /** state: one immutable item per committed revision. */
  revision: (task: string, revision: number): Key => ({ pk: `T#${task}`, sk: `R#${serial(revision)}` }),
  revisionPrefix: 'R#',
  /** state: a slice of a sealed message; spread, so that large values do not share a partition. */
  message: (task: string, number: number, copy: string, slice: number): Key => ({
    pk: `M#${task}#${number}#${copy}#${slice}`,
    sk: RECORD,
  }),
  /** state: a slice of the sealed result. */
  result: (task: string, result: string, copy: string, slice: number): Key => ({
    pk: `A#${task}#${result}#${copy}#${slice}`,
    sk: RECORD,
  }),
  /** state: a slice of a run's sealed working state; gone with the run. */
  working: (task: string, name: string, slice: number): Key => ({
    pk: `W#${task}#${name}#${slice}`,
    sk: RECORD,
  }),
  /** state: a result that waits for a person's approval. */
  approval: (task: string): Key => ({ pk: 'approval', sk: task }),
  /** state: message id of a client → task; the id is hashed, it may be anything up to its bound. */
  dedup: (client: string, messageId: string): Key => dedupKeyOf(client, digest(messageId)),

  /** view: what remote parties see of a task. */
  view: (task: string): Key => ({ pk: `T#${task}`, sk: 'V' }),
  /** view: one journal entry per revision. */
  journal: (task: string, revision: number): Key => ({ pk: `T#${task}`, sk: `J#${serial(revision)}` }),
  journalPrefix: 'J#',
  /** view index `client` and `open`. */
  viewOfClient: (client: string): string => `C#${client}`,
  /** view index `context`; the client's id has a fixed alphabet, the context id is free text. */
  viewOfContext: (client: string, context: string): string => `X#${client}#${context}`,
  /** view indexes: newest status first, then id. */
  viewOrder: (statusMs: number, task: string): string => `${timeKey(statusMs)}#${task}`,

  /** outbox: a push config; its id is internal, the client's name for it is inside. */
  pushConfig: (task: string, config: string): Key => ({ pk: `P#${task}`, sk: `C#${config}` }),
  pushConfigPrefix: 'C#',
  /** outbox: the delivery of one revision's events to one config, in the order of revisions. */
  pushJob: (task: string, config: string, revision: number): Key => ({
    pk: `P#${task}`,
    sk: `J#${config}#${serial(revision)}`,
  }),
  pushJobPrefix: (config: string): string => `J#${config}#`,
  /** outbox: an operator's retry of a job, outside the order. */
  pushRetry: (task: string, config: string, revision: number, id: string): Key => ({
    pk: `P#${task}`,
    sk: `K#${config}#${serial(revision)}#${id}`,
  }),
  pushRetryPrefix: (config: string): string => `K#${config}#`,
  /** outbox: an attempt that did not deliver, expires. */
  pushAttempt: (task: string, config: string, ms: number, id: string): Key => ({
    pk: `P#${task}`,
    sk: `A#${config}#${timeKey(ms)}#${id}`,
  }),
  pushAttemptPrefix: (config: string): string => `A#${config}#`,
  /** outbox index `halted`: configs in that state, by the time they came into it. */
  halted: (state: 'paused' | 'stopped'): string => `halted#${state}`,

  /** delegation: a run's wait for a remote task. */
  dependency: (task: string, dependency: string): Key => ({ pk: `D#${task}`, sk: dependency }),
  /** delegation: a callback address; its id is random and public, its credential is not in it. */
  registration: (registration: string): Key => ({ pk: `R#${registration}`, sk: RECORD }),
  /** delegation: how many registrations are open. */
  openRegistrations: (): Key => ({ pk: 'registrations', sk: RECORD }),

  /** due indexes: partition. */
  dueShard: (id: string): string => `due#${shardOf(id)}`,
  dueShards: (): string[] => Array.from({ length: DUE_SHARDS }, (_, shard) => `due#${shard}`),
  /** due indexes: sort key. */
  dueAt: (ms: number): string => timeKey(ms),

  /** registry */
  client: (client: string): Key => ({ pk: 'client', sk: client }),
  profile: (profile: string): Key => ({ pk: 'profile', sk: profile }),
  provider: (provider: string): Key => ({ pk: 'provider', sk: provider }),
  agent: (agent: string): Key => ({ pk: 'agent', sk: agent }),
  settings: (): Key => ({ pk: 'settings', sk: 'global' }),
  /** registry: how far an administrator's tightening has come. */
  ceilingJob: (): Key => ({ pk: 'job', sk: 'ceiling' }),
  dataKey: (client: string, purpose: string, epoch: string): Key => ({
    pk: `key#${client}#${purpose}`,
    sk: epoch,
  }),
  audit: (ms: number, id: string): Key => ({ pk: `audit#${month(ms)}`, sk: `${timeKey(ms)}#${id}` }),
  /** registry: requests of a client in one minute, approximate, expires. */
  rate: (client: string, minute: number): Key => ({ pk: `rate#${client}`, sk: timeKey(minute) }),
  /** registry: an open stream, expires. */
  stream: (client: string, stream: string): Key => ({ pk: `stream#${client}`, sk: stream }),
} as const;

/** The task id of a key in the state table's stream; undefined for keys of other items. */
export function taskOfKey(key: Key): string | undefined {
  return key.pk.startsWith('T#') ? key.pk.slice(2) : undefined;
}

/** The part of a dedup key that names the message; kept in the revision, so that a purge finds the item. */
export function dedupDigest(key: Key): string {
  return key.pk.slice(key.pk.lastIndexOf('#') + 1);
}

/** The dedup key of a client and a digest. */
export function dedupKeyOf(client: string, digest: string): Key {
  return { pk: `D#${client}#${digest}`, sk: RECORD };
}

/** `YYYYMM`, UTC. */
export function month(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7).replace('-', '');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function shardOf(id: string): number {
  return createHash('sha256').update(id).digest()[0]! % DUE_SHARDS;
}
