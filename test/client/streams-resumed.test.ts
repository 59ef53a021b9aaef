import { describe, expect, it } from 'vitest';
import type { StreamItem } from '../../shared/client/index.ts';
import {
  clientOf,
  collect,
  error,
  ImpatientClock,
  json,
  type Reply,
  raw,
  result,
  startAgent,
  status,
  stream,
  task,
} from './fake-agent.ts';
import { ARTIFACT, DONE, FINISHED, kinds, SEND, WORKING } from './stream-samples.ts';

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
