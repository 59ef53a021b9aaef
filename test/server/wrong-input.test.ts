import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executing, message } from './rig.ts';
import { ask, errorOf, read, type Scene, startScene } from './scene.ts';
import { wrongRequests } from './wrong-requests.ts';

/** Codes of our own, for what the protocol has none. */
const OURS = new Set([-32090, -32091, -32092, -32093]);

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({
    clients: [
      'alice',
      { id: 'bounded', profiles: ['prose'] },
      { id: 'nothing', profiles: [] },
      { id: 'gone', disabled: true },
    ],
    profiles: {
      prose: { inputModes: ['text/plain'], outputModes: ['text/plain'] },
      draft: { published: false },
      extended: { extensions: [{ uri: 'urn:needed', required: true }] },
      secretive: { answerLevel: 'none' },
    },
  });
});
afterAll(() => scene[Symbol.asyncDispose]());

describe('a wrong request is answered exactly, and leaves nothing behind:', () => {
  test.each(wrongRequests)('$name', async (row) => {
    const body = row.method ? { jsonrpc: '2.0', id: 1, method: row.method, params: row.params } : row.body;
    const answer = await read(await scene.gateway.post(row.client ?? 'alice', body, row.headers, row.query));
    expect({ status: answer.status, ...errorOf(answer) }).toEqual({
      status: row.status ?? 200,
      code: row.code,
      reason: row.reason,
      ...(row.own ? { own: row.own } : {}),
      ...(row.field ? { field: row.field } : {}),
    });
    expect(answer.id).toEqual('id' in row ? row.id : row.method ? 1 : null);
    expect(answer.result).toBeUndefined();
    expect(answer.headers['Content-Type']).toBe('application/json');
    expect(answer.error.data[0]).toMatchObject({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo' });
    expect(answer.error.data[0].domain).toBe(OURS.has(row.code) ? 'sealpost' : 'a2a-protocol.org');
    expect('WWW-Authenticate' in answer.headers).toBe(answer.status === 401);
    expect(answer.text).not.toMatch(/test-state|node_modules|arn:|\.ts\b|\n {4}at /);
  });

  test('the table holds at least sixty requests, and no task, view or dedup entry came of them', async () => {
    expect(wrongRequests.length).toBeGreaterThanOrEqual(60);
    expect(await scene.dump('state')).toEqual([]);
    expect(await scene.dump('view')).toEqual([]);
    expect(scene.gateway.runQueue.messages).toEqual([]);
  });

  test('a Last-Event-ID that is not one of the task is refused, as JSON, by its name', async () => {
    await using _executor = executing(scene.gateway);
    const { result } = await ask(scene.gateway, 'alice', 'SendMessage', { message: message('hi') });
    for (const last of ['', 'x', '1', '-1.0', '1.0.0', '01.0', '3.0', '99999999999.0', '1.0, 1.0']) {
      const answer = await ask(
        scene.gateway,
        'alice',
        'SubscribeToTask',
        { id: result.task.id },
        { 'last-event-id': last },
      );
      expect(errorOf(answer), last).toEqual({
        code: -32602,
        reason: 'INVALID_PARAMS',
        field: 'Last-Event-ID',
      });
    }
  });
});

test('of several faults the first in the order of design §5 is told', async () => {
  await using strict = await startScene({
    clients: ['alice'],
    profiles: {
      strict: {
        extensions: [{ uri: 'urn:needed', required: true }],
        inputModes: ['text/plain'],
        answerLevel: 'none',
      },
      modest: { inputModes: ['text/plain'], answerLevel: 'none' },
      secretive: { answerLevel: 'none' },
    },
    settings: { openTasks: 1 },
  });
  const known = message('known');
  const first = { message: known, configuration: { returnImmediately: true } };
  expect((await ask(strict.gateway, 'alice', 'SendMessage', first)).status).toBe(200);

  const wrong = { version: '0.3', method: 'Nope', tenant: 'nope', messageId: known.messageId };
  const unknown = { referenceTaskIds: ['nope'] };
  const send = (tenant: string | undefined, more: object, method = 'SendMessage', version = '1.0') =>
    ask(
      strict.gateway,
      'alice',
      method,
      { ...(tenant ? { tenant } : {}), message: message('hi', { parts: [{ data: 1 }], ...more }) },
      { 'a2a-version': version },
    );
  const told = [
    await send(wrong.tenant, { role: 'user' }, wrong.method, wrong.version),
    await send(wrong.tenant, { role: 'user' }, wrong.method),
    await send(wrong.tenant, { role: 'user', messageId: wrong.messageId }),
    await send(wrong.tenant, { messageId: wrong.messageId, ...unknown }),
    await send(wrong.tenant, unknown),
    await send('strict', unknown),
    await send('modest', unknown),
    await send('secretive', unknown),
    await send(undefined, unknown),
    await send(undefined, {}),
  ];
  expect(told.map((answer) => errorOf(answer)).map(({ code, own, field }) => own ?? field ?? code)).toEqual([
    -32009,
    -32601,
    'message.role',
    'MESSAGE_ID_REUSED',
    'tenant',
    -32008,
    'message.parts[0]',
    'RESULT_NOT_RETAINABLE',
    -32001,
    'OPEN_TASKS',
  ]);
});
