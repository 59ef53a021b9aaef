import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createA2AClient } from '../../shared/client/index.ts';
import { createGuard } from '../../shared/guard/index.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import {
  clientOf,
  flood,
  MESSAGE,
  never,
  POLICY,
  type Reply,
  result,
  startAgent,
  task,
} from './fake-agent.ts';
import { METHODS } from './methods.ts';

describe('a call that gets no answer', () => {
  const EFFECTS = METHODS.filter(([name]) => /^(SendMessage|Cancel|Create|Delete)/.test(name));
  const READS = METHODS.filter(([name]) => /^(Get|List)/.test(name));

  it.each(EFFECTS)('%s: a timeout is an unknown outcome (K05)', async (_, call) => {
    await using agent = await startAgent(never());
    expect(await call(clientOf(agent, { timeouts: { totalMs: 150 } }))).toEqual({
      kind: 'outcome-unknown',
      failure: { kind: 'timeout', phase: 'exchange' },
      retryable: true,
    });
    await expect.poll(agent.open).toBe(0);
  });

  it.each(EFFECTS)('%s: a lost connection is an unknown outcome', async (_, call) => {
    await using agent = await startAgent((response) => void response.destroy());
    expect(await call(clientOf(agent))).toMatchObject({
      kind: 'outcome-unknown',
      failure: { kind: 'reset' },
      retryable: true,
    });
  });

  it.each(READS)('%s: nothing can have happened, so it failed and may be repeated', async (_, call) => {
    await using agent = await startAgent((response) => void response.destroy());
    expect(await call(clientOf(agent))).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'reset' },
      retryable: true,
      mayHaveActed: false,
    });
  });

  it('is known to have had no effect when the connection was refused', async () => {
    const agent = await startAgent(never());
    await agent[Symbol.asyncDispose]();
    expect(await clientOf(agent).sendMessage({ message: MESSAGE })).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'connect-failure' },
      retryable: true,
      mayHaveActed: false,
    });
  });

  it('is known to have had no effect when the handshake did not end, and ends after the time to connect, not the total (K05)', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const client = clientOf({ url: `https://127.0.0.1:${port}/` }, { timeouts: { totalMs: 20_000 } });
    const startedAt = performance.now();
    expect(await client.sendMessage({ message: MESSAGE })).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'timeout', phase: 'tls' },
      mayHaveActed: false,
    });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    silent.close();
  });

  it('ends after silence in the answer, long before its total time (K05)', async () => {
    await using agent = await startAgent((response) => void response.writeHead(200).write('{"jsonrpc":'));
    const client = clientOf(agent, { timeouts: { totalMs: 20_000, idleMs: 100 } });
    const startedAt = performance.now();
    expect(await client.getTask({ id: 't-1' })).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'timeout', phase: 'answer' },
    });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('ends after its total time, however busy the answer is (K05)', async () => {
    await using agent = await startAgent((response) => {
      const drip = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(drip));
    });
    const client = clientOf(agent, { timeouts: { totalMs: 600, idleMs: 20_000 } });
    expect(await client.sendMessage({ message: MESSAGE })).toEqual({
      kind: 'outcome-unknown',
      failure: { kind: 'timeout', phase: 'answer' },
      retryable: true,
    });
    expect(await clientOf(agent).getTask({ id: 't-1' }, { withinMs: 500 })).toMatchObject({
      failure: { kind: 'timeout', phase: 'answer' },
    });
    await expect.poll(agent.open).toBe(0);
  });

  it('and one that gets an answer leave no timer behind', async () => {
    const fine = result(task('TASK_STATE_WORKING'));
    await using agent = await startAgent([fine, fine, (response) => void response.destroy()]);
    const client = clientOf(agent);
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    await client.getTask({ id: 't-1' });
    const before = timers();
    await client.getTask({ id: 't-1' });
    await client.getTask({ id: 't-1' });
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it('was never sent when the caller had given up before', async () => {
    await using agent = await startAgent(never());
    expect(await clientOf(agent).sendMessage({ message: MESSAGE }, { signal: AbortSignal.abort() })).toEqual({
      kind: 'transport-error',
      failure: { kind: 'aborted' },
      retryable: false,
      mayHaveActed: false,
    });
    expect(agent.seen).toEqual([]);
  });

  it('is an unknown outcome when the caller gives up while it runs', async () => {
    const stop = new AbortController();
    await using agent = await startAgent(() => stop.abort());
    expect(await clientOf(agent).sendMessage({ message: MESSAGE }, { signal: stop.signal })).toMatchObject({
      kind: 'outcome-unknown',
      failure: { kind: 'aborted' },
    });
  });
});

describe('a body beyond its bound', () => {
  /** 200 MB, made as it is read. */
  const endless: Reply = async (response) => {
    const block = Buffer.alloc(64 * 1024, 'x');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"jsonrpc":"2.0","id":1,"result":"');
    await flood(response, block, 200 * 1024 * 1024);
    response.end('"}');
  };

  it('ends the call, is not held, and is not tried again (T07)', async () => {
    await using agent = await startAgent(endless);
    const client = clientOf(agent, { limits: { bodyBytes: 1024 * 1024 } });
    const before = process.memoryUsage().rss;
    expect(await client.getTask({ id: 't-1' })).toEqual({
      kind: 'transport-error',
      failure: { kind: 'response-too-large', part: 'body' },
      retryable: false,
      mayHaveActed: false,
    });
    expect(await client.sendMessage({ message: MESSAGE })).toEqual({
      kind: 'outcome-unknown',
      failure: { kind: 'response-too-large', part: 'body' },
      retryable: false,
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    await expect.poll(agent.open).toBe(0);
  });

  it('is held to that bound exactly, also where it is small', async () => {
    await using agent = await startAgent(result(task('TASK_STATE_WORKING')));
    const { length } = JSON.stringify({ jsonrpc: '2.0', id: 1, result: task('TASK_STATE_WORKING') });
    const ask = (bodyBytes: number) => clientOf(agent, { limits: { bodyBytes } }).getTask({ id: 't-1' });
    expect(await ask(length)).toMatchObject({ kind: 'ok' });
    expect(await ask(length - 1)).toMatchObject({ failure: { kind: 'response-too-large', part: 'body' } });
  });

  it('is 8 MiB unless said otherwise', async () => {
    await using agent = await startAgent(endless);
    const client = createA2AClient({
      guard: createGuard({ ownHosts: [], allowLoopback: true }),
      policy: POLICY,
      interface: { url: agent.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      clock: systemClock,
      random: { fraction: () => 0 },
    });
    expect(await client.getTask({ id: 't-1' })).toMatchObject({ failure: { kind: 'response-too-large' } });
  });
});
