import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  clientOf,
  collect,
  ImpatientClock,
  MESSAGE,
  result,
  startAgent,
  status,
  stream,
  task,
} from './fake-agent.ts';
import { ARTIFACT, bytes, DONE, FINISHED, kinds, SEND, WORKING } from './stream-samples.ts';

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
      for (let tick = 0; tick < 30; tick++) {
        response.write(': ping\n\n');
        await wait(40);
      }
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: seen.rpc.id, result: DONE.result })}\n\n`);
    });
    const client = clientOf(agent, { timeouts: { totalMs: 100, headersMs: 1000, idleMs: 1000 } });
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
