import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { StreamItem } from '../../shared/client/index.ts';
import {
  clientOf,
  collect,
  error,
  flood,
  ImpatientClock,
  json,
  MESSAGE,
  never,
  type Reply,
  raw,
  result,
  startAgent,
  status,
  stream,
  task,
} from './fake-agent.ts';

const SEND = { message: MESSAGE };
const WORKING = { result: { task: task('TASK_STATE_WORKING') } };
const DONE = { result: status('TASK_STATE_COMPLETED') };
const ARTIFACT = {
  result: {
    artifactUpdate: {
      taskId: 't-1',
      contextId: 'c-1',
      artifact: { artifactId: 'a', parts: [{ text: 'x' }] },
    },
  },
};
const FINISHED = { kind: 'end', end: { kind: 'finished', taskId: 't-1', state: 'TASK_STATE_COMPLETED' } };

function kinds(items: readonly StreamItem[]): string[] {
  return items.map((item) =>
    item.kind === 'event' ? item.event.kind : item.kind === 'end' ? `end:${item.end.kind}` : item.kind,
  );
}

/** Writes text as it stands, in chunks of `size` bytes, and ends the answer. */
function bytes(text: (id: unknown) => string, size = Number.POSITIVE_INFINITY): Reply {
  return async (response, seen) => {
    response.writeHead(200, { 'content-type': 'Text/Event-Stream; charset=utf-8' });
    const all = Buffer.from(text(JSON.stringify(seen.rpc.id)));
    for (let at = 0; at < all.length; at += size) {
      await new Promise((resolve) =>
        response.write(all.subarray(at, Math.min(all.length, at + size)), resolve),
      );
    }
    response.end();
  };
}

describe('a stream', () => {
  it('brings each event as it comes, and then its end', async () => {
    await using agent = await startAgent(stream([WORKING, ARTIFACT, DONE]));
    const items = await collect(clientOf(agent).sendStreamingMessage(SEND));
    expect(kinds(items)).toEqual(['task', 'artifactUpdate', 'statusUpdate', 'end:finished']);
    expect(items.at(-1)).toEqual(FINISHED);
    expect(agent.seen[0]).toMatchObject({
      headers: { accept: 'text/event-stream, application/json' },
      rpc: { id: 'm-1', params: SEND },
    });
  });

  it('is over with the terminal event, also when the agent keeps the connection open', async () => {
    await using agent = await startAgent(async (response, seen) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: seen.rpc.id, result: DONE.result })}\n\n`);
    });
    expect(await collect(clientOf(agent).subscribeToTask({ id: 't-1' }))).toMatchObject([
      { kind: 'event' },
      FINISHED,
    ]);
    await expect.poll(agent.open).toBe(0);
  });

  it('that fails the task finishes in that state, which is no success (K02)', async () => {
    await using agent = await startAgent(stream([{ result: status('TASK_STATE_FAILED') }]));
    const items = await collect(clientOf(agent).sendStreamingMessage(SEND));
    expect(items.at(-1)).toEqual({
      kind: 'end',
      end: { kind: 'finished', taskId: 't-1', state: 'TASK_STATE_FAILED' },
    });
  });

  it('of a task goes on after a Message in it', async () => {
    const message = { message: { ...MESSAGE, role: 'ROLE_AGENT' } };
    await using agent = await startAgent(stream([WORKING, { result: message }, DONE]));
    const items = await collect(clientOf(agent).sendStreamingMessage(SEND));
    expect(kinds(items)).toEqual(['task', 'message', 'statusUpdate', 'end:finished']);
  });

  it('may be one Message', async () => {
    await using agent = await startAgent(
      stream([{ result: { message: { ...MESSAGE, role: 'ROLE_AGENT' } } }]),
    );
    expect(kinds(await collect(clientOf(agent).sendStreamingMessage(SEND)))).toEqual([
      'message',
      'end:answered',
    ]);
  });

  it.each(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED'])(
    'that the agent ends at %s waits for somebody',
    async (state) => {
      await using agent = await startAgent(stream([WORKING, { result: status(state) }]));
      const items = await collect(clientOf(agent).sendStreamingMessage(SEND));
      expect(items.at(-1)).toEqual({ kind: 'end', end: { kind: 'waiting', taskId: 't-1', state } });
      expect(agent.seen).toHaveLength(1);
    },
  );

  it('lives longer than its idle time and any total while events and keep-alives come (K05, S12)', async () => {
    await using agent = await startAgent(async (response, seen) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let tick = 0; tick < 12; tick++) {
        response.write(': ping\n\n');
        await wait(40);
      }
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: seen.rpc.id, result: DONE.result })}\n\n`);
    });
    const client = clientOf(agent, { timeouts: { totalMs: 100, headersMs: 200, idleMs: 250 } });
    expect((await collect(client.subscribeToTask({ id: 't-1' }))).at(-1)).toEqual(FINISHED);
    expect(agent.seen).toHaveLength(1);
  });

  it('has a total time where one is wanted (K05)', async () => {
    await using agent = await startAgent((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const ping = setInterval(() => response.write(': ping\n\n'), 20);
      response.once('close', () => clearInterval(ping));
    });
    const client = clientOf(agent, { timeouts: { streamTotalMs: 200 }, limits: { resumptions: 0 } });
    expect(await collect(client.subscribeToTask({ id: 't-1' }))).toMatchObject([
      { end: { kind: 'transport-error', failure: { kind: 'timeout', phase: 'answer' } } },
    ]);
  });

  it('is left without a trace when its reader leaves', async () => {
    await using agent = await startAgent(async (response, seen) => {
      await stream([WORKING])(Object.assign(response, { end: () => response }), seen);
    });
    for await (const item of clientOf(agent).sendStreamingMessage(SEND)) {
      expect(item.kind).toBe('event');
      break;
    }
    await expect.poll(agent.open).toBe(0);
    expect(agent.seen).toHaveLength(1);
  });
});

describe('what agents write into streams (S12)', () => {
  const envelope = (id: unknown, value: unknown) =>
    `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(value)}}`;
  const end = (id: unknown) => `data: ${envelope(id, DONE.result)}\n\n`;

  it.each<readonly [string, (id: unknown) => string]>([
    ['keep-alive comments', (id) => `: ping\n\n:\n\n${end(id)}`],
    ['retry, id and event fields', (id) => `retry: 10\n\nid: 7\nevent: message\n${end(id)}`],
    ['CRLF', (id) => `: hi\r\n\r\nid: 7\r\n${end(id).replaceAll('\n', '\r\n')}`],
    ['CR alone', (id) => end(id).replaceAll('\n', '\r')],
    ['no space after data:', (id) => end(id).replace('data: ', 'data:')],
    [
      'data over several lines',
      (id) => `data: {"jsonrpc":"2.0",\ndata: "id":${id},\ndata:"result":${JSON.stringify(DONE.result)}}\n\n`,
    ],
    ['a byte order mark', (id) => `\uFEFF${end(id)}`],
    ['empty data', (id) => `data:\n\ndata: \n\n${end(id)}`],
    ['unknown fields', (id) => `foo: bar\nbaz\n${end(id)}`],
  ])('%s are read, in chunks of any cut', async (_, text) => {
    await using agent = await startAgent([bytes(text), bytes(text, 7)]);
    for (let round = 0; round < 2; round++) {
      const items = await collect(clientOf(agent).subscribeToTask({ id: 't-1' }));
      expect(kinds(items)).toEqual(['statusUpdate', 'end:finished']);
    }
  });

  it('an event id is passed on with its event', async () => {
    await using agent = await startAgent(
      stream([
        { ...WORKING, id: '1.0' },
        { ...DONE, id: '2.0' },
      ]),
    );
    const items = await collect(clientOf(agent).sendStreamingMessage(SEND));
    expect(items.map((item) => item.kind === 'event' && item.id)).toEqual(['1.0', '2.0', false]);
  });

  it('one event as a JSON body is taken for the stream', async () => {
    await using agent = await startAgent(result({ task: task('TASK_STATE_COMPLETED') }));
    expect(kinds(await collect(clientOf(agent).sendStreamingMessage(SEND)))).toEqual([
      'task',
      'end:finished',
    ]);
  });
});

describe('a stream of a newer agent', () => {
  it('goes on past members, states and parts that nobody knows, and tells them', async () => {
    await using agent = await startAgent(
      stream([
        { result: { task: task('TASK_STATE_SUBMITTED', { generation: 2 }) } },
        { result: { progressUpdate: { taskId: 't-1', percent: 50 } }, id: '9' },
        { result: status('TASK_STATE_PAUSED') },
        {
          result: status('TASK_STATE_WORKING', {
            message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'x' }, { hologram: {} }] },
          }),
        },
        DONE,
      ]),
    );
    const items = await collect(clientOf(agent).sendStreamingMessage(SEND));
    expect(kinds(items)).toEqual([
      'task',
      'skipped',
      'statusUpdate',
      'statusUpdate',
      'statusUpdate',
      'end:finished',
    ]);
    expect(
      items.flatMap((item) => ('notices' in item ? item.notices : [])).map(({ kind, name }) => [kind, name]),
    ).toEqual([
      ['unknown-member', 'progressUpdate'],
      ['unknown-state', 'TASK_STATE_PAUSED'],
      ['unknown-part', 'hologram'],
    ]);
  });

  it('that ends in an unknown state has not ended', async () => {
    await using agent = await startAgent([
      stream([{ result: status('TASK_STATE_ARCHIVED') }]),
      stream([DONE]),
    ]);
    const items = await collect(clientOf(agent, { clock: new ImpatientClock() }).sendStreamingMessage(SEND));
    expect(kinds(items)).toEqual(['statusUpdate', 'interrupted', 'statusUpdate', 'end:finished']);
  });
});

describe('a stream that breaks off', () => {
  it('in a state that is not terminal is reported, and the task subscribed to (S06)', async () => {
    await using agent = await startAgent([stream([WORKING], { cut: true }), stream([WORKING, DONE])]);
    const items = await collect(
      clientOf(agent, {
        clock: new ImpatientClock(),
        tenant: 'x',
        credential: 'secret',
      }).sendStreamingMessage(SEND),
    );
    expect(kinds(items)).toEqual(['task', 'interrupted', 'task', 'statusUpdate', 'end:finished']);
    expect(items[1]).toMatchObject({
      resumption: 1,
      failure: { kind: 'transport-error', failure: { kind: 'reset', phase: 'answer' }, retryable: true },
    });
    expect(agent.seen[1]).toMatchObject({
      headers: { 'a2a-version': '1.0', authorization: 'Bearer secret' },
      rpc: { method: 'SubscribeToTask', params: { id: 't-1', tenant: 'x' } },
    });
    expect(agent.seen[1]?.headers).not.toHaveProperty('last-event-id');
  });

  it('in good order, but before the end of the task, is taken up again too', async () => {
    await using agent = await startAgent([stream([WORKING]), stream([DONE])]);
    const items = await collect(clientOf(agent, { clock: new ImpatientClock() }).sendStreamingMessage(SEND));
    expect(items[1]).toMatchObject({ kind: 'interrupted', failure: { failure: { kind: 'ended' } } });
    expect(items.at(-1)).toEqual(FINISHED);
  });

  it('in silence is taken up again after its idle time', async () => {
    const silent: Reply = async (response, seen) =>
      stream([WORKING])(Object.assign(response, { end: () => response }), seen);
    await using agent = await startAgent([silent, stream([DONE])]);
    const items = await collect(
      clientOf(agent, { clock: new ImpatientClock(), timeouts: { idleMs: 100 } }).sendStreamingMessage(SEND),
    );
    expect(items[1]).toMatchObject({
      kind: 'interrupted',
      failure: { failure: { kind: 'timeout', phase: 'answer' } },
    });
    expect(items.at(-1)).toEqual(FINISHED);
  });

  it('goes on after the last id that was seen, over several breaks (S06)', async () => {
    await using agent = await startAgent([
      stream(
        [
          { ...WORKING, id: '1.0' },
          { ...ARTIFACT, id: '2.0' },
        ],
        { cut: true },
      ),
      stream([], { cut: true }),
      stream(
        [
          { result: { progressUpdate: {} }, id: '2.5' },
          { ...ARTIFACT, id: '3.0' },
        ],
        { cut: true },
      ),
      stream([DONE]),
    ]);
    const items = await collect(clientOf(agent, { clock: new ImpatientClock() }).sendStreamingMessage(SEND));
    expect(items.at(-1)).toEqual(FINISHED);
    expect(agent.seen.map(({ headers }) => headers['last-event-id'])).toEqual([
      undefined,
      '2.0',
      '2.0',
      '3.0',
    ]);
  });

  it('starts after an id that the caller kept', async () => {
    await using agent = await startAgent(stream([DONE]));
    await collect(clientOf(agent).subscribeToTask({ id: 't-1' }, { lastEventId: '4.1' }));
    expect(agent.seen[0]?.headers['last-event-id']).toBe('4.1');
  });

  it('sends no id back that cannot stand in a header', async () => {
    await using agent = await startAgent([stream([{ ...WORKING, id: 'é' }], { cut: true }), stream([DONE])]);
    const items = await collect(clientOf(agent, { clock: new ImpatientClock() }).sendStreamingMessage(SEND));
    expect(items.at(-1)).toEqual(FINISHED);
    expect(agent.seen[1]?.headers).not.toHaveProperty('last-event-id');
  });

  it('without having named its task is an unknown outcome, and is not taken up again', async () => {
    await using agent = await startAgent([stream([], { cut: true }), stream([])]);
    const client = clientOf(agent, { clock: new ImpatientClock() });
    expect(await collect(client.sendStreamingMessage(SEND))).toMatchObject([
      { end: { kind: 'outcome-unknown', failure: { kind: 'reset' } } },
    ]);
    expect(await collect(client.sendStreamingMessage(SEND))).toMatchObject([
      { end: { kind: 'outcome-unknown', failure: { kind: 'ended' } } },
    ]);
    expect(agent.seen).toHaveLength(2);
  });

  it('of a sent message at INPUT_REQUIRED lost nothing', async () => {
    await using agent = await startAgent(
      stream([{ result: status('TASK_STATE_INPUT_REQUIRED') }], { cut: true }),
    );
    expect(kinds(await collect(clientOf(agent).sendStreamingMessage(SEND)))).toEqual([
      'statusUpdate',
      'end:waiting',
    ]);
  });

  it('again and again is a cut in the end, with waits that grow, and never a success (S06)', async () => {
    const clock = new ImpatientClock();
    await using agent = await startAgent([
      stream([{ ...WORKING, id: '1.0' }], { cut: true }),
      (response) => void response.destroy(),
    ]);
    const client = clientOf(agent, { clock, random: { fraction: () => 0.999 }, limits: { resumptions: 9 } });
    const items = await collect(client.sendStreamingMessage(SEND));
    expect(agent.seen).toHaveLength(10);
    expect(clock.slept).toEqual([499, 999, 1998, 3996, 7992, 15984, 29970, 29970, 29970]);
    expect(items.at(-1)).toMatchObject({
      kind: 'end',
      end: {
        kind: 'cut',
        taskId: 't-1',
        lastState: 'TASK_STATE_WORKING',
        lastEventId: '1.0',
        failure: { kind: 'transport-error' },
      },
    });
  });

  it('and brings an event each time is taken up no more often than allowed', async () => {
    await using agent = await startAgent(stream([WORKING], { cut: true }));
    const items = await collect(clientOf(agent, { clock: new ImpatientClock() }).sendStreamingMessage(SEND));
    expect(agent.seen).toHaveLength(11);
    expect(kinds(items).at(-1)).toBe('end:cut');
  });

  it('waits as long as the agent asked for, 30 s at most (S12)', async () => {
    const clock = new ImpatientClock();
    await using agent = await startAgent([
      stream([WORKING], { cut: true, prefix: 'retry: 1234\n\n' }),
      stream([WORKING], { cut: true, prefix: 'retry: 99999999\n\n' }),
      json(503, (seen) => ({ jsonrpc: '2.0', id: seen.rpc.id, error: { code: -32093, message: '' } }), {
        'retry-after': '9',
      }),
      stream([DONE]),
    ]);
    expect((await collect(clientOf(agent, { clock }).sendStreamingMessage(SEND))).at(-1)).toEqual(FINISHED);
    expect(clock.slept).toEqual([1234, 30_000, 9000]);
  });

  it.each([-32004, -32602])(
    'and cannot be subscribed to any more (%i) is settled by GetTask (S04)',
    async (code) => {
      await using agent = await startAgent([
        stream([WORKING], { cut: true }),
        error(code),
        result(task('TASK_STATE_COMPLETED')),
      ]);
      const items = await collect(
        clientOf(agent, { clock: new ImpatientClock() }).sendStreamingMessage(SEND),
      );
      expect(agent.seen.map(({ rpc }) => rpc.method)).toEqual([
        'SendStreamingMessage',
        'SubscribeToTask',
        'GetTask',
      ]);
      expect(kinds(items)).toEqual(['task', 'interrupted', 'task', 'end:finished']);
      expect(items[2]).toMatchObject({ via: 'get-task' });
    },
  );

  it('and whose agent takes no subscription at all is a cut while the task runs (S04)', async () => {
    await using agent = await startAgent([
      stream([WORKING], { cut: true }),
      error(-32004),
      result(task('TASK_STATE_WORKING')),
    ]);
    const items = await collect(clientOf(agent, { clock: new ImpatientClock() }).sendStreamingMessage(SEND));
    expect(items.at(-1)).toMatchObject({
      end: { kind: 'cut', lastState: 'TASK_STATE_WORKING', failure: { kind: 'unsupported', code: -32004 } },
    });
    expect(agent.seen).toHaveLength(3);
  });

  it('and whose task is gone is a cut', async () => {
    await using agent = await startAgent([stream([WORKING], { cut: true }), error(-32001)]);
    const items = await collect(clientOf(agent, { clock: new ImpatientClock() }).sendStreamingMessage(SEND));
    expect(items.at(-1)).toMatchObject({
      end: { kind: 'cut', failure: { kind: 'remote-error', code: -32001 } },
    });
    expect(agent.seen).toHaveLength(2);
  });

  it('is not taken up again once the caller gave up', async () => {
    const stop = new AbortController();
    await using agent = await startAgent(stream([WORKING], { cut: true }));
    const items: StreamItem[] = [];
    for await (const item of clientOf(agent, { clock: new ImpatientClock() }).sendStreamingMessage(SEND, {
      signal: stop.signal,
    })) {
      items.push(item);
      if (item.kind === 'interrupted') stop.abort();
    }
    expect(items.at(-1)).toMatchObject({ end: { kind: 'cut', failure: { failure: { kind: 'aborted' } } } });
    expect(agent.seen).toHaveLength(1);
  });
});

describe('a subscription', () => {
  it.each([-32004, -32602])('that is refused with %i is answered by GetTask (S04)', async (code) => {
    await using agent = await startAgent([error(code), result(task('TASK_STATE_FAILED'))]);
    const items = await collect(clientOf(agent).subscribeToTask({ id: 't-1' }));
    expect(items).toMatchObject([
      { kind: 'event', via: 'get-task' },
      { end: { kind: 'finished', state: 'TASK_STATE_FAILED' } },
    ]);
  });

  it('of an unknown task fails as such, also where it is refused as bad params', async () => {
    await using agent = await startAgent([error(-32001), error(-32602), error(-32001)]);
    const client = clientOf(agent);
    for (let round = 0; round < 2; round++) {
      expect(await collect(client.subscribeToTask({ id: 't-1' }))).toMatchObject([
        { end: { kind: 'remote-error', code: -32001 } },
      ]);
    }
  });

  it('is tried again when the agent cannot be reached at first', async () => {
    await using agent = await startAgent([raw(502, '<html>'), stream([DONE])]);
    const items = await collect(
      clientOf(agent, { clock: new ImpatientClock() }).subscribeToTask({ id: 't-1' }),
    );
    expect(kinds(items)).toEqual(['interrupted', 'statusUpdate', 'end:finished']);
  });

  it('that brings events of another task is a protocol error', async () => {
    await using agent = await startAgent(stream([{ result: status('TASK_STATE_COMPLETED') }]));
    expect(await collect(clientOf(agent).subscribeToTask({ id: 'other' }))).toMatchObject([
      {
        end: { kind: 'protocol-error', fault: { kind: 'task-mismatch', expected: 'other', received: 't-1' } },
      },
    ]);
  });
});

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
