import { describe, expect, it } from 'vitest';
import { pollDelayMs, sendAndWait, type WaitOptions } from '../../shared/client/index.ts';
import {
  clientOf,
  error,
  type FakeAgent,
  frozenClock,
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

const REQUEST = { message: MESSAGE, configuration: { returnImmediately: true } };
const HOUR = 3_600_000;
const sent = (state: string, more = {}) => result({ task: task(state, more) });
const lost: Reply = (response) => void response.destroy();
const STATUS_MESSAGE = { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'because' }] };

function run(agent: FakeAgent, options: Partial<WaitOptions> = {}, clock = new ImpatientClock()) {
  const client = clientOf(agent, { clock });
  return sendAndWait(client, REQUEST, { clock, deadline: clock.now() + HOUR, ...options });
}

describe('waiting for a result', () => {
  it('asks for an unfinished task at 5, 10, 20 … seconds, 5 minutes at most, until it is over (K01)', async () => {
    const clock = new ImpatientClock();
    const working = result(task('TASK_STATE_WORKING'));
    await using agent = await startAgent([
      sent('TASK_STATE_SUBMITTED'),
      ...Array(8).fill(working),
      result(task('TASK_STATE_COMPLETED')),
    ]);
    expect(await run(agent, {}, clock)).toMatchObject({ kind: 'completed', task: { id: 't-1' } });
    expect(clock.slept.map((ms) => ms / 1000)).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
    expect(agent.seen.map(({ rpc }) => rpc.method)).toEqual(['SendMessage', ...Array(9).fill('GetTask')]);
  });

  it('follows another schedule where one is given', () => {
    expect([0, 1, 2, 3, 2000].map((poll) => pollDelayMs(poll, { firstMs: 10, maxMs: 60 }))).toEqual([
      10, 20, 40, 60, 60,
    ]);
  });

  it('asks for nothing when the answer is the result', async () => {
    await using agent = await startAgent(sent('TASK_STATE_COMPLETED'));
    expect(await run(agent)).toMatchObject({ kind: 'completed' });
    expect(agent.seen).toHaveLength(1);
  });

  it('takes a Message for the result', async () => {
    await using agent = await startAgent(result({ message: { ...MESSAGE, role: 'ROLE_AGENT' } }));
    expect(await run(agent)).toMatchObject({ kind: 'message', message: { parts: [{ text: 'hi' }] } });
  });

  it.each(['TASK_STATE_FAILED', 'TASK_STATE_REJECTED', 'TASK_STATE_CANCELED'])(
    'of a task that ends %s is a failure with the status message (K02)',
    async (state) => {
      const end = task(state, { status: { state, message: STATUS_MESSAGE } });
      await using agent = await startAgent([sent('TASK_STATE_WORKING'), result(end)]);
      expect(await run(agent)).toMatchObject({
        kind: 'failed',
        state,
        message: { parts: [{ text: 'because' }] },
      });
    },
  );

  it.each(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED'])('stops at %s (K01)', async (state) => {
    await using agent = await startAgent([sent('TASK_STATE_WORKING'), result(task(state))]);
    expect(await run(agent)).toMatchObject({ kind: 'waiting', state });
  });

  it.each(['COMPLETED', 'FAILED', 'INPUT_REQUIRED'])(
    'of a task that has nothing but id and state %s throws nothing (K04)',
    async (name) => {
      await using agent = await startAgent(
        result({ task: { id: 't-1', status: { state: `TASK_STATE_${name}` } } }),
      );
      const outcome = await run(agent);
      expect(outcome).toMatchObject({ task: { id: 't-1' } });
      expect(outcome).not.toHaveProperty('message');
      expect('task' in outcome && outcome.task).not.toHaveProperty('artifacts');
    },
  );

  it('waits through a state that nobody knows, and never takes it for an end (E03)', async () => {
    await using agent = await startAgent([
      sent('TASK_STATE_ARCHIVED'),
      result(task('TASK_STATE_DONE')),
      result(task('TASK_STATE_COMPLETED')),
    ]);
    expect(await run(agent)).toMatchObject({ kind: 'completed' });
    expect(agent.seen).toHaveLength(3);
  });

  it('ends at its deadline, with the task as it was last seen (K01)', async () => {
    const clock = new ImpatientClock();
    await using agent = await startAgent([sent('TASK_STATE_SUBMITTED'), result(task('TASK_STATE_WORKING'))]);
    const startedAt = clock.now();
    const outcome = await run(agent, { deadline: startedAt + 60_000 }, clock);
    expect(outcome).toMatchObject({
      kind: 'deadline-exceeded',
      task: { status: { state: 'TASK_STATE_WORKING' } },
    });
    expect(clock.now()).toBe(startedAt + 60_000);
    expect(agent.seen).toHaveLength(4);
  });

  it('starts nothing after its deadline, and lets no call last beyond it', async () => {
    await using agent = await startAgent(never());
    const clock = new ImpatientClock();
    expect(await run(agent, { deadline: clock.now() }, clock)).toEqual({ kind: 'deadline-exceeded' });
    expect(agent.seen).toEqual([]);
    const outcome = await run(agent, { deadline: clock.now() + 150 }, clock);
    expect(outcome).toMatchObject({
      kind: 'call-failed',
      failure: { kind: 'outcome-unknown', failure: { kind: 'timeout' } },
    });
  });

  it('stops when the caller does', async () => {
    const stop = new AbortController();
    await using agent = await startAgent([
      sent('TASK_STATE_WORKING'),
      (response, seen) => {
        stop.abort();
        return result(task('TASK_STATE_WORKING'))(response, seen);
      },
    ]);
    expect(await run(agent, { signal: stop.signal })).toMatchObject({ kind: 'stopped', task: { id: 't-1' } });
    expect(agent.seen).toHaveLength(2);
  });

  it('stops when the caller does between two polls', async () => {
    const stop = new AbortController();
    await using agent = await startAgent(sent('TASK_STATE_WORKING'));
    const clock = { now: () => 0, sleep: async () => stop.abort() };
    const options = { clock, deadline: HOUR, signal: stop.signal };
    expect(await sendAndWait(clientOf(agent), REQUEST, options)).toMatchObject({ kind: 'stopped' });
    expect(agent.seen).toHaveLength(1);
  });

  it('keeps neither a failure nor a wait that a later poll made good', async () => {
    const clock = new ImpatientClock();
    const working = result(task('TASK_STATE_WORKING'));
    await using agent = await startAgent([
      sent('TASK_STATE_WORKING'),
      raw(429, '', { 'retry-after': '60' }),
      working,
    ]);
    const outcome = await run(agent, { deadline: clock.now() + 100_000 }, clock);
    expect(outcome).toMatchObject({ kind: 'deadline-exceeded', task: { id: 't-1' } });
    expect(outcome).not.toHaveProperty('lastFailure');
    expect(clock.slept).toEqual([5_000, 60_000, 20_000, 15_000]);
  });

  it('goes on through polls that fail and may pass, and waits as long as the agent asked for', async () => {
    const clock = new ImpatientClock();
    await using agent = await startAgent([
      sent('TASK_STATE_WORKING'),
      raw(502, '<html>'),
      lost,
      json(429, (seen) => ({ jsonrpc: '2.0', id: seen.rpc.id, error: { code: -32092, message: '' } }), {
        'retry-after': '120',
      }),
      error(-32603),
      result(task('TASK_STATE_COMPLETED')),
    ]);
    expect(await run(agent, {}, clock)).toMatchObject({ kind: 'completed' });
    expect(clock.slept.map((ms) => ms / 1000)).toEqual([5, 10, 20, 120, 80]);
  });

  it.each([-32001, -32601])('ends when the task cannot be asked for (%i)', async (code) => {
    await using agent = await startAgent([sent('TASK_STATE_WORKING'), error(code)]);
    expect(await run(agent)).toMatchObject({ kind: 'call-failed', failure: { code }, task: { id: 't-1' } });
  });

  it('says so when the answer is of a kind that nobody knows', async () => {
    await using agent = await startAgent(result({ negotiation: {} }));
    expect(await run(agent)).toMatchObject({
      kind: 'call-failed',
      failure: {
        kind: 'protocol-error',
        fault: { kind: 'unknown-result', name: 'negotiation' },
        mayHaveActed: true,
      },
    });
  });

  it('by a stream reads the finished task whole, at once', async () => {
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'x' }] }];
    await using agent = await startAgent([
      sent('TASK_STATE_WORKING'),
      stream([{ result: status('TASK_STATE_COMPLETED') }]),
      result(task('TASK_STATE_COMPLETED', { artifacts })),
    ]);
    expect(await runSubscribed(agent)).toMatchObject({ kind: 'completed', task: { artifacts } });
  });

  it('by a stream polls when the agent takes no subscription', async () => {
    const working = result(task('TASK_STATE_WORKING'));
    await using agent = await startAgent([
      sent('TASK_STATE_WORKING'),
      error(-32004),
      working,
      working,
      result(task('TASK_STATE_COMPLETED')),
    ]);
    expect(await runSubscribed(agent)).toMatchObject({ kind: 'completed' });
    const methods = ['SendMessage', 'SubscribeToTask', 'GetTask', 'GetTask', 'GetTask'];
    expect(agent.seen.map(({ rpc }) => rpc.method)).toEqual(methods);
  });

  it('by a stream that lasts ends at its deadline', async () => {
    const lasting: Reply = (response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    await using agent = await startAgent([sent('TASK_STATE_WORKING'), lasting]);
    expect(await run(agent, { subscribe: true })).toMatchObject({
      kind: 'deadline-exceeded',
      task: { id: 't-1' },
    });
    await expect.poll(agent.open).toBe(0);
  });

  it('by a stream for longer than a timer can run sets none that fires at once', async () => {
    const asked: number[] = [];
    const clock = {
      ...frozenClock,
      sleep(ms: number, signal?: AbortSignal) {
        asked.push(ms);
        return frozenClock.sleep(ms, signal);
      },
    };
    await using agent = await startAgent([
      sent('TASK_STATE_WORKING'),
      stream([{ result: status('TASK_STATE_COMPLETED') }]),
      result(task('TASK_STATE_COMPLETED')),
    ]);
    const options = { clock, deadline: clock.now() + 1000 * HOUR, subscribe: true };
    expect(await sendAndWait(clientOf(agent), REQUEST, options)).toMatchObject({ kind: 'completed' });
    expect(asked).toEqual([2 ** 31 - 1]);
  });

  function runSubscribed(agent: FakeAgent) {
    const options = { clock: frozenClock, deadline: frozenClock.now() + HOUR, subscribe: true };
    return sendAndWait(clientOf(agent), REQUEST, options);
  }
});

describe('sending again', () => {
  it('never happens by itself after an unknown outcome', async () => {
    await using agent = await startAgent([lost, sent('TASK_STATE_COMPLETED')]);
    expect(await run(agent)).toMatchObject({ kind: 'call-failed', failure: { kind: 'outcome-unknown' } });
    expect(agent.seen).toHaveLength(1);
  });

  it('is the same bytes, as often as the caller allows', async () => {
    await using agent = await startAgent(lost);
    expect(await run(agent, { resends: 2 })).toMatchObject({
      kind: 'call-failed',
      failure: { kind: 'outcome-unknown' },
    });
    expect(agent.seen).toHaveLength(3);
    expect(new Set(agent.seen.map(({ text }) => text)).size).toBe(1);
    expect(agent.seen[0]?.rpc.params).toEqual(REQUEST);
  });

  it('needs no permission when nothing can have come of the first', async () => {
    const busy = json(503, (seen) => ({
      jsonrpc: '2.0',
      id: seen.rpc.id,
      error: { code: -32093, message: '' },
    }));
    await using agent = await startAgent([busy, raw(429, ''), sent('TASK_STATE_COMPLETED')]);
    expect(await run(agent)).toMatchObject({ kind: 'completed' });
    expect(new Set(agent.seen.map(({ text }) => text)).size).toBe(1);
  });

  it.each<readonly [string, Reply]>([
    ['a page of a gateway', raw(502, '<html>')],
    ['an internal error', error(-32603)],
  ])('needs permission after %s, behind which the agent may have acted', async (_, reply) => {
    await using agent = await startAgent([reply, sent('TASK_STATE_COMPLETED')]);
    expect(await run(agent)).toMatchObject({ kind: 'call-failed' });
    expect(agent.seen).toHaveLength(1);
  });

  it('never happens after a refusal', async () => {
    await using agent = await startAgent(error(-32602));
    expect(await run(agent, { resends: 5 })).toMatchObject({
      kind: 'call-failed',
      failure: { code: -32602 },
    });
    expect(agent.seen).toHaveLength(1);
  });
});
