import { describe, expect, test } from 'vitest';
import { decodeParams, type Method } from '../../shared/protocol/index.ts';

const MESSAGE = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
const send = (message: object, rest: object = {}) => ({ message: { ...MESSAGE, ...message }, ...rest });
const withPart = (...parts: unknown[]) => send({ parts });
const withConfig = (configuration: unknown) => send({}, { configuration });
const withPush = (config: object) =>
  withConfig({ taskPushNotificationConfig: { url: 'https://hook.example/a', ...config } });
const create = (config: object) => ({ taskId: 't-1', url: 'https://hook.example/a', ...config });
const PUSH = 'configuration.taskPushNotificationConfig';

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

type Row = readonly [what: string, method: Method, params: unknown, field: string, description: string];

const WRONG: readonly Row[] = [
  ['positional params', 'GetTask', ['x'], 'params', 'must be an object'],
  ['params that are a string', 'ListTasks', 'x', 'params', 'must be an object'],
  ['no message', 'SendMessage', {}, 'message', 'is required'],
  ['a null message', 'SendMessage', { message: null }, 'message', 'is required'],
  ['a message that is a string', 'SendMessage', { message: 'hi' }, 'message', 'must be an object'],
  ['a message that is a list', 'SendMessage', { message: [] }, 'message', 'must be an object'],
  ['no messageId', 'SendMessage', send({ messageId: undefined }), 'message.messageId', 'is required'],
  ['an empty messageId', 'SendMessage', send({ messageId: '' }), 'message.messageId', 'must not be blank'],
  ['a blank messageId', 'SendMessage', send({ messageId: ' ' }), 'message.messageId', 'must not be blank'],
  ['a numeric messageId', 'SendMessage', send({ messageId: 5 }), 'message.messageId', 'must be a string'],
  [
    'a messageId given twice',
    'SendMessage',
    send({ message_id: 'm-2' }),
    'message.messageId',
    'is given twice',
  ],
  [
    'a messageId of 257 characters',
    'SendMessage',
    send({ messageId: 'x'.repeat(257) }),
    'message.messageId',
    'must have at most 256 characters',
  ],
  [
    'a messageId with half a character',
    'SendMessage',
    send({ messageId: 'a\ud800' }),
    'message.messageId',
    'must be well-formed Unicode',
  ],
  ['no role', 'SendMessage', send({ role: undefined }), 'message.role', 'is required'],
  ['role 0', 'SendMessage', send({ role: 0 }), 'message.role', 'is required'],
  ['the unspecified role', 'SendMessage', send({ role: 'ROLE_UNSPECIFIED' }), 'message.role', 'is required'],
  ['the role of 0.3', 'SendMessage', send({ role: 'user' }), 'message.role', 'must be a Role of A2A 1.0'],
  ['role 7', 'SendMessage', send({ role: 7 }), 'message.role', 'must be a Role of A2A 1.0'],
  ['the role of an agent', 'SendMessage', send({ role: 'ROLE_AGENT' }), 'message.role', 'must be ROLE_USER'],
  ['role 2, an agent', 'SendStreamingMessage', send({ role: 2 }), 'message.role', 'must be ROLE_USER'],
  ['no parts', 'SendMessage', send({ parts: undefined }), 'message.parts', 'is required'],
  ['empty parts', 'SendMessage', send({ parts: [] }), 'message.parts', 'must not be empty'],
  [
    'parts that are one part',
    'SendMessage',
    send({ parts: { text: 'x' } }),
    'message.parts',
    'must be a list',
  ],
  [
    'parts by the thousands',
    'SendMessage',
    send({ parts: Array.from({ length: 10_001 }, () => ({})) }),
    'message.parts',
    'must have at most 10000 elements',
  ],
  ['a part that is a string', 'SendMessage', withPart('hi'), 'message.parts[0]', 'must be an object'],
  ['a null part', 'SendMessage', withPart(null), 'message.parts[0]', 'must be an object'],
  ['an empty part', 'SendMessage', withPart({}), 'message.parts[0]', 'has no content'],
  ['a part with a null text', 'SendMessage', withPart({ text: null }), 'message.parts[0]', 'has no content'],
  [
    'a part with metadata alone',
    'SendMessage',
    withPart({ text: 'x' }, { metadata: {}, mediaType: 'a/b' }),
    'message.parts[1]',
    'has no content',
  ],
  [
    'a part with two contents',
    'SendMessage',
    withPart({ text: 'x', url: 'https://e.example' }),
    'message.parts[0]',
    'has more than one content',
  ],
  [
    'a part with text and null data, which is a content',
    'SendMessage',
    withPart({ text: 'x', data: null }),
    'message.parts[0]',
    'has more than one content',
  ],
  [
    'the file part of 0.3 alone',
    'SendMessage',
    withPart({ kind: 'file', file: { bytes: 'aGk=' } }),
    'message.parts',
    'has no part of a known kind',
  ],
  ['a numeric text', 'SendMessage', withPart({ text: 5 }), 'message.parts[0].text', 'must be a string'],
  [
    'base64 of wrong letters',
    'SendMessage',
    withPart({ raw: '!!!' }),
    'message.parts[0].raw',
    'is not base64',
  ],
  [
    'base64 of wrong length',
    'SendMessage',
    withPart({ raw: 'aGkaa' }),
    'message.parts[0].raw',
    'is not base64',
  ],
  [
    'base64 wrongly padded',
    'SendMessage',
    withPart({ raw: 'aGk==' }),
    'message.parts[0].raw',
    'is not base64',
  ],
  ['base64 with a space', 'SendMessage', withPart({ raw: 'aG k' }), 'message.parts[0].raw', 'is not base64'],
  [
    'part metadata that is a list',
    'SendMessage',
    withPart({ text: 'x', metadata: [] }),
    'message.parts[0].metadata',
    'must be an object',
  ],
  [
    'data nested 65 levels',
    'SendMessage',
    withPart({ data: nested(65) }),
    'message.parts[0].data',
    'must not nest deeper than 64 levels',
  ],
  [
    'metadata nested 5,000 levels',
    'SendMessage',
    send({}, { metadata: { a: nested(5000) } }),
    'metadata',
    'must not nest deeper than 64 levels',
  ],
  ['a blank taskId', 'SendMessage', send({ taskId: ' ' }), 'message.taskId', 'must not be blank'],
  ['a blank contextId', 'SendMessage', send({ contextId: '\t' }), 'message.contextId', 'must not be blank'],
  ['a false contextId', 'SendMessage', send({ contextId: false }), 'message.contextId', 'must be a string'],
  [
    'a blank extension',
    'SendMessage',
    send({ extensions: ['u:a', ''] }),
    'message.extensions[1]',
    'must not be blank',
  ],
  [
    'a blank referenced task',
    'SendMessage',
    send({ referenceTaskIds: [' '] }),
    'message.referenceTaskIds[0]',
    'must not be blank',
  ],
  ['a configuration that is a list', 'SendMessage', withConfig(['x']), 'configuration', 'must be an object'],
  [
    'a negative historyLength of a message',
    'SendMessage',
    withConfig({ historyLength: -1 }),
    'configuration.historyLength',
    'must be an integer from 0 to 2147483647',
  ],
  [
    'returnImmediately as a word',
    'SendMessage',
    withConfig({ returnImmediately: 'true' }),
    'configuration.returnImmediately',
    'must be true or false',
  ],
  [
    'output modes that are one',
    'SendMessage',
    withConfig({ acceptedOutputModes: 'text/plain' }),
    'configuration.acceptedOutputModes',
    'must be a list',
  ],
  [
    'a task id in the embedded config',
    'SendMessage',
    withPush({ taskId: 't' }),
    `${PUSH}.taskId`,
    'must be empty or absent in a message',
  ],
  [
    'an embedded config without url',
    'SendMessage',
    withPush({ url: undefined }),
    `${PUSH}.url`,
    'is required',
  ],
  ['a blank id', 'GetTask', { id: ' ' }, 'id', 'must not be blank'],
  ['an empty id', 'CancelTask', { id: '' }, 'id', 'must not be blank'],
  ['no id', 'SubscribeToTask', {}, 'id', 'is required'],
  ['null params where an id is needed', 'GetTask', null, 'id', 'is required'],
  ['a numeric id', 'GetTask', { id: 5 }, 'id', 'must be a string'],
  [
    'a negative historyLength',
    'GetTask',
    { id: 't', historyLength: -1 },
    'historyLength',
    'must be an integer from 0 to 2147483647',
  ],
  [
    'a fractional historyLength',
    'GetTask',
    { id: 't', historyLength: 1.5 },
    'historyLength',
    'must be an integer from 0 to 2147483647',
  ],
  [
    'a historyLength beyond int32',
    'GetTask',
    { id: 't', historyLength: 2147483648 },
    'historyLength',
    'must be an integer from 0 to 2147483647',
  ],
  ['pageSize 0', 'ListTasks', { pageSize: 0 }, 'pageSize', 'must be an integer from 1 to 100'],
  ['pageSize "0"', 'ListTasks', { pageSize: '0' }, 'pageSize', 'must be an integer from 1 to 100'],
  ['pageSize 101', 'ListTasks', { page_size: 101 }, 'pageSize', 'must be an integer from 1 to 100'],
  ['pageSize -1', 'ListTasks', { pageSize: -1 }, 'pageSize', 'must be an integer from 1 to 100'],
  ['pageSize as a word', 'ListTasks', { pageSize: 'ten' }, 'pageSize', 'must be an integer from 1 to 100'],
  ['an empty pageSize', 'ListTasks', { pageSize: '' }, 'pageSize', 'must be an integer from 1 to 100'],
  ['the state of 0.3', 'ListTasks', { status: 'completed' }, 'status', 'must be a TaskState of A2A 1.0'],
  ['state 9', 'ListTasks', { status: 9 }, 'status', 'must be a TaskState of A2A 1.0'],
  [
    'a date without time',
    'ListTasks',
    { statusTimestampAfter: '2026-01-31' },
    'statusTimestampAfter',
    'must be an RFC 3339 timestamp',
  ],
  [
    'a time without offset',
    'ListTasks',
    { statusTimestampAfter: '2026-01-31T12:00:00' },
    'statusTimestampAfter',
    'must be an RFC 3339 timestamp',
  ],
  [
    'a day that is not',
    'ListTasks',
    { statusTimestampAfter: '2026-02-29T12:00:00Z' },
    'statusTimestampAfter',
    'must be an RFC 3339 timestamp',
  ],
  [
    'ten fraction digits',
    'ListTasks',
    { statusTimestampAfter: '2026-01-31T12:00:00.0123456789Z' },
    'statusTimestampAfter',
    'must be an RFC 3339 timestamp',
  ],
  ['no task id', 'CreateTaskPushNotificationConfig', create({ taskId: undefined }), 'taskId', 'is required'],
  ['an empty task id', 'CreateTaskPushNotificationConfig', create({ taskId: '' }), 'taskId', 'is required'],
  ['no url', 'CreateTaskPushNotificationConfig', create({ url: undefined }), 'url', 'is required'],
  [
    'a token longer than is kept',
    'CreateTaskPushNotificationConfig',
    create({ token: 'x'.repeat(4_097) }),
    'token',
    'is longer than 4096 characters',
  ],
  [
    'credentials longer than receivers take',
    'CreateTaskPushNotificationConfig',
    create({ authentication: { scheme: 'Bearer', credentials: 'x'.repeat(4_097) } }),
    'authentication.credentials',
    'is longer than 4096 characters',
  ],
  [
    'embedded credentials longer than receivers take',
    'SendMessage',
    withPush({ authentication: { scheme: 'Bearer', credentials: 'x'.repeat(360_000) } }),
    `${PUSH}.authentication.credentials`,
    'is longer than 4096 characters',
  ],
  [
    'a token that adds a header',
    'CreateTaskPushNotificationConfig',
    create({ token: 'a\r\nX: y' }),
    'token',
    'must be visible ASCII',
  ],
  [
    'a token outside ASCII',
    'CreateTaskPushNotificationConfig',
    create({ token: 'é' }),
    'token',
    'must be visible ASCII',
  ],
  [
    'no scheme',
    'CreateTaskPushNotificationConfig',
    create({ authentication: {} }),
    'authentication.scheme',
    'is required',
  ],
  [
    'another scheme',
    'CreateTaskPushNotificationConfig',
    create({ authentication: { scheme: 'Basic' } }),
    'authentication.scheme',
    'must be Bearer',
  ],
  [
    'credentials with NUL',
    'CreateTaskPushNotificationConfig',
    create({ authentication: { scheme: 'bearer', credentials: 'a\0' } }),
    'authentication.credentials',
    'must be visible ASCII',
  ],
  ['no config id', 'GetTaskPushNotificationConfig', { taskId: 't' }, 'id', 'is required'],
  [
    'a blank config id',
    'DeleteTaskPushNotificationConfig',
    { taskId: 't', id: ' ' },
    'id',
    'must not be blank',
  ],
  ['no task id', 'ListTaskPushNotificationConfigs', {}, 'taskId', 'is required'],
  [
    'a negative pageSize',
    'ListTaskPushNotificationConfigs',
    { taskId: 't', pageSize: -1 },
    'pageSize',
    'must be an integer from 0 to 2147483647',
  ],
  ['a numeric tenant', 'GetExtendedAgentCard', { tenant: 5 }, 'tenant', 'must be a string'],
];

describe('decodeParams refuses and names the field of', () => {
  test.each(WRONG)('%s (%s)', (_what, method, params, field, description) => {
    expect(decodeParams(method, params)).toEqual({
      ok: false,
      error: { kind: 'invalid-params', violations: [{ field, description }] },
    });
  });

  test('every fault of a request, up to 20, and echoes nothing of it', () => {
    const two = decodeParams('SendMessage', send({ messageId: 7, parts: [{ raw: 'secret words' }] }));
    expect(two).toMatchObject({
      error: { violations: [{ field: 'message.messageId' }, { field: 'message.parts[0].raw' }] },
    });
    expect(JSON.stringify(two)).not.toContain('secret');
    const many = decodeParams('SendMessage', withPart(...Array.from({ length: 500 }, () => ({}))));
    expect(!many.ok && many.error.violations).toHaveLength(20);
  });
});

describe('decodeParams takes', () => {
  const value = (method: Method, params: unknown) => {
    const decoded = decodeParams(method, params);
    if (!decoded.ok) throw new Error(JSON.stringify(decoded.error));
    return decoded.value;
  };
  const partOf = (part: object) => (value('SendMessage', withPart(part)) as typeof DECODED).message.parts[0];
  const DECODED = { message: { parts: [{}] } };

  test.each([undefined, null, {}])('params %s as no filters', (params) => {
    expect(decodeParams('ListTasks', params)).toEqual({ ok: true, value: {}, notices: [] });
    expect(decodeParams('GetExtendedAgentCard', params).ok).toBe(true);
  });

  test('unknown fields at every level, without keeping them', () => {
    const params = {
      message: { ...MESSAGE, kind: 'message', parts: [{ text: 'hi', kind: 'text', zzz: 1 }], zzz: 1 },
      configuration: { blocking: true, returnImmediately: true },
      foo: 1,
      constructor: 1,
    };
    expect(decodeParams('SendMessage', params)).toEqual({
      ok: true,
      value: { message: MESSAGE, configuration: { returnImmediately: true } },
      notices: [],
    });
  });

  test('proto names like JSON names, so that a message never loses its task', () => {
    const params = {
      message: {
        message_id: 'm-1',
        context_id: 'c',
        task_id: 't',
        role: 1,
        parts: [{ text: 'x', media_type: 'a/b' }],
        reference_task_ids: ['r'],
      },
      configuration: { return_immediately: true, history_length: '2', accepted_output_modes: ['text/plain'] },
    };
    expect(value('SendMessage', params)).toEqual({
      message: {
        messageId: 'm-1',
        contextId: 'c',
        taskId: 't',
        role: 'ROLE_USER',
        parts: [{ text: 'x', mediaType: 'a/b' }],
        referenceTaskIds: ['r'],
      },
      configuration: { returnImmediately: true, historyLength: 2, acceptedOutputModes: ['text/plain'] },
    });
  });

  test('null and proto defaults as absent', () => {
    const message = { ...MESSAGE, contextId: null, taskId: '', extensions: [], metadata: null };
    const configuration = { returnImmediately: false, historyLength: null, taskPushNotificationConfig: null };
    expect(value('SendMessage', { message, configuration, tenant: '' })).toEqual({
      message: MESSAGE,
      configuration: {},
    });
    expect(value('ListTasks', { status: 'TASK_STATE_UNSPECIFIED' })).toEqual({});
    expect(value('ListTasks', { status: 0, pageSize: null })).toEqual({});
    expect(value('ListTaskPushNotificationConfigs', { taskId: 't', pageSize: 0 })).toEqual({ taskId: 't' });
  });

  test('optional fields that are set to their default as set', () => {
    expect(value('GetTask', { id: 't', historyLength: 0 })).toEqual({ id: 't', historyLength: 0 });
    expect(value('ListTasks', { includeArtifacts: false })).toEqual({ includeArtifacts: false });
  });

  test.each([
    [3, 'TASK_STATE_COMPLETED'],
    ['TASK_STATE_COMPLETED', 'TASK_STATE_COMPLETED'],
    [8, 'TASK_STATE_AUTH_REQUIRED'],
  ])('the state %s by number or name', (status, state) => {
    expect(value('ListTasks', { status })).toEqual({ status: state });
  });

  test.each([5, '5', '5.0', '50e-1', 5.0])('the int32 %s as number or numeric string', (pageSize) => {
    expect(value('ListTasks', { pageSize })).toEqual({ pageSize: 5 });
  });

  test.each([
    ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31t12:00:00z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:00.5Z', '2026-01-31T12:00:00.500Z'],
    ['2026-01-31T12:00:00.123000000Z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-31T12:00:00.999999999Z', '2026-01-31T12:00:01.000Z'],
    ['2026-01-31T00:30:00+05:45', '2026-01-30T18:45:00.000Z'],
    ['2026-12-31T23:59:59-00:01', '2027-01-01T00:00:59.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ])('the timestamp %s, a lower bound that is rounded up to the millisecond', (given, read) => {
    expect(value('ListTasks', { statusTimestampAfter: given })).toEqual({ statusTimestampAfter: read });
  });

  test.each([
    ['', ''],
    ['aGk=', 'aGk='],
    ['aGk', 'aGk='],
    ['-_-_', '+/+/'],
    ['+/+/', '+/+/'],
    ['-_8=', '+/8='],
    ['-_8', '+/8='],
    ['YQ==', 'YQ=='],
    ['YQ', 'YQ=='],
  ])('base64 %j in either alphabet, padded or not', (raw, canonical) => {
    expect(partOf({ raw })).toEqual({ raw: canonical });
  });

  test.each([null, 0, false, '', [], {}, [1, 'a', null], { a: 0, b: false, c: '', d: [], e: null }])(
    'data %j as it is',
    (data) => {
      expect(partOf({ data })).toStrictEqual({ data });
    },
  );

  test('an empty text, which is a content', () => {
    expect(partOf({ text: '' })).toStrictEqual({ text: '' });
  });

  test('data nested 64 levels', () => {
    expect(partOf({ data: nested(64) })).toEqual({ data: nested(64) });
  });

  test('names of object internals as what they are: unknown fields, or plain members of data', () => {
    const params = JSON.parse(
      `{"message":{"messageId":"m-1","role":"ROLE_USER","__proto__":{"taskId":"t"},
        "parts":[{"data":{"__proto__":{"polluted":1},"constructor":2}}]},"__proto__":{"tenant":"x"}}`,
    );
    const read = value('SendMessage', params) as {
      tenant?: string;
      message: { taskId?: string; parts: unknown[] };
    };
    expect(read.tenant).toBeUndefined();
    expect(read.message.taskId).toBeUndefined();
    expect(JSON.stringify(read.message.parts)).toBe(
      '[{"data":{"__proto__":{"polluted":1},"constructor":2}}]',
    );
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test('own members only, never inherited ones', () => {
    const params = Object.assign(Object.create({ tenant: 'x', historyLength: 1 }), { id: 't' });
    expect(value('GetTask', params)).toEqual({ id: 't' });
  });

  test('a message with a part of an unknown kind, without that part, and tells which', () => {
    const decoded = decodeParams(
      'SendMessage',
      withPart({ kind: 'hologram', hologram: { secret: 1 } }, { text: 'hi' }, { 'x y': 1, metadata: {} }),
    );
    expect(decoded).toEqual({
      ok: true,
      value: { message: MESSAGE },
      notices: [
        { kind: 'unknown-part', path: 'message.parts[0]', name: 'hologram' },
        { kind: 'unknown-part', path: 'message.parts[2]', name: 'x?y' },
      ],
    });
  });

  test('any push URL, which is for the guard to judge: it answers all alike, and notes what it refused', () => {
    for (const url of [
      'http://127.0.0.1:9/hook',
      'https://u:p@hook.example/',
      'ftp://hook.example',
      'none',
    ]) {
      expect(decodeParams('CreateTaskPushNotificationConfig', create({ url })).ok, url).toBe(true);
    }
  });
});
