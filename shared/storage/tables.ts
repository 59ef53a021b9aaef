/**
 * The five tables as plain data (design §4): the stack and the local host build them from this one description,
 * so the two cannot drift apart.
 */
export type TableName = 'state' | 'view' | 'outbox' | 'delegation' | 'registry';

export interface IndexDefinition {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey: string;
  readonly projection: 'ALL' | 'KEYS_ONLY';
}

export interface TableDefinition {
  /** Partition and sort key are strings, named `pk` and `sk` in every table. */
  readonly indexes: readonly IndexDefinition[];
  /** KEYS_ONLY: nothing but keys ever leaves the table through the stream (P10). */
  readonly stream: 'KEYS_ONLY' | undefined;
  readonly pointInTimeRecovery: boolean;
  /** Epoch seconds. Deletion is late on the platform, so readers check it too. */
  readonly timeToLive: 'ttl';
}

/** Sparse and sharded: only what still needs a clock stands in it (P6). Sort key: due time, see keys.ts. */
const due: IndexDefinition = { name: 'due', partitionKey: 'ds', sortKey: 'da', projection: 'KEYS_ONLY' };

export const tables: Readonly<Record<TableName, TableDefinition>> = {
  state: { indexes: [due], stream: 'KEYS_ONLY', pointInTimeRecovery: true, timeToLive: 'ttl' },
  view: {
    indexes: [
      { name: 'client', partitionKey: 'gc', sortKey: 'go', projection: 'ALL' },
      { name: 'context', partitionKey: 'gx', sortKey: 'go', projection: 'ALL' },
      // Sparse: unfinished tasks only; what the quota on open tasks counts (no counter to drift, none to be hot). Its keys never change, so a status change costs it nothing.
      { name: 'open', partitionKey: 'gp', sortKey: 'gq', projection: 'KEYS_ONLY' },
    ],
    stream: undefined,
    pointInTimeRecovery: false,
    timeToLive: 'ttl',
  },
  outbox: {
    indexes: [
      due,
      // Sparse: paused and stopped configs only, for operators.
      { name: 'halted', partitionKey: 'hs', sortKey: 'ha', projection: 'KEYS_ONLY' },
    ],
    stream: undefined,
    pointInTimeRecovery: false,
    timeToLive: 'ttl',
  },
  delegation: { indexes: [due], stream: undefined, pointInTimeRecovery: false, timeToLive: 'ttl' },
  registry: { indexes: [], stream: undefined, pointInTimeRecovery: true, timeToLive: 'ttl' },
};

/** Shards of the due index: a sweep reads each of them. */
export const DUE_SHARDS = 8;
