import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type Shard,
  type _Record as StreamsRecord,
} from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { deliver } from './batch-delivery.ts';
import { type Invocable, invoke, type OnError, type Poller } from './invoker.ts';
import { localClient, localRegion } from './local-client.ts';

export interface StreamMapping {
  readonly endpoint: string;
  /** The table whose stream is read. */
  readonly table: string;
  readonly target: Invocable;
  /** Records an invocation. Default 100. */
  readonly batchSize?: number;
  /** Repeats of a failing record before it is left behind. Default 5. */
  readonly retryAttempts?: number;
  /** The event source's filter. */
  readonly filter: (record: DynamoDBRecord) => boolean;
  /** Where reading goes on, by shard; without a place a shard is read from its oldest record. */
  readonly checkpoints?: Checkpoints;
  readonly onError?: OnError;
}

/** Keeps, for each shard, the number of the last record that is dealt with. */
export interface Checkpoints {
  get(shard: string): string | undefined;
  set(shard: string, sequenceNumber: string): void;
}

/** Between two looks at a shard that has nothing new; new shards are looked for every so often. */
const idleMs = 50;
const shardsMs = 10_000;

/**
 * The event source mapping of a table's stream: shards side by side, the records of one shard in order, from
 * TRIM_HORIZON on, a child after its parent. Rejects when the table has no stream.
 */
export async function mapStream(mapping: StreamMapping): Promise<Poller> {
  const tables = new DynamoDBClient(localClient(mapping.endpoint));
  const { Table } = await tables.send(new DescribeTableCommand({ TableName: mapping.table }));
  tables.destroy();
  const arn = Table?.LatestStreamArn;
  if (!arn) throw new Error(`The table ${mapping.table} has no stream.`);

  const client = new DynamoDBStreamsClient({ ...localClient(mapping.endpoint), maxAttempts: 1 });
  const stopping = new AbortController();
  const state = { running: 0 };
  const readers = new Map<string, { done: boolean; work: Promise<void> }>();
  const report = (error: unknown) => {
    if (!stopping.signal.aborted) mapping.onError?.(mapping.target.name, error);
  };

  const readNewShards = async () => {
    const shards = await listShards(client, arn, stopping.signal);
    for (const { ShardId: id, ParentShardId: parent } of shards) {
      const parentReader = parent === undefined ? undefined : readers.get(parent);
      const parentOpen = shards.some((shard) => shard.ShardId === parent) && !parentReader?.done;
      if (id === undefined || readers.has(id) || parentOpen) continue;
      const reader = { done: false, work: Promise.resolve() };
      reader.work = readShard(client, mapping, arn, id, stopping.signal, state, report).then((closed) => {
        // One that gave up is opened again where it stopped.
        if (closed) reader.done = true;
        else readers.delete(id);
      });
      readers.set(id, reader);
    }
  };
  const watch = async () => {
    while (!stopping.signal.aborted) {
      await readNewShards().catch(report);
      const open = [...readers.values()].filter(({ done }) => !done).map(({ work }) => work);
      await Promise.race([pause(open.length === 0 ? 200 : shardsMs, stopping.signal), ...open]);
    }
    await Promise.all([...readers.values()].map(({ work }) => work));
    client.destroy();
  };
  const done = watch();
  return {
    running: () => state.running,
    stop: () => {
      stopping.abort();
      return done;
    },
  };
}

/** Reads until the shard is closed (true), or the host stops or the engine fails (false). Never rejects. */
async function readShard(
  client: DynamoDBStreamsClient,
  mapping: StreamMapping,
  arn: string,
  shard: string,
  signal: AbortSignal,
  state: { running: number },
  report: (error: unknown) => void,
): Promise<boolean> {
  try {
    let iterator = await openShard(client, arn, shard, mapping.checkpoints?.get(shard), signal);
    while (iterator !== undefined && !signal.aborted) {
      const asked = performance.now();
      const read = await client.send(
        new GetRecordsCommand({ ShardIterator: iterator, Limit: mapping.batchSize ?? 100 }),
        { abortSignal: signal },
      );
      const records = read.Records ?? [];
      await deliverRecords(mapping, arn, shard, records, signal, state, report);
      iterator = read.NextShardIterator;
      // The embedded engine takes longer the more its stream holds: reading must leave it time for writes.
      if (records.length === 0) await pause(Math.max(idleMs, 4 * (performance.now() - asked)), signal);
    }
    return iterator === undefined;
  } catch (error) {
    report(error);
    await pause(200, signal);
    return false;
  }
}

async function deliverRecords(
  mapping: StreamMapping,
  arn: string,
  shard: string,
  records: readonly StreamsRecord[],
  signal: AbortSignal,
  state: { running: number },
  report: (error: unknown) => void,
): Promise<void> {
  // A host that stops fails what it did not deliver: that is delivered again, at the next start.
  const passed = (number: string) => {
    if (!signal.aborted) mapping.checkpoints?.set(shard, number);
  };
  const wanted = records.map((record) => eventRecord(record, arn)).filter(mapping.filter);
  await deliver(wanted, {
    id: sequenceNumber,
    retryAttempts: mapping.retryAttempts ?? 5,
    onError: report,
    checkpoint: (record) => passed(sequenceNumber(record)),
    discard: (record) => report(new Error(`Record ${sequenceNumber(record)} of the stream was given up.`)),
    backoff: async (attempt) => {
      await pause(Math.min(100 * 2 ** attempt, 5_000), signal);
      if (signal.aborted) throw new Error('stopping');
    },
    invoke: async (batch) => {
      if (signal.aborted) throw new Error('stopping');
      state.running += 1;
      try {
        return await invoke(mapping.target, { Records: [...batch] } satisfies DynamoDBStreamEvent);
      } finally {
        state.running -= 1;
      }
    },
  });
  const last = records.at(-1)?.dynamodb?.SequenceNumber;
  if (last !== undefined) passed(last);
}

async function listShards(client: DynamoDBStreamsClient, arn: string, signal: AbortSignal): Promise<Shard[]> {
  const shards: Shard[] = [];
  let start: string | undefined;
  do {
    const command = new DescribeStreamCommand({
      StreamArn: arn,
      ...(start && { ExclusiveStartShardId: start }),
    });
    const page = (await client.send(command, { abortSignal: signal })).StreamDescription;
    shards.push(...(page?.Shards ?? []));
    start = page?.LastEvaluatedShardId;
  } while (start !== undefined);
  return shards;
}

async function openShard(
  client: DynamoDBStreamsClient,
  arn: string,
  shard: string,
  after: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const open = async (position: object) => {
    const command = new GetShardIteratorCommand({
      StreamArn: arn,
      ShardId: shard,
      ShardIteratorType: 'TRIM_HORIZON',
      ...position,
    });
    return (await client.send(command, { abortSignal: signal })).ShardIterator;
  };
  if (after === undefined) return open({});
  try {
    return await open({ ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: after });
  } catch (error) {
    // The place is older than what the stream still holds.
    if (error instanceof Error && error.name === 'TrimmedDataAccessException') return open({});
    throw error;
  }
}

function eventRecord(record: StreamsRecord, arn: string): DynamoDBRecord {
  const { ApproximateCreationDateTime: created, ...stream } = record.dynamodb ?? {};
  return {
    ...record,
    awsRegion: localRegion,
    eventSource: 'aws:dynamodb',
    eventSourceARN: arn,
    dynamodb: {
      ...(stream as NonNullable<DynamoDBRecord['dynamodb']>),
      ...(created && { ApproximateCreationDateTime: Math.floor(new Date(created).getTime() / 1_000) }),
    },
  } as DynamoDBRecord;
}

function sequenceNumber(record: DynamoDBRecord): string {
  return record.dynamodb?.SequenceNumber ?? '';
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener('abort', finish);
  });
}
