import { describe, expect, it } from 'vitest';
import type { CallOutcome } from '../../shared/client/index.ts';
import { clientOf, collect, json, MESSAGE, raw, result, startAgent, task } from './fake-agent.ts';

function failure(outcome: CallOutcome<unknown>) {
  if (outcome.kind === 'ok') throw new Error('the call succeeded');
  return outcome;
}

describe('a status without a JSON-RPC body', () => {
  it('is a transport error with the status and a cut body (K07)', async () => {
    const page = `<html>${'bad gateway \u0007'.repeat(100_000)}`;
    await using agent = await startAgent(raw(502, page, { 'content-type': 'text/html' }));
    const client = clientOf(agent, { limits: { bodyBytes: 1024 } });
    const outcome = failure(await client.getTask({ id: 't-1' }));
    expect(outcome).toMatchObject({
      kind: 'transport-error',
      status: 502,
      retryable: true,
      mayHaveActed: false,
    });
    const { excerpt } = (outcome as unknown as { failure: { excerpt: string } }).failure;
    expect(excerpt).toMatch(/^<html>bad gateway [\x20-\x7e]*$/);
    expect(excerpt.length).toBeLessThanOrEqual(200);
    expect(await client.sendMessage({ message: MESSAGE })).toMatchObject({
      kind: 'transport-error',
      mayHaveActed: true,
    });
    await expect.poll(agent.open).toBe(0);
  });

  it.each([
    [404, false],
    [403, false],
    [429, true],
    [503, true],
  ])('%i may be tried again: %s', async (code, retryable) => {
    await using agent = await startAgent(raw(code, 'no'));
    expect(await clientOf(agent).sendMessage({ message: MESSAGE })).toMatchObject({
      kind: 'transport-error',
      status: code,
      retryable,
      mayHaveActed: code >= 500,
    });
  });

  it('is that also when its body breaks off, or goes on in silence', async () => {
    const page = 'x'.repeat(70_000);
    await using agent = await startAgent([
      (response) => {
        response.writeHead(503, { 'content-length': '10' });
        response.write('half', () => response.destroy());
      },
      (response) => void response.writeHead(503).write(page),
    ]);
    const client = clientOf(agent, { timeouts: { totalMs: 20_000, idleMs: 20_000 } });
    const startedAt = performance.now();
    for (let call = 0; call < 2; call++) {
      const outcome = await client.getTask({ id: 't-1' });
      expect(outcome).toMatchObject({ kind: 'transport-error', status: 503, failure: { kind: 'status' } });
    }
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    await expect.poll(agent.open).toBe(0);
  });

  it('and a result in a body that says it failed is no result', async () => {
    await using agent = await startAgent(
      json(500, (seen) => ({ jsonrpc: '2.0', id: seen.rpc.id, result: task('TASK_STATE_COMPLETED') })),
    );
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({
      kind: 'transport-error',
      status: 500,
    });
  });
});

it.each([301, 302, 303, 307, 308])('a redirect (%i) is refused and not followed', async (code) => {
  await using other = await startAgent(result(task('TASK_STATE_COMPLETED')));
  await using agent = await startAgent(raw(code, '', { location: other.url }));
  const redirected = {
    kind: 'transport-error',
    failure: { kind: 'redirect', status: code },
    status: code,
    retryable: false,
    mayHaveActed: false,
  };
  expect(await clientOf(agent).sendMessage({ message: MESSAGE })).toEqual(redirected);
  const items = await collect(clientOf(agent).subscribeToTask({ id: 't-1' }));
  expect(items).toEqual([{ kind: 'end', end: redirected }]);
  expect(other.seen).toEqual([]);
});
