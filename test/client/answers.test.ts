import { describe, expect, it } from 'vitest';
import type { CallOutcome } from '../../shared/client/index.ts';
import { clientOf, error, json, MESSAGE, raw, result, startAgent, task } from './fake-agent.ts';

function failure(outcome: CallOutcome<unknown>) {
  if (outcome.kind === 'ok') throw new Error('the call succeeded');
  return outcome;
}

describe('an answer', () => {
  it('with another id is refused, naming both ids (B04)', async () => {
    await using agent = await startAgent(result(task('TASK_STATE_COMPLETED'), { id: 'other' }));
    const client = clientOf(agent);
    expect(await client.getTask({ id: 't-1' })).toEqual({
      kind: 'protocol-error',
      fault: { kind: 'id-mismatch', expected: '1', received: 'other' },
      status: 200,
      mayHaveActed: false,
    });
    expect(await client.sendMessage({ message: MESSAGE })).toMatchObject({
      kind: 'protocol-error',
      fault: { kind: 'id-mismatch', expected: 'm-1', received: 'other' },
      mayHaveActed: true,
    });
  });

  it.each([
    ['a number as a string', '1'],
    ['null', null],
    ['none', undefined],
  ])('with %s for an id is not taken for the answer (B04)', async (_, id) => {
    await using agent = await startAgent(result(task('TASK_STATE_COMPLETED'), { id }));
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({ fault: { kind: 'id-mismatch' } });
  });

  it.each([{}, null])('%j to Delete is a success (B16)', async (value) => {
    await using agent = await startAgent(result(value));
    const outcome = await clientOf(agent).deletePushConfig({ taskId: 't-1', id: 'p-1' });
    expect(outcome).toEqual({ kind: 'ok', value: {}, notices: [] });
  });

  it.each([
    ['a missing result (K08)', '{"jsonrpc":"2.0","id":1}', { kind: 'missing-result' }],
    ['no JSON', '{"jsonrpc":"2.0",', { kind: 'not-json', excerpt: '{"jsonrpc":"2.0",' }],
    ['an empty body', '', { kind: 'not-json', excerpt: '' }],
    ['no envelope', '[{"jsonrpc":"2.0","id":1,"result":{}}]', { kind: 'not-json-rpc' }],
    ['a page of HTML', '<html>\n<b>hi</b>', { kind: 'not-json', excerpt: '<html> <b>hi</b>' }],
    [
      'a task without id',
      '{"jsonrpc":"2.0","id":1,"result":{"status":{"state":3}}}',
      { kind: 'wrong-shape', violations: [{ field: 'id', description: 'is required' }] },
    ],
    ['null for a task', '{"jsonrpc":"2.0","id":1,"result":null}', { kind: 'wrong-shape' }],
    [
      'another task',
      '{"jsonrpc":"2.0","id":1,"result":{"id":"t-2","status":{"state":3}}}',
      { kind: 'task-mismatch', expected: 't-1', received: 't-2' },
    ],
  ])('with %s is a protocol error', async (_, body, fault) => {
    await using agent = await startAgent(raw(200, body, { 'content-type': 'application/json' }));
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({
      kind: 'protocol-error',
      status: 200,
      fault,
    });
  });

  it.each(['application/json; charset=utf-8', 'application/a2a+json;v=1', 'text/plain', ''])(
    'is read whatever its content type says: %j (D05)',
    async (type) => {
      await using agent = await startAgent(
        json(200, (seen) => ({ jsonrpc: '2.0', id: seen.rpc.id, result: task('TASK_STATE_WORKING') }), {
          'content-type': type,
        }),
      );
      expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({ kind: 'ok' });
    },
  );

  it('may have fields that nobody knows, anywhere (E01)', async () => {
    const part = { text: 'x', foo: 1 };
    await using agent = await startAgent(
      result(
        task('TASK_STATE_COMPLETED', {
          foo: 1,
          status: {
            state: 'TASK_STATE_COMPLETED',
            progressHint: 0.5,
            message: { messageId: 'a', role: 'ROLE_AGENT', parts: [part], foo: {} },
          },
          artifacts: [{ artifactId: 'r', parts: [part], foo: [] }],
        }),
        { meta: true },
      ),
    );
    const outcome = await clientOf(agent).getTask({ id: 't-1' });
    expect(outcome).toMatchObject({
      kind: 'ok',
      notices: [],
      value: { artifacts: [{ parts: [{ text: 'x' }] }] },
    });
    expect(JSON.stringify(outcome)).not.toMatch(/foo|progressHint/);
  });

  it('with an unknown state is typed as such, and no end (E03)', async () => {
    await using agent = await startAgent(result(task('TASK_STATE_PAUSED')));
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({
      kind: 'ok',
      value: { status: { state: 'TASK_STATE_UNKNOWN', unknownState: 'TASK_STATE_PAUSED' } },
      notices: [{ kind: 'unknown-state', name: 'TASK_STATE_PAUSED' }],
    });
  });
});

describe('an error', () => {
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'TASK_NOT_FOUND',
    domain: 'a2a-protocol.org',
  };

  it.each([200, 400, 401, 404, 500])(
    'in a JSON-RPC body is typed with HTTP status %i too (K07)',
    async (code) => {
      await using agent = await startAgent(error(-32001, { data: [info] }, code));
      expect(await clientOf(agent).getTask({ id: 't-1' })).toEqual({
        kind: 'remote-error',
        code: -32001,
        reason: 'TASK_NOT_FOUND',
        message: 'no',
        data: [info],
        status: code,
        retryable: code === 500,
      });
    },
  );

  it('keeps neither a long message nor long data', async () => {
    await using agent = await startAgent(
      error(-32001, { message: 'x'.repeat(10_000), data: ['y'.repeat(20_000)] }),
    );
    const outcome = failure(await clientOf(agent).getTask({ id: 't-1' }));
    expect(outcome).not.toHaveProperty('data');
    expect(outcome).toMatchObject({ kind: 'remote-error', message: 'x'.repeat(500) });
  });

  it.each([-32601, -32003, -32004])('%i of a method is "not supported" (L12)', async (code) => {
    await using agent = await startAgent(error(code));
    expect(await clientOf(agent).listTasks({})).toEqual({
      kind: 'unsupported',
      code,
      message: 'no',
      status: 200,
      retryable: false,
    });
  });

  it('with id null answers a request that the peer could not read', async () => {
    await using agent = await startAgent(
      json(400, () => ({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'x' } })),
    );
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({
      kind: 'remote-error',
      code: -32700,
    });
  });

  it('says when the peer wants to be asked again, an hour away at most', async () => {
    const busy = (after: string) =>
      json(429, (seen) => ({ jsonrpc: '2.0', id: seen.rpc.id, error: { code: -32092, message: '' } }), {
        'retry-after': after,
      });
    await using agent = await startAgent([
      busy('7'),
      busy('999999999'),
      busy('soon'),
      busy(new Date(Date.now() + 60_000).toUTCString()),
    ]);
    const client = clientOf(agent);
    const waits = [];
    for (let call = 0; call < 4; call++) waits.push(failure(await client.getTask({ id: 't-1' })));
    expect(waits).toMatchObject([
      { retryable: true, retryAfterMs: 7000 },
      { retryAfterMs: 3_600_000 },
      {},
      {},
    ]);
    expect(waits[2]).not.toHaveProperty('retryAfterMs');
    expect((waits[3] as { retryAfterMs: number }).retryAfterMs).toSatisfy(
      (ms: number) => ms > 50_000 && ms <= 60_000,
    );
  });

  it('as one event of a stream answers a call that is not streamed too (S03)', async () => {
    await using agent = await startAgent((response, seen) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      response.end(
        `event: error\ndata: {"jsonrpc":"2.0","id":${seen.rpc.id},"error":{"code":-32001,"message":""}}\n\n`,
      );
    });
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({
      kind: 'remote-error',
      code: -32001,
    });
  });
});
