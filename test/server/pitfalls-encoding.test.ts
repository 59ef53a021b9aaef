import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemRandom } from '../../shared/runtime/system.ts';
import { executing, message } from './rig.ts';
import { ask, completed, errorOf, provider, read, type Scene, startScene, stream } from './scene.ts';

/** What Python's splitlines splits at, which some readers of streams use. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about.
const UNICODE_LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const odd = provider(({ message: { parts } }) =>
  JSON.parse(JSON.stringify({ ...completed('x'), ...(parts[0]!.data as object) })),
);
let scene: Scene;
let executor: AsyncDisposable;
beforeAll(async () => {
  scene = await startScene({ adapters: { odd } });
  executor = executing(scene.gateway);
});
afterAll(async () => {
  await executor[Symbol.asyncDispose]();
  await scene[Symbol.asyncDispose]();
});

const call = (method: string, params?: unknown, headers?: Record<string, string | undefined>) =>
  ask(scene.gateway, 'alice', method, params, headers);
/** What the echo of one part reads like, by SendMessage and by GetTask. */
const echoOf = async (part: object) => {
  const { result } = await call('SendMessage', { message: message('', { parts: [part] }) });
  const { result: got } = await call('GetTask', { id: result.task.id });
  expect(got).toEqual(result.task);
  expect(got.artifacts[0].parts).toEqual(got.history[0].parts);
  return got.artifacts[0].parts[0];
};

describe('envelope (B)', () => {
  test('B05 a batch creates no task', async () => {
    const one = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: message('hi') } };
    const before = (await scene.dump('state')).length;
    const answer = await read(await scene.gateway.post('alice', [one, one]));
    expect(errorOf(answer).code).toBe(-32600);
    expect((await scene.dump('state')).length).toBe(before);
  });

  test('B07 ListTasks and the extended card need no params, GetTask does', async () => {
    expect((await call('ListTasks')).result.pageSize).toBe(50);
    expect((await call('ListTasks', null)).result.pageSize).toBe(50);
    expect((await call('GetExtendedAgentCard')).result.name).toBe('Sealpost');
    expect(errorOf(await call('GetTask', null)).code).toBe(-32602);
  });

  test('B10 an unknown task carries its reason, a wrong field its camelCase path', async () => {
    const { error } = await call('GetTask', { id: 'nope' });
    expect(error.data).toEqual([
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'TASK_NOT_FOUND',
        domain: 'a2a-protocol.org',
      },
    ]);
    const wrong = await call('SendMessage', { message: { ...message('hi'), messageId: '' } });
    expect(wrong.error.data[1]).toEqual({
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [{ field: 'message.messageId', description: 'must not be blank' }],
    });
  });

  test('B11 what the store says in an error reaches neither the caller nor the log', async () => {
    for (const method of ['get', 'getMany', 'query', 'write', 'transact', 'count'] as const) {
      const broken = scene.instance({
        store: {
          ...scene.rig.store,
          [method]: async (...args: Parameters<typeof scene.rig.store.get>) => {
            // The client is read first: a request that cannot be authenticated tells nothing anyway.
            if (method === 'get' && args[0] === 'registry') return scene.rig.store.get(...args);
            throw new Error('secret-dsn');
          },
        },
      });
      const answers = [
        await ask(broken, 'alice', 'SendMessage', {
          message: message('hi'),
          configuration: { returnImmediately: true },
        }),
        await ask(broken, 'alice', 'GetTask', { id: 'x' }),
        await ask(broken, 'alice', 'ListTasks'),
      ];
      expect(
        answers.some((answer) => answer.error?.code === -32603),
        method,
      ).toBe(true);
      for (const answer of answers) {
        expect(answer.text).not.toContain('secret-dsn');
        if (answer.error?.code === -32603)
          expect(answer.error.data[0].metadata.correlationId).toMatch(/^[0-9a-f-]{36}$/);
      }
      expect(JSON.stringify(broken.log.lines)).not.toContain('secret-dsn');
    }
  });

  test('B11 an unavailable store is 503 with Retry-After and a JSON-RPC body', async () => {
    const unavailable = Object.assign(new Error('secret-dsn'), { tag: 'StoreUnavailable' });
    const broken = scene.instance({
      store: { ...scene.rig.store, getMany: () => Promise.reject(unavailable) },
    });
    const answer = await ask(broken, 'alice', 'GetTask', { id: 'x' });
    expect(answer.status).toBe(503);
    expect(answer.headers['Retry-After']).toMatch(/^[1-9]\d*$/);
    expect(errorOf(answer)).toEqual({ code: -32093, reason: 'UNAVAILABLE' });
  });

  test('B13 JSON with a charset, under any case, of another JSON type and without a type is served', async () => {
    for (const type of [
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'Application/JSON',
      'application/a2a+json',
      undefined,
    ]) {
      const answer = await call('ListTasks', {}, { 'content-type': type });
      expect(answer.error, type).toBeUndefined();
      expect(answer.headers['Content-Type']).toBe('application/json');
    }
  });

  test('B14 a raw part of 1 MB makes a task and comes back whole', async () => {
    const raw = Buffer.from(systemRandom.bytes(1_000_000)).toString('base64');
    expect((await echoOf({ raw })).raw).toBe(raw);
  });

  test('B14 the largest body that the limit allows is served, and its task ends', async () => {
    const parts = [{ text: '' }];
    const request = {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: message('', { parts }) },
    };
    const room = 2 * 1024 * 1024 - JSON.stringify(request).length;
    parts[0]!.text = 'x'.repeat(room);
    const body = JSON.stringify(request);
    expect(body.length).toBe(2 * 1024 * 1024);
    const { result } = await read(await scene.gateway.post('alice', body));
    // What it repeats is larger than a result may be.
    expect(result.task).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { reason: 'RESULT_TOO_LARGE' },
    });
  });

  test('a body with a byte order mark is served', async () => {
    const answer = await read(
      await scene.gateway.post('alice', '\ufeff{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'),
    );
    expect(answer.error).toBeUndefined();
  });
});

describe('encoding (E)', () => {
  test('E01 unknown fields are ignored at every level', async () => {
    const { result } = await call('SendMessage', {
      foo: 1,
      message: { ...message('hi'), foo: 1, kind: 'message', parts: [{ text: 'hi', foo: { bar: [] } }] },
      configuration: { foo: 1, blocking: true },
    });
    expect(result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(JSON.stringify(result)).not.toMatch(/foo|kind|blocking/);
  });

  test('E03 no stored task has a state that the proto does not know', async () => {
    const stored = [...(await scene.dump('state')), ...(await scene.dump('view'))];
    const states = stored.flatMap((item) => (item['state'] === undefined ? [] : [item['state']]));
    expect(states.length).toBeGreaterThan(0);
    for (const state of states) {
      expect(state).toMatch(
        /^TASK_STATE_(SUBMITTED|WORKING|COMPLETED|FAILED|CANCELED|INPUT_REQUIRED|REJECTED|AUTH_REQUIRED)$/,
      );
    }
  });

  test('E06 a text part of 0.3 is read with its kind ignored, and comes back without', async () => {
    expect(await echoOf({ kind: 'text', text: 'hi' })).toEqual({ text: 'hi' });
  });

  test('E06 a part of an unknown kind beside a known one is left out, and logged by name only', async () => {
    const parts = [{ kind: 'file', file: { bytes: 'c2VjcmV0' } }, { text: 'hi' }];
    const { result } = await call('SendMessage', { message: message('', { parts }) });
    expect(result.task.history[0].parts).toEqual([{ text: 'hi' }]);
    expect(scene.gateway.log.lines).toContainEqual({
      level: 'info',
      message: expect.any(String),
      fields: { kind: 'unknown-part', path: 'message.parts[0]', name: 'file' },
    });
    expect(JSON.stringify(scene.gateway.log.lines)).not.toContain('c2VjcmV0');
  });

  test.each([
    [{ data: null }],
    [{ data: [1, 'a', null] }],
    [{ data: { a: 0, b: false, c: '', d: [], e: {}, f: null } }],
    [{ data: { n: 3 } }],
    [{ data: 0 }],
    [{ data: false }],
    [{ data: '' }],
    [{ data: { ['__proto__']: { polluted: true }, constructor: 1, toString: 2 } }],
    [{ text: '' }],
    [{ raw: '' }],
    [{ text: 'a', metadata: { a: null, b: [null] } }],
    [{ url: 'https://example.com/a b?c=d#e', filename: 'ü.png', mediaType: 'image/png' }],
  ])('E10, E12, E13 the part %j comes back as it was', async (part) => {
    const back = await echoOf(JSON.parse(JSON.stringify(part)));
    expect(JSON.stringify(back)).toBe(JSON.stringify(part));
    expect({}).not.toHaveProperty('polluted');
  });

  test('E10 a null contextId counts as absent, and answers hold no null of their own', async () => {
    const { result, text } = await call('SendMessage', {
      message: message('hi', { contextId: null, taskId: null, metadata: null, extensions: null }),
      configuration: null,
      metadata: null,
      tenant: null,
    });
    expect(result.task.contextId).toMatch(/./);
    expect(text).not.toContain('null');
    expect(
      (await call('ListTasks', { includeArtifacts: true, contextId: result.task.contextId })).text,
    ).not.toContain('null');
  });

  test('E12 an integer in data is the same integer on the wire', async () => {
    const { text } = await call('SendMessage', { message: message('', { parts: [{ data: { n: 3 } }] }) });
    expect(text).toContain('{"data":{"n":3}}');
  });

  test('E15 a task id under its proto name is not lost: the message does not start a task of its own', async () => {
    const wrong = { ...message('hi'), task_id: 'nope' };
    expect(errorOf(await call('SendMessage', { message: wrong })).code).toBe(-32001);
  });

  test.each([
    '<a & b> é 漢 \u2028',
    '\u0085\u2029\r\n\r\u000b\u000c\u001c\u001e\u0000',
    '\ufeffdata: x\n\nevent: y\n\n',
    '👩‍👩‍👧‍👦',
  ])('E16 the text %j is the same on unary and SSE, however a reader splits lines', async (text) => {
    expect((await echoOf({ text })).text).toBe(text);
    const params = { message: message(text, { metadata: { text } }) };
    const all = await (await stream(scene.gateway, 'alice', 'SendStreamingMessage', params)).rest();
    expect(all[0]!.result.task.history[0]).toMatchObject({ parts: [{ text }], metadata: { text } });
    expect(all[1]!.result.artifactUpdate.artifact.parts[0].text).toBe(text);
    for (const event of all) {
      expect(event.text.split(UNICODE_LINE_END)).toHaveLength(4);
    }
  });

  test('E18 the artifact updates of a stream, replayed, are the artifacts of GetTask', async () => {
    const artifacts = Array.from({ length: 7 }, (_, i) => ({
      artifactId: `a${i}`,
      name: `n${i}`,
      parts: [{ text: `t${i}` }, { data: { i } }],
    }));
    const params = { tenant: 'odd', message: message('', { parts: [{ data: { artifacts } }] }) };
    const all = await (await stream(scene.gateway, 'alice', 'SendStreamingMessage', params)).rest();
    const { result } = await call('GetTask', { id: all[0]!.result.task.id });
    expect(result.artifacts).toEqual(artifacts);
    const updates = all.flatMap((event) => event.result.artifactUpdate ?? []);
    expect(updates.map((update) => update.artifact)).toEqual(artifacts);
    for (const update of updates) expect(update).not.toHaveProperty('append');
    expect(all.filter(({ result }) => result.task?.artifacts)).toEqual([]);
  });

  test('E18 no artifact is seen before the task is completed', async () => {
    const { result } = await call('SendMessage', {
      message: message('hi'),
      configuration: { returnImmediately: true },
    });
    expect(result.task.status.state === 'TASK_STATE_COMPLETED').toBe('artifacts' in result.task);
  });
});

describe('versions (V)', () => {
  test('V05 where header and query disagree the header counts', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'ListTasks' };
    const served = await read(await scene.gateway.post('alice', body, {}, { 'A2A-Version': '0.3' }));
    expect(served.error).toBeUndefined();
  });

  test('V08 a body of 0.3 without a version has no side effect', async () => {
    const before = [await scene.dump('state'), await scene.dump('view')];
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: {
        message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] },
      },
    };
    const answer = await read(await scene.gateway.post('alice', body, { 'a2a-version': undefined }));
    expect(errorOf(answer).code).toBe(-32009);
    expect([await scene.dump('state'), await scene.dump('view')]).toEqual(before);
  });
});
