import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { METHOD_NAMES } from '../../shared/protocol/index.ts';
import { executing, message } from './rig.ts';
import {
  ask,
  asking,
  completed,
  errorOf,
  events,
  gated,
  outline,
  provider,
  read,
  type Scene,
  startScene,
  stream,
} from './scene.ts';

const gate = gated();
let scene: Scene;
let executor: AsyncDisposable;
beforeAll(async () => {
  scene = await startScene({
    clients: ['alice', 'mallory', 'bystander'],
    profiles: {
      extended: {
        extensions: [
          { uri: 'urn:a', required: true },
          { uri: 'urn:b', required: false },
        ],
      },
    },
    adapters: {
      asks: asking(),
      authorises: asking('auth-required'),
      waits: gate,
      artless: provider(() => ({ kind: 'completed', artifacts: [] })),
      rejects: provider(() => ({ kind: 'rejected', message: [{ text: 'no' }] })),
      many: provider(() => completed('one', 'two', 'three')),
    },
  });
  executor = executing(scene.gateway);
});
afterAll(async () => {
  gate.release();
  await executor[Symbol.asyncDispose]();
  await scene[Symbol.asyncDispose]();
});

const call = (method: string, params?: unknown, headers?: Record<string, string>) =>
  ask(scene.gateway, 'alice', method, params, headers);
const send = async (tenant: string, more: object = {}, configuration: object = {}) =>
  (await call('SendMessage', { tenant, message: message('hi', more), configuration })).result.task;

describe('where prose and proto disagree the proto wins:', () => {
  test('1. SendMessage blocks by default; only returnImmediately: true answers at once', async () => {
    expect((await send('echo')).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await send('echo', {}, { returnImmediately: false, blocking: false })).status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
    const atOnce = await send('waits', {}, { returnImmediately: true });
    expect(atOnce.status.state).toBe('TASK_STATE_SUBMITTED');
  });

  test('2. INPUT_REQUIRED and AUTH_REQUIRED are interrupted states: a blocking call returns at them', async () => {
    expect((await send('asks')).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect((await send('authorises')).status.state).toBe('TASK_STATE_AUTH_REQUIRED');
  });

  test('3. push methods take a flat config: what is wrapped is refused, what is flat is understood', async () => {
    const url = 'https://hook.example';
    const method = 'CreateTaskPushNotificationConfig';
    const wrapped = await call(method, { taskId: 't', pushNotificationConfig: { url } });
    expect(errorOf(wrapped)).toMatchObject({ code: -32602, field: 'url' });
    expect(errorOf(await call(method, { taskId: 't', url })).code).toBe(-32003);
  });

  test('4. taskId is required in Create and must be empty or absent inside SendMessage', async () => {
    const url = 'https://hook.example';
    const inside = (config: object) =>
      call('SendMessage', { message: message('hi'), configuration: { taskPushNotificationConfig: config } });
    expect(errorOf(await call('CreateTaskPushNotificationConfig', { url }))).toMatchObject({
      field: 'taskId',
    });
    expect(errorOf(await inside({ url, taskId: 't' }))).toMatchObject({
      code: -32602,
      field: 'configuration.taskPushNotificationConfig.taskId',
    });
    expect(errorOf(await inside({ url, taskId: '' })).code).toBe(-32003);
    expect(errorOf(await inside({ url })).code).toBe(-32003);
  });

  test('6. and 10. the extended card has securityRequirements and a version per interface, not the old fields', async () => {
    const { result: card } = await call('GetExtendedAgentCard');
    expect(card.securityRequirements).toEqual([
      { schemes: { [Object.keys(card.securitySchemes)[0]!]: { list: [] } } },
    ]);
    expect(card.supportedInterfaces).not.toHaveLength(0);
    for (const each of card.supportedInterfaces) {
      expect(each).toMatchObject({ protocolBinding: 'JSONRPC', protocolVersion: '1.0' });
    }
    for (const old of [
      'security',
      'protocolVersion',
      'protocolVersions',
      'url',
      'preferredTransport',
      'kind',
    ]) {
      expect(card).not.toHaveProperty(old);
    }
    expect(card.capabilities).toMatchObject({
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: true,
    });
  });

  test('7. contextId stands on tasks, messages and events, and a task id alone infers it', async () => {
    const task = await send('asks');
    expect(task.contextId).toMatch(/./);
    const answer = { message: message('this one', { taskId: task.id }), tenant: 'asks' };
    const all = await (await stream(scene.gateway, 'alice', 'SendStreamingMessage', answer)).rest();
    const { result: end } = await call('GetTask', { id: task.id });
    const ids = { taskId: task.id, contextId: task.contextId };
    for (const { result } of all) {
      expect(
        result.task
          ? { taskId: result.task.id, ...result.task }
          : (result.statusUpdate ?? result.artifactUpdate),
      ).toMatchObject(ids);
    }
    expect(end.history).toHaveLength(3);
    for (const said of [...end.history, task.status.message]) expect(said).toMatchObject(ids);
    const { result: listed } = await call('ListTasks', { contextId: task.contextId });
    expect(listed.tasks.map((each: { id: string }) => each.id)).toEqual([task.id]);
  });

  test('8. there is no final flag and no kind; the stream closes', async () => {
    const params = { tenant: 'many', message: message('hi') };
    const all = await (await stream(scene.gateway, 'alice', 'SendStreamingMessage', params)).rest();
    expect(outline(all).at(-1)).toBe('statusUpdate COMPLETED');
    expect(all.map((event) => event.text).join('')).not.toMatch(/"(final|kind)"/);
    const { text } = await call('GetTask', { id: all[0]!.result.task.id });
    expect(text).not.toMatch(/"(final|kind)"/);
  });

  test('9. REQUIRED lists may be empty in ListTasks and in a card; parts may not', async () => {
    const { result } = await ask(scene.gateway, 'bystander', 'ListTasks');
    expect(result).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
    const empty = await call('SendMessage', { message: message('hi', { parts: [] }) });
    expect(errorOf(empty)).toMatchObject({ code: -32602, field: 'message.parts' });
  });

  test('11. method names are the rpc names, never category/action', async () => {
    for (const method of METHOD_NAMES) expect(errorOf(await call(method, {})).code, method).not.toBe(-32601);
    for (const method of [
      'message/send',
      'message/stream',
      'tasks/get',
      'tasks/resubscribe',
      'a2a.SendMessage',
    ]) {
      expect(errorOf(await call(method, {})).code, method).toBe(-32601);
    }
  });

  test('12. L08 statusTimestampAfter includes the given instant, and nothing before it', async () => {
    const task = await send('echo', { contextId: 'instants' });
    const at = Date.parse(task.status.timestamp);
    const since = async (ms: number) => {
      const statusTimestampAfter = new Date(ms).toISOString();
      const { result } = await call('ListTasks', { contextId: 'instants', statusTimestampAfter });
      return [result.tasks.length, result.totalSize];
    };
    expect(await since(at)).toEqual([1, 1]);
    expect(await since(at + 1)).toEqual([0, 0]);
  });

  test("13. states and roles are the proto's names; input-required, user and the like are refused", async () => {
    expect(errorOf(await call('ListTasks', { status: 'input-required' }))).toMatchObject({ field: 'status' });
    const user = await call('SendMessage', { message: message('hi', { role: 'user' }) });
    expect(errorOf(user)).toMatchObject({ field: 'message.role' });
    const task = await send('rejects');
    expect(task.status).toMatchObject({ state: 'TASK_STATE_REJECTED', message: { role: 'ROLE_AGENT' } });
    expect(task.history.map((said: { role: string }) => said.role)).toEqual(['ROLE_USER', 'ROLE_AGENT']);
  });

  test('14. A2A-Version 0.3 beside a 1.0 method means 0.3', async () => {
    const answer = await call('SendMessage', { message: message('hi') }, { 'a2a-version': '0.3' });
    expect(errorOf(answer)).toEqual({ code: -32009, reason: 'VERSION_NOT_SUPPORTED' });
    expect(answer.error.data[0].metadata).toEqual({ supportedVersions: '1.0' });
  });
});

describe('version:', () => {
  test('1.0 and any 1.0.x are served, trimmed; the query counts where the header is absent', async () => {
    const listing = { jsonrpc: '2.0', id: 1, method: 'ListTasks' };
    for (const version of ['1.0', ' 1.0 ', '1.0.0', '1.0.17']) {
      const answer = await read(await scene.gateway.post('alice', listing, { 'a2a-version': version }));
      expect(answer.error, version).toBeUndefined();
    }
    for (const name of ['A2A-Version', 'a2a-version']) {
      const query = { [name]: '1.0' };
      const answer = await read(
        await scene.gateway.post('alice', listing, { 'a2a-version': undefined }, query),
      );
      expect(answer.error, name).toBeUndefined();
    }
  });

  test('an unsupported version is refused on all eleven methods with valid params, before any effect', async () => {
    const before = (await scene.dump('state')).length;
    const params: Record<string, unknown> = {
      SendMessage: { message: message('hi') },
      SendStreamingMessage: { message: message('hi') },
    };
    for (const method of METHOD_NAMES) {
      const answer = await call(method, params[method] ?? { id: 'x', taskId: 'x' }, { 'a2a-version': '1.1' });
      expect(errorOf(answer).code, method).toBe(-32009);
    }
    expect((await scene.dump('state')).length).toBe(before);
  });
});

describe('envelope:', () => {
  test.each([
    ['1', '1'],
    ['-7', '-7'],
    ['0', '0'],
    ['9007199254740993', '9007199254740993'],
    ['-123456789012345678901234567890', '-123456789012345678901234567890'],
    ['"text"', '"text"'],
    ['""', '""'],
    ['"9"', '"9"'],
    ['"gr\\u00fc\\u00dfe \\u2028"', '"grüße \\u2028"'],
    ['null', 'null'],
  ])('the id %s is echoed digit by digit, on success, on failure and in a stream', async (id, echoed) => {
    const body = (method: string, params: object) =>
      `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${JSON.stringify(params)}}`;
    const start = `{"jsonrpc":"2.0","id":${echoed},`;
    const listed = await scene.gateway.post('alice', body('ListTasks', { pageSize: 1 }));
    expect(String(listed.body).startsWith(start)).toBe(true);
    const failed = await scene.gateway.post('alice', body('GetTask', { id: 'nope' }));
    expect(String(failed.body).startsWith(start)).toBe(true);
    const streamed = await scene.gateway.post(
      'alice',
      body('SendStreamingMessage', { message: message('hi') }),
    );
    for (const event of await events(streamed).rest()) expect(event.text).toContain(`data: ${start}`);
  });

  test('absent, null and empty params are the same', async () => {
    const pages = [];
    for (const params of [undefined, null, {}]) pages.push((await call('ListTasks', params)).result);
    expect(pages[0].tasks.length).toBeGreaterThan(0);
    expect(pages[1]).toEqual(pages[0]);
    expect(pages[2]).toEqual(pages[0]);
  });

  test('an internal error is -32603 with a correlation id and nothing else, also inside a stream', async () => {
    const broken = scene.instance({
      store: {
        ...scene.rig.store,
        getMany: async () => {
          throw new Error('secret-dsn at test-state');
        },
      },
    });
    const answer = await ask(broken, 'alice', 'GetTask', { id: 'x' });
    expect(answer.status).toBe(200);
    expect(answer.error).toEqual({
      code: -32603,
      message: 'Internal error.',
      data: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'INTERNAL_ERROR',
          domain: 'a2a-protocol.org',
          metadata: { correlationId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
        },
      ],
    });
    const logged = broken.log.lines.find((line) => line.level === 'error');
    expect(logged?.fields['correlationId']).toBe(answer.error.data[0].metadata.correlationId);
    expect(JSON.stringify(broken.log.lines)).not.toContain('secret-dsn');
  });

  test('an error before the first event is JSON; after it the stream ends with an SSE error event', async () => {
    const task = await send('asks');
    let failing = false;
    const broken = scene.instance({
      store: {
        ...scene.rig.store,
        getMany: (...args) => {
          if (failing) throw new Error('secret-dsn');
          return scene.rig.store.getMany(...args);
        },
      },
    });
    const body = { jsonrpc: '2.0', id: 'it', method: 'SubscribeToTask', params: { id: task.id } };
    const answer = await broken.post('alice', body);
    const pieces: string[] = [];
    for await (const piece of answer.body as AsyncIterable<string>) {
      pieces.push(piece);
      failing = true;
    }
    expect(pieces).toHaveLength(2);
    expect(pieces[1]).toMatch(
      /^event: error\ndata: \{"jsonrpc":"2\.0","id":"it","error":\{"code":-32603,.*\n\n$/,
    );
    expect(pieces[1]).not.toContain('secret-dsn');
    const before = await read(await broken.post('alice', body));
    expect(before.error.code).toBe(-32603);
    expect(before.headers['Content-Type']).toBe('application/json');
  });

  test('the first event of both streams is the task', async () => {
    const params = { tenant: 'asks', message: message('hi') };
    const sent = await (await stream(scene.gateway, 'alice', 'SendStreamingMessage', params)).rest();
    expect(outline(sent)).toEqual(['task SUBMITTED', 'statusUpdate INPUT_REQUIRED']);
    const subscribed = await stream(scene.gateway, 'alice', 'SubscribeToTask', {
      id: sent[0]!.result.task.id,
    });
    expect(outline([(await subscribed.next())!])).toEqual(['task INPUT_REQUIRED']);
    await subscribed.drop();
  });

  test('SubscribeToTask of a terminal task is -32004 as JSON; with Last-Event-ID the rest, then -32004 as well', async () => {
    const task = await send('many');
    const params = { id: task.id };
    const refused = await call('SubscribeToTask', params);
    expect(errorOf(refused)).toEqual({ code: -32004, reason: 'UNSUPPORTED_OPERATION', own: 'TASK_TERMINAL' });
    expect(refused.headers['Content-Type']).toBe('application/json');
    const rest = await stream(scene.gateway, 'alice', 'SubscribeToTask', params, { 'last-event-id': '2.1' });
    expect((await rest.rest()).map((event) => event.id)).toEqual(['2.2', '2.3']);
    const exhausted = await call('SubscribeToTask', params, { 'last-event-id': '2.3' });
    expect(errorOf(exhausted)).toEqual({
      code: -32004,
      reason: 'UNSUPPORTED_OPERATION',
      own: 'STREAM_EXHAUSTED',
    });
  });

  test('Cancel of a terminal task, CANCELED included, is -32002; of an unknown or foreign one -32001', async () => {
    const open = await send('asks');
    expect((await call('CancelTask', { id: open.id })).result.status.state).toBe('TASK_STATE_CANCELED');
    for (const task of [open, await send('echo'), await send('rejects')]) {
      const again = await call('CancelTask', { id: task.id });
      expect(errorOf(again)).toEqual({ code: -32002, reason: 'TASK_NOT_CANCELABLE' });
    }
    const own = await send('asks');
    const foreign = await ask(scene.gateway, 'mallory', 'CancelTask', { id: own.id });
    const unknown = await ask(scene.gateway, 'mallory', 'CancelTask', { id: 'nope' });
    expect(errorOf(foreign).code).toBe(-32001);
    expect(foreign.error).toEqual(unknown.error);
    expect((await call('GetTask', { id: own.id })).result.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  test('ListTasks sorts by status timestamp, then id, descending', async () => {
    const contextId = 'sorted';
    const first = await send('asks', { contextId });
    const tasks = [first, await send('echo', { contextId }), await send('echo', { contextId })];
    await call('CancelTask', { id: first.id });
    const { result } = await call('ListTasks', { contextId });
    const ids = result.tasks.map((task: { id: string }) => task.id);
    expect(ids).toEqual([first.id, tasks[2].id, tasks[1].id]);
    const order = result.tasks.map(
      (task: { id: string; status: { timestamp: string } }) => task.status.timestamp + task.id,
    );
    expect(order).toEqual([...order].sort().reverse());
  });

  test('a required extension that is not named is -32008; the supported ones that are named are echoed', async () => {
    const params = { tenant: 'extended', message: message('hi') };
    const refused = await call('SendMessage', params);
    expect(errorOf(refused)).toEqual({ code: -32008, reason: 'EXTENSION_SUPPORT_REQUIRED' });
    expect(refused.error.data[0].metadata).toEqual({ requiredExtensions: 'urn:a' });
    const served = await call('SendMessage', params, { 'a2a-extensions': ' urn:a,urn:unknown , urn:b' });
    expect(served.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(served.headers['A2A-Extensions']).toBe('urn:a, urn:b');
    const streamed = await scene.gateway.post(
      'alice',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendStreamingMessage',
        params: { ...params, message: message('hi') },
      },
      { 'a2a-extensions': 'urn:a' },
    );
    expect(streamed.headers['A2A-Extensions']).toBe('urn:a');
    await events(streamed).rest();
  });

  test('every error has a data list that starts with an ErrorInfo', async () => {
    const answers = [
      await call('Nope'),
      await call('GetTask', {}),
      await call('GetTask', { id: 'nope' }),
      await call('GetTaskPushNotificationConfig', { id: 'a', taskId: 'b' }),
      await read(await scene.gateway.post('alice', '{')),
      await read(await scene.gateway.post('alice', {}, { authorization: undefined })),
    ];
    for (const { error } of answers) {
      expect(error.data[0]).toMatchObject({
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: expect.stringMatching(/^[A-Z_]+$/),
        domain: expect.stringMatching(/^(a2a-protocol\.org|sealpost)$/),
      });
    }
  });
});

describe('encoding of answers:', () => {
  test('camelCase, enum names, no null, defaults omitted, timestamps in UTC with milliseconds', async () => {
    const task = await send('echo', {
      metadata: { a: null },
      parts: [{ text: '', filename: '' }, { data: null }],
    });
    expect(task.status.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(task.history[0].parts).toEqual([{ text: '' }, { data: null }]);
    expect(task.history[0].metadata).toEqual({ a: null });
    expect(task.history[0]).not.toHaveProperty('extensions');
    expect(task).not.toHaveProperty('metadata');
  });

  test('artifacts stand in a list only where they were asked for, and then also when empty', async () => {
    const contextId = 'artless';
    await send('artless', { contextId });
    expect((await call('ListTasks', { contextId })).result.tasks[0]).not.toHaveProperty('artifacts');
    const { result } = await call('ListTasks', { contextId, includeArtifacts: true });
    expect(result.tasks[0].artifacts).toEqual([]);
  });

  test('input is read under JSON and proto names, enums by number, base64 of either alphabet, any offset', async () => {
    const { result } = await call('SendMessage', {
      message: {
        message_id: 'by-proto-name',
        context_id: 'proto-names',
        role: 1,
        parts: [{ raw: '-_8', media_type: 'application/pdf', filename: 'a.pdf' }],
        reference_task_ids: [],
      },
      configuration: { return_immediately: false, history_length: '1' },
    });
    expect(result.task.contextId).toBe('proto-names');
    expect(result.task.history[0].parts).toEqual([
      { raw: '+/8=', mediaType: 'application/pdf', filename: 'a.pdf' },
    ]);
    const local = result.task.status.timestamp.replace('Z', '000001+00:00');
    const listed = await call('ListTasks', { context_id: 'proto-names', status: 3, page_size: '5' });
    expect(listed.result).toMatchObject({ totalSize: 1, pageSize: 5 });
    const later = await call('ListTasks', { context_id: 'proto-names', status_timestamp_after: local });
    expect(later.result.totalSize).toBe(0);
  });
});
