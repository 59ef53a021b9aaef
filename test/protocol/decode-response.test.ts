import { describe, expect, test } from 'vitest';
import {
  decodeAgentCard,
  decodeResponse,
  decodeStreamResponse,
  isInterrupted,
  isTerminal,
} from '../../shared/protocol/index.ts';

const TASK = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };

describe('reading a peer’s answer', () => {
  test('ignores fields that this version does not know, at every level', () => {
    const task = {
      ...TASK,
      zzz: 1,
      status: { ...TASK.status, zzz: 1 },
      artifacts: [{ artifactId: 'a', zzz: {}, parts: [{ text: 'x', zzz: [] }] }],
    };
    expect(decodeResponse('GetTask', task)).toEqual({
      ok: true,
      value: { ...TASK, artifacts: [{ artifactId: 'a', parts: [{ text: 'x' }] }] },
      notices: [],
    });
  });

  test.each([
    ['a state of the future', 'TASK_STATE_PAUSED', 'TASK_STATE_PAUSED'],
    ['a state number of the future', 42, '42'],
    ['the state of 0.3', 'completed', 'completed'],
    ['the unspecified state', 'TASK_STATE_UNSPECIFIED', 'TASK_STATE_UNSPECIFIED'],
    ['no state', undefined, 'TASK_STATE_UNSPECIFIED'],
    ['a state that is an object', {}, '?'],
    ['a name fit for no log', `x\n${'y'.repeat(99)}`, `x?${'y'.repeat(62)}`],
  ])(
    'takes %s for an unknown state, neither terminal nor interrupted, and keeps its name',
    (_what, state, name) => {
      const read = decodeResponse('GetTask', { ...TASK, status: { state } });
      if (!read.ok) throw new Error('refused');
      expect(read.value.status).toEqual({ state: 'TASK_STATE_UNKNOWN', unknownState: name });
      expect(isTerminal(read.value.status.state)).toBe(false);
      expect(isInterrupted(read.value.status.state)).toBe(false);
      expect(read.notices).toEqual([{ kind: 'unknown-state', path: 'status.state', name }]);
    },
  );

  test('takes a member of a stream or result that it does not know for an unknown one, by name', () => {
    for (const read of [
      decodeStreamResponse({ taskProgress: { percent: 5 } }),
      decodeResponse('SendMessage', { taskProgress: {} }),
      decodeResponse('SubscribeToTask', { taskProgress: {}, task: null }),
    ]) {
      expect(read).toMatchObject({ ok: true, value: { kind: 'unknown', name: 'taskProgress' } });
      expect(read.ok && read.notices).toHaveLength(1);
    }
  });

  test('reads every known member of a stream', () => {
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'x' }] };
    const artifact = { artifactId: 'a', parts: [{ data: null }] };
    expect(decodeStreamResponse({ task: TASK })).toMatchObject({ value: { kind: 'task', task: TASK } });
    expect(decodeStreamResponse({ message })).toMatchObject({ value: { kind: 'message', message } });
    expect(decodeStreamResponse({ status_update: { task_id: 't', status: { state: 3 } } })).toMatchObject({
      value: {
        kind: 'statusUpdate',
        statusUpdate: { taskId: 't', status: { state: 'TASK_STATE_COMPLETED' } },
      },
    });
    expect(
      decodeStreamResponse({ artifactUpdate: { taskId: 't', contextId: 'c', artifact, lastChunk: true } }),
    ).toEqual({
      ok: true,
      value: {
        kind: 'artifactUpdate',
        artifactUpdate: { taskId: 't', contextId: 'c', artifact, lastChunk: true },
      },
      notices: [],
    });
  });

  test.each([{}, null, undefined, [], 'x', 5, { task: TASK, message: { parts: [{ text: 'x' }] } }])(
    'refuses %j as an event',
    (result) => {
      expect(decodeStreamResponse(result)).toMatchObject({ ok: false, error: { kind: 'invalid-response' } });
    },
  );

  test('leaves out parts of unknown kinds, says so, and never reads one as an empty part', () => {
    const artifact = { artifactId: 'a', parts: [{ hologram: {} }, { text: 'x' }] };
    expect(
      decodeResponse('GetTask', { ...TASK, artifacts: [artifact, { ...artifact, parts: [{ video: 1 }] }] }),
    ).toEqual({
      ok: true,
      value: {
        ...TASK,
        artifacts: [
          { artifactId: 'a', parts: [{ text: 'x' }] },
          { artifactId: 'a', parts: [] },
        ],
      },
      notices: [
        { kind: 'unknown-part', path: 'artifacts[0].parts[0]', name: 'hologram' },
        { kind: 'unknown-part', path: 'artifacts[1].parts[0]', name: 'video' },
      ],
    });
  });

  test.each([
    ['no part left', [{ hologram: {} }], 'message.parts'],
    ['no parts', [], 'message.parts'],
    ['a part without any content', [{ text: 'x' }, {}], 'message.parts[1]'],
    ['a part with two contents', [{ text: 'x', url: 'y' }], 'message.parts[0]'],
  ])('refuses a message with %s', (_what, parts, field) => {
    const result = { message: { messageId: 'm', role: 'ROLE_AGENT', parts } };
    expect(decodeResponse('SendMessage', result)).toMatchObject({
      ok: false,
      error: { violations: [{ field }] },
    });
  });

  test('takes a message of a task without any part of a known kind for none, says so, and reads the task', () => {
    const unread = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ hologram: {} }] };
    const history = [unread, { ...unread, parts: [{ text: 'x' }] }];
    const task = { ...TASK, status: { ...TASK.status, message: unread }, history };
    const decoded = decodeResponse('GetTask', task);
    expect(decoded.ok && decoded.value.status).toEqual(TASK.status);
    expect(decoded).toMatchObject({
      ok: true,
      value: { history: [{ parts: [{ text: 'x' }] }] },
      notices: [{ path: 'status.message.parts[0]' }, { path: 'history[0].parts[0]' }],
    });
  });

  test.each([
    ['id', 'x'.repeat(257)],
    ['id', '\ud800'],
    ['contextId', 'x'.repeat(257)],
  ])('refuses a task whose %s could not be kept', (field, value) => {
    expect(decodeResponse('SendMessage', { task: { ...TASK, [field]: value } })).toMatchObject({
      ok: false,
      error: { violations: [{ field: `task.${field}` }] },
    });
  });

  test('refuses a list that is longer than any use, without looking at its elements', () => {
    const history = Array.from({ length: 10_001 }, () => ({}));
    expect(decodeResponse('GetTask', { ...TASK, history })).toMatchObject({
      error: { violations: [{ field: 'history', description: 'must have at most 10000 elements' }] },
    });
  });

  test('takes a task with no message, no artifacts, no history and no timestamp', () => {
    expect(decodeResponse('GetTask', { id: 't', status: { state: 3 } })).toEqual({
      ok: true,
      value: { id: 't', status: { state: 'TASK_STATE_COMPLETED' } },
      notices: [],
    });
  });

  test('leaves out a timestamp that it cannot read, and says so', () => {
    const read = decodeResponse('GetTask', { ...TASK, status: { ...TASK.status, timestamp: 1769860800 } });
    expect(read).toEqual({
      ok: true,
      value: TASK,
      notices: [{ kind: 'unreadable-timestamp', path: 'status.timestamp', name: 'number' }],
    });
    const odd = { ...TASK, status: { ...TASK.status, timestamp: '2026-01-31T13:00:00.123999+01:00' } };
    expect(decodeResponse('CancelTask', odd)).toMatchObject({
      value: { status: { timestamp: '2026-01-31T12:00:00.123Z' } },
    });
  });

  test('fills in REQUIRED defaults that a peer left out', () => {
    expect(decodeResponse('ListTasks', {})).toMatchObject({
      value: { tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0 },
    });
    expect(decodeResponse('ListTaskPushNotificationConfigs', {})).toMatchObject({ ok: true, value: {} });
  });

  test.each([
    ['a task without id', { status: TASK.status }, 'id'],
    ['a task with an empty id', { ...TASK, id: '' }, 'id'],
    ['a task without status', { id: 't' }, 'status'],
    ['nothing', undefined, 'result'],
    ['null', null, 'result'],
    ['a list', [], 'result'],
  ])('refuses %s and names the field', (_what, result, field) => {
    expect(decodeResponse('GetTask', result)).toMatchObject({
      ok: false,
      error: { violations: [{ field }] },
    });
  });

  test('takes {} and null for the answer to Delete, and nothing else', () => {
    expect(decodeResponse('DeleteTaskPushNotificationConfig', null)).toMatchObject({ ok: true, value: {} });
    expect(decodeResponse('DeleteTaskPushNotificationConfig', { zzz: 1 })).toMatchObject({
      ok: true,
      value: {},
    });
    expect(decodeResponse('DeleteTaskPushNotificationConfig', undefined).ok).toBe(false);
    expect(decodeResponse('DeleteTaskPushNotificationConfig', 'ok').ok).toBe(false);
  });
});

describe('reading a card', () => {
  const CARD = {
    name: 'n',
    supportedInterfaces: [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: {},
  };

  test('takes one that leaves out what it may, and fills the REQUIRED rest', () => {
    expect(decodeAgentCard(CARD)).toMatchObject({
      ok: true,
      value: {
        ...CARD,
        description: '',
        version: '',
        defaultInputModes: [],
        defaultOutputModes: [],
        skills: [],
      },
    });
  });

  test.each([
    ['name', { ...CARD, name: undefined }],
    ['capabilities', { ...CARD, capabilities: undefined }],
    ['supportedInterfaces', { ...CARD, supportedInterfaces: [] }],
    [
      'supportedInterfaces[0].url',
      { ...CARD, supportedInterfaces: [{ protocolBinding: 'x', protocolVersion: '1.0' }] },
    ],
    ['capabilities.extensions[0].uri', { ...CARD, capabilities: { extensions: [{ required: true }] } }],
    ['result', null],
  ])('refuses one without %s and names it', (field, card) => {
    expect(decodeAgentCard(card)).toMatchObject({ ok: false, error: { violations: [{ field }] } });
  });

  test('reads a security scheme of an unknown kind as one without members', () => {
    const read = decodeAgentCard({ ...CARD, securitySchemes: { a: { quantumSecurityScheme: {} } } });
    expect(read).toMatchObject({ ok: true, value: { securitySchemes: { a: {} } } });
  });

  test('is not led astray by names of object internals', () => {
    const read = decodeAgentCard(
      JSON.parse(
        `{"name":"n","supportedInterfaces":${JSON.stringify(CARD.supportedInterfaces)},"capabilities":{},
          "securitySchemes":{"__proto__":{"mtlsSecurityScheme":{}},"ok":{"mtlsSecurityScheme":{}}}}`,
      ),
    );
    expect(read.ok && Object.keys(read.value.securitySchemes ?? {})).toEqual(['ok']);
    expect(({} as Record<string, unknown>)['mtlsSecurityScheme']).toBeUndefined();
  });
});
