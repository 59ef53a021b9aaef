import { DeleteItemCommand, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTables, type Engine, startEngine } from '../../infra/local/engine.ts';
import { isRevisionInsert } from '../../infra/local/functions.ts';
import type { Poller } from '../../infra/local/invoker.ts';
import { localClient } from '../../infra/local/local-client.ts';
import { mapStream, type StreamMapping } from '../../infra/local/stream-mapping.ts';
import { keys } from '../../shared/storage/keys.ts';

let engine: Engine;
let client: DynamoDBClient;
let table: string;
let pollers: Poller[];
let prefix = 0;
beforeAll(async () => {
  engine = await startEngine();
  client = new DynamoDBClient(localClient(engine.endpoint));
});
afterAll(async () => {
  client.destroy();
  await engine.stop();
});
beforeEach(async () => {
  table = (await createTables(engine.endpoint, `${++prefix}-`)).state;
  pollers = [];
});
afterEach(() => Promise.all(pollers.map((poller) => poller.stop())));

async function map(handler: (event: DynamoDBStreamEvent) => unknown, options: Partial<StreamMapping> = {}) {
  const poller = await mapStream({
    endpoint: engine.endpoint,
    table,
    target: { name: 'projector', handler: handler as never, timeoutSeconds: 30 },
    filter: isRevisionInsert,
    ...options,
  });
  pollers.push(poller);
  return poller;
}
const put = ({ pk, sk }: { pk: string; sk: string }) =>
  client.send(
    new PutItemCommand({ TableName: table, Item: { pk: { S: pk }, sk: { S: sk }, x: { S: 'content' } } }),
  );
const placeOf = (record: DynamoDBRecord) =>
  `${record.dynamodb?.Keys?.['pk']?.S} ${record.dynamodb?.Keys?.['sk']?.S}`;

describe('the mapping of the stream', () => {
  it('hands over inserted revisions only, in order, the ones from before its start first, with keys and no content', async () => {
    const records: DynamoDBRecord[] = [];
    await put(keys.revision('a', 1));
    await put(keys.head('a'));
    await map(async (event) => void records.push(...event.Records));
    await vi.waitFor(() => expect(records).toHaveLength(1));
    await put(keys.revision('a', 1));
    const { pk, sk } = keys.revision('a', 1);
    await client.send(new DeleteItemCommand({ TableName: table, Key: { pk: { S: pk }, sk: { S: sk } } }));
    await put(keys.message('a', 1, '0', 0));
    await put(keys.revision('a', 2));
    await put(keys.revision('b', 1));
    await vi.waitFor(() => expect(records).toHaveLength(3));
    expect(records.map(placeOf)).toEqual(['T#a R#00000001', 'T#a R#00000002', 'T#b R#00000001']);
    expect(records[0]).toMatchObject({
      eventName: 'INSERT',
      eventSource: 'aws:dynamodb',
      eventSourceARN: expect.stringContaining(`table/${table}/stream/`),
      awsRegion: 'us-east-1',
      dynamodb: {
        SequenceNumber: expect.any(String),
        StreamViewType: 'KEYS_ONLY',
        ApproximateCreationDateTime: expect.any(Number),
      },
    });
    expect(JSON.stringify(records)).not.toContain('content');
  });

  it('goes on past a record that keeps failing', async () => {
    const seen: string[] = [];
    const onError = vi.fn();
    for (const n of [1, 2, 3]) await put(keys.revision('a', n));
    await map(
      async ({ Records }) => {
        const places = Records.map(placeOf);
        if (places.includes('T#a R#00000002')) throw new Error('poison');
        seen.push(...places);
      },
      { retryAttempts: 1, onError },
    );
    await vi.waitFor(() => expect(seen).toEqual(['T#a R#00000001', 'T#a R#00000003']), { timeout: 5_000 });
    expect(onError).toHaveBeenCalledWith(
      'projector',
      expect.objectContaining({ message: expect.stringContaining('given up') }),
    );
  });

  it('goes on where it stopped when its places are kept', async () => {
    const places = new Map<string, string>();
    const checkpoints = {
      get: (id: string) => places.get(id),
      set: (id: string, at: string) => void places.set(id, at),
    };
    const first: string[] = [];
    await put(keys.revision('a', 1));
    const poller = await map(async ({ Records }) => void first.push(...Records.map(placeOf)), {
      checkpoints,
    });
    await vi.waitFor(() => expect(places.size).toBe(1));
    await poller.stop();
    await put(keys.revision('a', 2));
    const second: string[] = [];
    await map(async ({ Records }) => void second.push(...Records.map(placeOf)), { checkpoints });
    await vi.waitFor(() => expect(second).toEqual(['T#a R#00000002']));
    expect(first).toEqual(['T#a R#00000001']);
  });

  it('delivers again, at the next start, what it was stopped in', async () => {
    const places = new Map<string, string>();
    const checkpoints = {
      get: (id: string) => places.get(id),
      set: (id: string, at: string) => void places.set(id, at),
    };
    await put(keys.revision('a', 1));
    let attempts = 0;
    const failing = await map(
      async () => {
        attempts += 1;
        throw new Error('not now');
      },
      { checkpoints, retryAttempts: 100 },
    );
    await vi.waitFor(() => expect(attempts).toBeGreaterThan(1));
    await failing.stop();
    const again: string[] = [];
    await map(async ({ Records }) => void again.push(...Records.map(placeOf)), { checkpoints });
    await vi.waitFor(() => expect(again).toEqual(['T#a R#00000001']));
  });

  it('needs a table with a stream', async () => {
    const view = (await createTables(engine.endpoint, `${prefix}-`)).view;
    await expect(map(async () => {}, { table: view })).rejects.toThrow('no stream');
  });
});
