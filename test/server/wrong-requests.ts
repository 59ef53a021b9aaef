import { METHOD_NAMES } from '../../shared/protocol/index.ts';
import { message } from './rig.ts';

/** One wrong request and the one right answer to it. */
export interface WrongRequest {
  readonly name: string;
  /** Default `alice`. */
  readonly client?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly query?: Readonly<Record<string, string>>;
  /** The body, or a method with its params under id 1. */
  readonly body?: unknown;
  readonly method?: string;
  readonly params?: unknown;
  /** Default 200. */
  readonly status?: number;
  readonly code: number;
  readonly reason: string;
  readonly own?: string;
  readonly field?: string;
  /** The id that is echoed; default 1 for a method, null for a body. */
  readonly id?: unknown;
}

const INVALID_REQUEST = { code: -32600, reason: 'INVALID_REQUEST' } as const;
const INVALID_PARAMS = { code: -32602, reason: 'INVALID_PARAMS' } as const;
const PARSE_ERROR = { code: -32700, reason: 'PARSE_ERROR' } as const;
const NO_METHOD = { code: -32601, reason: 'METHOD_NOT_FOUND' } as const;
const VERSION = { code: -32009, reason: 'VERSION_NOT_SUPPORTED' } as const;
const NOT_FOUND = { code: -32001, reason: 'TASK_NOT_FOUND' } as const;
const NO_PUSH = { code: -32003, reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' } as const;
const MEDIA_TYPE = { code: -32005, reason: 'CONTENT_TYPE_NOT_SUPPORTED' } as const;
const NO_TOKEN = { status: 401, code: -32090, reason: 'UNAUTHENTICATED' } as const;

const send = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: message('hi') } };
const list = (more: object) => ({ jsonrpc: '2.0', id: 1, method: 'ListTasks', ...more });

const envelopes: WrongRequest[] = [
  { name: 'B01 JSON that is cut off', body: '{"jsonrpc":', ...PARSE_ERROR },
  { name: 'an empty body', body: '', ...PARSE_ERROR },
  { name: 'text that is no JSON', body: 'hello', ...PARSE_ERROR },
  { name: 'a second value behind the first', body: `${JSON.stringify(send)} {}`, ...PARSE_ERROR },
  { name: 'bytes that are not UTF-8', body: Buffer.from([0x7b, 0xff, 0x7d]), ...PARSE_ERROR },
  { name: 'B02 an empty object', body: {}, ...INVALID_REQUEST },
  ...['5', 'true', 'null', '"text"'].map((body) => ({ name: `a body of ${body}`, body, ...INVALID_REQUEST })),
  { name: 'B05 an empty batch', body: [], ...INVALID_REQUEST },
  { name: 'B05 a batch of two sends', body: [send, send], ...INVALID_REQUEST },
  { name: 'B02 jsonrpc 1.0', body: list({ jsonrpc: '1.0' }), id: 1, ...INVALID_REQUEST },
  { name: 'jsonrpc as a number', body: list({ jsonrpc: 2 }), id: 1, ...INVALID_REQUEST },
  { name: 'no jsonrpc', body: list({ jsonrpc: undefined, id: 'mine' }), id: 'mine', ...INVALID_REQUEST },
  { name: 'B02 an empty method', body: list({ method: '' }), id: 1, ...INVALID_REQUEST },
  { name: 'no method', body: list({ method: undefined }), id: 1, ...INVALID_REQUEST },
  { name: 'a method that is an object', body: list({ method: {} }), id: 1, ...INVALID_REQUEST },
  { name: 'a notification, which has no id', body: { ...send, id: undefined }, ...INVALID_REQUEST },
  ...[1.5, true, {}, []].map((id) => ({
    name: `an id of ${JSON.stringify(id)}`,
    body: { ...send, id },
    ...INVALID_REQUEST,
  })),
  { name: 'an id of two thousand characters', body: { ...send, id: 'x'.repeat(2_000) }, ...INVALID_REQUEST },
  {
    name: 'an unknown method under a null id',
    body: list({ id: null, method: 'Nope' }),
    id: null,
    ...NO_METHOD,
  },
  ...['message/send', 'tasks/get', 'sendMessage', 'SendMessage ', 'constructor', '__proto__'].map(
    (method) => ({
      name: `the method name ${method}`,
      body: { ...send, method },
      id: 1,
      ...NO_METHOD,
    }),
  ),
  ...[['x'], 'x', 5, false].map((params) => ({
    name: `B08 params of ${JSON.stringify(params)}`,
    method: 'GetTask',
    params,
    field: 'params',
    ...INVALID_PARAMS,
  })),
];

const versions: WrongRequest[] = [
  // V03: on every method, before its params are looked at.
  ...METHOD_NAMES.map((method) => ({
    name: `V03 version 0.5 on ${method}`,
    method,
    params: ['wrong too'],
    headers: { 'a2a-version': '0.5' },
    ...VERSION,
  })),
  {
    name: 'V03 version 0.5 on no method at all',
    method: 'Nope',
    headers: { 'a2a-version': '0.5' },
    ...VERSION,
  },
  ...['', ' ', '0.3', '1', '1.1', '10.0', '2.0', 'v1.0', '1.0-rc', '1.0, 1.0', '1.0.x', 'latest'].map(
    (version) => ({
      name: `version ${JSON.stringify(version)}`,
      body: send,
      id: 1,
      headers: { 'a2a-version': version },
      ...VERSION,
    }),
  ),
  { name: 'no version', body: send, id: 1, headers: { 'a2a-version': undefined }, ...VERSION },
  {
    name: 'V05 a wrong version in the query alone',
    body: send,
    id: 1,
    headers: { 'a2a-version': undefined },
    query: { 'A2A-Version': '0.3' },
    ...VERSION,
  },
  {
    name: 'V05 a wrong version in the header and a right one in the query',
    body: send,
    id: 1,
    headers: { 'a2a-version': '0.3' },
    query: { 'A2A-Version': '1.0' },
    ...VERSION,
  },
  {
    name: 'V08 a message of version 0.3 without a header',
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: {
        message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] },
      },
    },
    id: 1,
    headers: { 'a2a-version': undefined },
    ...VERSION,
  },
];

const bodies: WrongRequest[] = [
  {
    name: 'a number beyond a double in data',
    body: JSON.stringify({ ...send, params: { message: message('', { parts: [{ data: '?' }] }) } }).replace(
      '"?"',
      '1e400',
    ),
    id: 1,
    field: 'message.parts[0].data',
    ...INVALID_PARAMS,
  },
  ...[
    'text/plain',
    'text/html',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/jsonx',
  ].map((type) => ({
    name: `B13 media type ${type}`,
    body: send,
    headers: { 'content-type': type },
    status: 415,
    ...MEDIA_TYPE,
  })),
  {
    name: 'B14 a body one byte above the limit',
    body: JSON.stringify(send).padEnd(2 * 1024 * 1024 + 1, ' '),
    status: 413,
    own: 'BODY_TOO_LARGE',
    ...INVALID_REQUEST,
  },
];

const wrongSecret = `sp_alice_${'A'.repeat(43)}`;
const tokens: WrongRequest[] = [
  ...[
    ['no credential', undefined],
    ['an empty credential', ''],
    ['Bearer without a token', 'Bearer '],
    ['Basic instead of Bearer', 'Basic YWxpY2U6c2VjcmV0'],
    ['a token of another make', 'Bearer eyJhbGciOiJub25lIn0.e30.'],
    ['a wrong secret', `Bearer ${wrongSecret}`],
    ['an unknown client', `Bearer sp_nobody_${'A'.repeat(43)}`],
    ['a token that is too long', `Bearer ${wrongSecret}${'A'.repeat(10_000)}`],
    ['two tokens', `Bearer ${wrongSecret} ${wrongSecret}`],
    ['a client id that is no id', `Bearer sp_../registry_${'A'.repeat(43)}`],
  ].map(([name, authorization]) => ({
    name: `T04 ${name}`,
    body: send,
    id: 1,
    headers: { authorization },
    ...NO_TOKEN,
  })),
  { name: 'T04 a disabled client', client: 'gone', body: send, id: 1, ...NO_TOKEN },
  { name: 'T04 no credential and no JSON', body: '{', headers: { authorization: undefined }, ...NO_TOKEN },
  {
    name: 'T04 no credential and no version',
    body: send,
    id: 1,
    headers: { authorization: undefined, 'a2a-version': undefined },
    ...NO_TOKEN,
  },
  {
    name: 'T04 no credential and another media type',
    body: send,
    id: 1,
    headers: { authorization: undefined, 'content-type': 'text/plain' },
    ...NO_TOKEN,
  },
];

const withMessage = (more: object, request: object = {}) => ({ message: message('hi', more), ...request });
const withPart = (part: unknown) => withMessage({ parts: [part] });
const configured = (configuration: unknown) => withMessage({}, { configuration });
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
const hook = { url: 'https://hook.example/a' };

/** Each is sent by SendMessage and by SendStreamingMessage. */
const sends: Omit<WrongRequest, 'method'>[] = [
  ...[
    ['no params', undefined, 'message'],
    ['null params', null, 'message'],
    ['B07 empty params', {}, 'message'],
    ['a null message', { message: null }, 'message'],
    ['a message that is text', { message: 'hi' }, 'message'],
    ['a message that is a list', { message: [] }, 'message'],
    ['E04 no messageId', withMessage({ messageId: undefined }), 'message.messageId'],
    ['a blank messageId', withMessage({ messageId: ' ' }), 'message.messageId'],
    ['a messageId that is a number', withMessage({ messageId: 5 }), 'message.messageId'],
    ['a messageId of 257 characters', withMessage({ messageId: 'x'.repeat(257) }), 'message.messageId'],
    ['a messageId of half a character', withMessage({ messageId: '\ud800' }), 'message.messageId'],
    ['E15 a messageId under both names', withMessage({ message_id: 'other' }), 'message.messageId'],
    ['E04 no role', withMessage({ role: undefined }), 'message.role'],
    ['E03 the role of 0.3', withMessage({ role: 'user' }), 'message.role'],
    ['an unknown role', withMessage({ role: 'ROLE_SYSTEM' }), 'message.role'],
    ['the unspecified role', withMessage({ role: 'ROLE_UNSPECIFIED' }), 'message.role'],
    ['the unspecified role by number', withMessage({ role: 0 }), 'message.role'],
    ['a role by a number that there is not', withMessage({ role: 3 }), 'message.role'],
    ['the role of the agent', withMessage({ role: 'ROLE_AGENT' }), 'message.role'],
    ['E04 no parts', withMessage({ parts: undefined }), 'message.parts'],
    ['E04 empty parts', withMessage({ parts: [] }), 'message.parts'],
    ['null parts', withMessage({ parts: null }), 'message.parts'],
    ['parts that are an object', withMessage({ parts: { text: 'hi' } }), 'message.parts'],
    ['E04 a part without content', withPart({}), 'message.parts[0]'],
    ['a part that has only a file name', withPart({ filename: 'a.txt' }), 'message.parts[0]'],
    ['a part with two contents', withPart({ text: 'a', data: 1 }), 'message.parts[0]'],
    ['a part that is text', withPart('hi'), 'message.parts[0]'],
    ['a null part', withPart(null), 'message.parts[0]'],
    ['text that is a number', withPart({ text: 5 }), 'message.parts[0].text'],
    ['raw that is no base64', withPart({ raw: '!!' }), 'message.parts[0].raw'],
    ['raw with wrong padding', withPart({ raw: 'aGk' + '==' }), 'message.parts[0].raw'],
    ['a url that is a list', withPart({ url: [] }), 'message.parts[0].url'],
    ['a media type that is a number', withPart({ text: 'a', mediaType: 1 }), 'message.parts[0].mediaType'],
    ['metadata of a part that is a list', withPart({ text: 'a', metadata: [] }), 'message.parts[0].metadata'],
    ['data that is nested too deeply', withPart({ data: nested(65) }), 'message.parts[0].data'],
    [
      'a wrong part behind a right one',
      withMessage({ parts: [{ text: 'a' }, { raw: 'é' }] }),
      'message.parts[1].raw',
    ],
    ['text of half a character', withPart({ text: 'a\ud800' }), 'message.parts[0].text'],
    ['data with half a character in a name', withPart({ data: { '\udc00': 1 } }), 'message.parts[0].data'],
    ['metadata with half a character', withMessage({ metadata: { a: ['\ud800'] } }), 'message.metadata'],
    ['E06 a file part of 0.3 alone', withPart({ kind: 'file', file: { bytes: 'aGk=' } }), 'message.parts'],
    [
      '101 parts',
      withMessage({ parts: Array.from({ length: 101 }, () => ({ text: 'a' })) }),
      'message.parts',
    ],
    ['metadata that is text', withMessage({ metadata: 'a' }), 'message.metadata'],
    ['extensions that are text', withMessage({ extensions: 'urn:a' }), 'message.extensions'],
    ['a blank extension', withMessage({ extensions: [''] }), 'message.extensions[0]'],
    ['a contextId that is a number', withMessage({ contextId: 5 }), 'message.contextId'],
    ['a blank contextId', withMessage({ contextId: ' ' }), 'message.contextId'],
    ['a contextId of 257 characters', withMessage({ contextId: 'x'.repeat(257) }), 'message.contextId'],
    ['a blank taskId', withMessage({ taskId: '\t' }), 'message.taskId'],
    ['a taskId that is an object', withMessage({ taskId: {} }), 'message.taskId'],
    ['referenceTaskIds that are text', withMessage({ referenceTaskIds: 'a' }), 'message.referenceTaskIds'],
    ['a reference that is a number', withMessage({ referenceTaskIds: [5] }), 'message.referenceTaskIds[0]'],
    ['11 references', withMessage({ referenceTaskIds: Array(11).fill('a') }), 'message.referenceTaskIds'],
    ['a configuration that is text', configured('fast'), 'configuration'],
    ['L02 a negative historyLength', configured({ historyLength: -1 }), 'configuration.historyLength'],
    ['a historyLength that is a fraction', configured({ historyLength: 1.5 }), 'configuration.historyLength'],
    ['a historyLength beyond int32', configured({ historyLength: 2 ** 31 }), 'configuration.historyLength'],
    [
      'returnImmediately as text',
      configured({ returnImmediately: 'true' }),
      'configuration.returnImmediately',
    ],
    [
      'output modes that are text',
      configured({ acceptedOutputModes: 'text/plain' }),
      'configuration.acceptedOutputModes',
    ],
    [
      'a push config with a taskId',
      configured({ taskPushNotificationConfig: { ...hook, taskId: 'a' } }),
      'configuration.taskPushNotificationConfig.taskId',
    ],
    [
      'P06 a push token with a line end',
      configured({ taskPushNotificationConfig: { ...hook, token: 'a\r\nb' } }),
      'configuration.taskPushNotificationConfig.token',
    ],
    ['metadata of the request that is a list', withMessage({}, { metadata: [] }), 'metadata'],
    ['a tenant that is a number', withMessage({}, { tenant: 5 }), 'tenant'],
    ['T03 an unknown tenant', withMessage({}, { tenant: 'nope' }), 'tenant'],
    ['a tenant that can be no id', withMessage({}, { tenant: '../client' }), 'tenant'],
    ['an unpublished profile as tenant', withMessage({}, { tenant: 'draft' }), 'tenant'],
    ['an unknown skill', withMessage({ metadata: { 'sealpost/skill': 'nope' } }), 'tenant'],
  ].map(([name, params, field]) => ({
    name: name as string,
    params,
    field: field as string,
    ...INVALID_PARAMS,
  })),
  {
    name: 'T03 a tenant that is not granted',
    client: 'bounded',
    params: withMessage({}, { tenant: 'echo' }),
    field: 'tenant',
    ...INVALID_PARAMS,
  },
  {
    name: 'the default profile where it is not granted',
    client: 'bounded',
    params: withMessage({}),
    field: 'tenant',
    ...INVALID_PARAMS,
  },
  { name: 'M07 an unknown taskId', params: withMessage({ taskId: 'nope' }), ...NOT_FOUND },
  { name: 'an unknown reference', params: withMessage({ referenceTaskIds: ['nope'] }), ...NOT_FOUND },
  { name: 'P09 a push config', params: configured({ taskPushNotificationConfig: hook }), ...NO_PUSH },
  {
    name: 'a part of a media type that is not taken',
    params: { tenant: 'prose', ...withPart({ data: 1 }) },
    field: 'message.parts[0]',
    ...MEDIA_TYPE,
  },
  {
    name: 'a part whose named media type is not taken',
    params: { tenant: 'prose', ...withPart({ text: 'a', mediaType: 'text/html' }) },
    field: 'message.parts[0]',
    ...MEDIA_TYPE,
  },
  {
    name: 'output modes that are not offered',
    params: { tenant: 'prose', ...configured({ acceptedOutputModes: ['image/png'] }) },
    field: 'configuration.acceptedOutputModes',
    ...MEDIA_TYPE,
  },
  {
    name: 'M15 a required extension that is not named',
    params: withMessage({}, { tenant: 'extended' }),
    code: -32008,
    reason: 'EXTENSION_SUPPORT_REQUIRED',
  },
  {
    name: 'a required extension when another one is named',
    params: withMessage({}, { tenant: 'extended' }),
    headers: { 'a2a-extensions': 'urn:other, urn:needed:2' },
    code: -32008,
    reason: 'EXTENSION_SUPPORT_REQUIRED',
  },
  {
    name: 'a profile that may keep no result',
    params: withMessage({}, { tenant: 'secretive' }),
    code: -32004,
    reason: 'UNSUPPORTED_OPERATION',
    own: 'RESULT_NOT_RETAINABLE',
  },
];

const reads: WrongRequest[] = [
  ...['GetTask', 'CancelTask', 'SubscribeToTask'].flatMap((method) => [
    ...[undefined, null, {}, { id: '' }, { id: ' ' }, { id: null }, { id: 5 }, { id: 'x'.repeat(257) }].map(
      (params) => ({
        name: `B17 ${method} with ${JSON.stringify(params)?.slice(0, 20)}`,
        method,
        params,
        field: 'id',
        ...INVALID_PARAMS,
      }),
    ),
    { name: `B10 ${method} of an unknown task`, method, params: { id: 'nope' }, ...NOT_FOUND },
    {
      name: `T03 ${method} under an unknown tenant`,
      method,
      params: { id: 'nope', tenant: 'nope' },
      field: 'tenant',
      ...INVALID_PARAMS,
    },
  ]),
  {
    name: 'S03 SubscribeToTask of an unknown task behind an event',
    method: 'SubscribeToTask',
    params: { id: 'nope' },
    headers: { 'last-event-id': '1.0' },
    ...NOT_FOUND,
  },
  ...[
    ['GetTask', { id: 'a', historyLength: -1 }, 'historyLength'],
    ['GetTask', { id: 'a', historyLength: 'all' }, 'historyLength'],
    ['ListTasks', { historyLength: -1 }, 'historyLength'],
    ['ListTasks', { pageSize: 0 }, 'pageSize'],
    ['ListTasks', { pageSize: 101 }, 'pageSize'],
    ['ListTasks', { pageSize: -1 }, 'pageSize'],
    ['ListTasks', { pageSize: 1.5 }, 'pageSize'],
    ['ListTasks', { pageSize: 'all' }, 'pageSize'],
    ['ListTasks', { status: 'completed' }, 'status'],
    ['ListTasks', { status: 'UNRECOGNIZED' }, 'status'],
    ['ListTasks', { status: 9 }, 'status'],
    ['ListTasks', { contextId: ' ' }, 'contextId'],
    ['ListTasks', { includeArtifacts: 'yes' }, 'includeArtifacts'],
    ['ListTasks', { statusTimestampAfter: 'yesterday' }, 'statusTimestampAfter'],
    ['ListTasks', { statusTimestampAfter: '2026-02-30T00:00:00Z' }, 'statusTimestampAfter'],
    ['ListTasks', { statusTimestampAfter: 1_700_000_000 }, 'statusTimestampAfter'],
    ['ListTasks', { tenant: 'nope' }, 'tenant'],
    ['GetExtendedAgentCard', { tenant: 'nope' }, 'tenant'],
    ['CreateTaskPushNotificationConfig', { taskId: 'a' }, 'url'],
    ['CreateTaskPushNotificationConfig', { url: 'https://hook.example' }, 'taskId'],
    [
      'CreateTaskPushNotificationConfig',
      { taskId: 'a', ...hook, authentication: { scheme: 'Basic' } },
      'authentication.scheme',
    ],
    ['GetTaskPushNotificationConfig', { taskId: 'a' }, 'id'],
    ['ListTaskPushNotificationConfigs', {}, 'taskId'],
    ['ListTaskPushNotificationConfigs', { taskId: 'a', pageSize: -1 }, 'pageSize'],
    ['DeleteTaskPushNotificationConfig', { id: 'a' }, 'taskId'],
  ].map(([method, params, field]) => ({
    name: `${method} with ${JSON.stringify(params)}`,
    method: method as string,
    params,
    field: field as string,
    ...INVALID_PARAMS,
  })),
  ...['zzz', '202611.AAAA', `202611.${'A'.repeat(80)}`, '-1', '{"a":1}'].map((pageToken) => ({
    name: `L05 ListTasks with the page token ${pageToken.slice(0, 12)}`,
    method: 'ListTasks',
    params: { pageToken },
    own: 'PAGE_TOKEN_INVALID',
    field: 'pageToken',
    ...INVALID_PARAMS,
  })),
  {
    name: 'A06 GetExtendedAgentCard of a client that is granted nothing',
    client: 'nothing',
    method: 'GetExtendedAgentCard',
    code: -32007,
    reason: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
  },
  ...[
    ['CreateTaskPushNotificationConfig', { taskId: 'a', ...hook }],
    ['GetTaskPushNotificationConfig', { taskId: 'a', id: 'b' }],
    ['ListTaskPushNotificationConfigs', { taskId: 'a' }],
    ['DeleteTaskPushNotificationConfig', { taskId: 'a', id: 'b' }],
  ].map(([method, params]) => ({ name: `P09 ${method}`, method: method as string, params, ...NO_PUSH })),
];

export const wrongRequests: readonly WrongRequest[] = [
  ...envelopes,
  ...versions,
  ...bodies,
  ...tokens,
  ...sends.flatMap((row) => [
    { ...row, method: 'SendMessage', name: `SendMessage: ${row.name}` },
    { ...row, method: 'SendStreamingMessage', name: `SendStreamingMessage: ${row.name}` },
  ]),
  ...reads,
];
