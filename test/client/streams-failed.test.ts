import { describe, expect, it } from 'vitest';
import {
  clientOf,
  collect,
  error,
  flood,
  ImpatientClock,
  never,
  type Reply,
  startAgent,
} from './fake-agent.ts';
import { bytes, kinds, SEND, WORKING } from './stream-samples.ts';

describe('an error before the first event (S03)', () => {
  const EVENT: Reply = bytes(
    (id) => `event: error\ndata: {"jsonrpc":"2.0","id":${id},"error":{"code":-32001,"message":""}}\n\n`,
  );

  it.each<readonly [string, Reply]>([
    ['JSON', error(-32001)],
    ['JSON with a status that says so', error(-32001, {}, 404)],
    ['one event', EVENT],
    [
      'one event with a status that says so',
      (response, seen) => {
        response.writeHead(404, { 'content-type': 'text/event-stream' });
        response.end(
          `data: {"jsonrpc":"2.0","id":${JSON.stringify(seen.rpc.id)},"error":{"code":-32001,"message":""}}\n\n`,
        );
      },
    ],
  ])('as %s is typed', async (_, reply) => {
    await using agent = await startAgent(reply);
    expect(await collect(clientOf(agent).sendStreamingMessage(SEND))).toMatchObject([
      { kind: 'end', end: { kind: 'remote-error', code: -32001 } },
    ]);
    expect(agent.seen).toHaveLength(1);
  });

  it('that says that streams are not supported is typed as that', async () => {
    await using agent = await startAgent(error(-32004));
    expect(await collect(clientOf(agent).sendStreamingMessage(SEND))).toMatchObject([
      { end: { kind: 'unsupported', code: -32004 } },
    ]);
  });
});

describe('an error after the first event', () => {
  it('that may pass is an interruption, any other a cut', async () => {
    const broken = (code: number): Reply =>
      bytes(
        (id) =>
          `data: {"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(WORKING.result)}}\n\nevent: error\ndata: {"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":""}}\n\n`,
      );
    await using agent = await startAgent([broken(-32603), broken(-32001)]);
    const items = await collect(clientOf(agent, { clock: new ImpatientClock() }).sendStreamingMessage(SEND));
    expect(kinds(items)).toEqual(['task', 'interrupted', 'task', 'end:cut']);
    expect(items.at(-1)).toMatchObject({ end: { failure: { code: -32001 } } });
  });

  it.each<readonly [string, (id: unknown) => string, string]>([
    ['another id', () => '{"jsonrpc":"2.0","id":"x","result":{}}', 'id-mismatch'],
    ['no JSON', () => '[DONE]', 'not-json'],
    ['no result', (id) => `{"jsonrpc":"2.0","id":${id}}`, 'missing-result'],
    [
      'an artifact without id',
      (id) => `{"jsonrpc":"2.0","id":${id},"result":{"artifactUpdate":{"taskId":"t-1","artifact":{}}}}`,
      'wrong-shape',
    ],
  ])('of the protocol (%s) is a cut, and no end of the task', async (_, data, kind) => {
    await using agent = await startAgent(
      bytes(
        (id) =>
          `data: {"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(WORKING.result)}}\n\ndata: ${data(id)}\n\n`,
      ),
    );
    expect((await collect(clientOf(agent).sendStreamingMessage(SEND))).at(-1)).toMatchObject({
      end: {
        kind: 'cut',
        lastState: 'TASK_STATE_WORKING',
        failure: { kind: 'protocol-error', fault: { kind } },
      },
    });
  });
});

describe('a stream beyond its bounds (T07)', () => {
  /** Writes the same block until nobody reads. */
  function endless(block: string, first = ''): Reply {
    return async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(first);
      await flood(response, block);
    };
  }
  const limits = {
    lineBytes: 64 * 1024,
    eventBytes: 128 * 1024,
    streamBytes: 4 * 1024 * 1024,
    resumptions: 3,
  };

  it.each<readonly [string, Reply, object]>([
    [
      'a line without end',
      endless('x'.repeat(10_000), 'data: '),
      { kind: 'stream-limit', what: 'line', limitBytes: 64 * 1024 },
    ],
    [
      'an event without end',
      endless(`data: ${'x'.repeat(1000)}\n`),
      { kind: 'stream-limit', what: 'event', limitBytes: 128 * 1024 },
    ],
    [
      'comments without end',
      endless(`: ${'x'.repeat(1000)}\n`),
      { kind: 'response-too-large', part: 'body' },
    ],
  ])('%s ends it, and it is not taken up again', async (_, reply, fault) => {
    await using agent = await startAgent(reply);
    const client = clientOf(agent, { limits });
    const before = process.memoryUsage().rss;
    expect(await collect(client.subscribeToTask({ id: 't-1' }))).toEqual([
      {
        kind: 'end',
        end: { kind: 'transport-error', failure: fault, retryable: false, mayHaveActed: false },
      },
    ]);
    expect(await collect(client.sendStreamingMessage(SEND))).toEqual([
      { kind: 'end', end: { kind: 'outcome-unknown', failure: fault, retryable: false } },
    ]);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    expect(agent.seen).toHaveLength(2);
    await expect.poll(agent.open).toBe(0);
  });

  it('one that never begins ends after the time for headers', async () => {
    await using agent = await startAgent(never());
    const client = clientOf(agent, { timeouts: { headersMs: 100 } });
    expect(await collect(client.sendStreamingMessage(SEND))).toMatchObject([
      { end: { kind: 'outcome-unknown', failure: { kind: 'timeout', phase: 'exchange' } } },
    ]);
  });
});
