import { describe, expect, test } from 'vitest';
import {
  type AgentCard,
  decodeAgentCard,
  decodeParams,
  decodeResponse,
  decodeStreamResponse,
  encodeAgentCard,
  encodeListTasksResponse,
  encodeStreamResponse,
  encodeTask,
  INTERRUPTED_STATES,
  isInterrupted,
  isMethod,
  isTerminal,
  METHOD_NAMES,
  METHODS,
  negotiateVersion,
  type Task,
  TERMINAL_STATES,
} from '../../shared/protocol/index.ts';

const MESSAGE = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
const CARD: AgentCard = {
  name: 'n',
  description: 'd',
  supportedInterfaces: [{ url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  version: '1',
  capabilities: { streaming: false },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
};

const requestOf = (configuration: object) => decodeParams('SendMessage', { message: MESSAGE, configuration });

/** One test a line of "prose and proto disagree"; 3 and 7 are completed by the tests of the server role. */
describe('where prose and proto disagree the proto wins:', () => {
  test('1. SendMessage blocks unless returnImmediately is true; `blocking` means nothing', () => {
    expect(requestOf({})).toMatchObject({ value: { configuration: {} } });
    expect(requestOf({ blocking: false })).toMatchObject({ value: { configuration: {} } });
    expect(requestOf({ returnImmediately: true })).toMatchObject({
      value: { configuration: { returnImmediately: true } },
    });
  });

  test('2. INPUT_REQUIRED and AUTH_REQUIRED are interrupted and not terminal', () => {
    expect([...INTERRUPTED_STATES]).toEqual(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED']);
    expect([...TERMINAL_STATES]).toEqual([
      'TASK_STATE_COMPLETED',
      'TASK_STATE_FAILED',
      'TASK_STATE_CANCELED',
      'TASK_STATE_REJECTED',
    ]);
    expect(isInterrupted('TASK_STATE_AUTH_REQUIRED')).toBe(true);
    expect(isTerminal('TASK_STATE_INPUT_REQUIRED')).toBe(false);
    expect(isInterrupted('TASK_STATE_COMPLETED')).toBe(false);
  });

  test('3. push methods take a flat config, without a PushNotificationConfig inside', () => {
    const wrapped = { taskId: 't', pushNotificationConfig: { url: 'https://hook.example' } };
    expect(decodeParams('CreateTaskPushNotificationConfig', wrapped)).toMatchObject({
      error: { violations: [{ field: 'url', description: 'is required' }] },
    });
    const flat = { taskId: 't', url: 'https://hook.example' };
    expect(decodeParams('CreateTaskPushNotificationConfig', flat)).toMatchObject({ ok: true, value: flat });
  });

  test('4. taskId is required in Create and must be empty or absent inside SendMessage', () => {
    const config = { url: 'https://hook.example' };
    expect(decodeParams('CreateTaskPushNotificationConfig', config).ok).toBe(false);
    expect(requestOf({ taskPushNotificationConfig: config }).ok).toBe(true);
    expect(requestOf({ taskPushNotificationConfig: { ...config, taskId: '' } }).ok).toBe(true);
    expect(requestOf({ taskPushNotificationConfig: { ...config, taskId: 't' } }).ok).toBe(false);
  });

  test('5. Delete answers Empty, which is {}', () => {
    expect(METHODS.DeleteTaskPushNotificationConfig.response).toBe('google.protobuf.Empty');
    expect(decodeResponse('DeleteTaskPushNotificationConfig', {})).toMatchObject({ ok: true, value: {} });
  });

  test('6. a card carries securityRequirements with schemes and lists, not security', () => {
    expect(encodeAgentCard(CARD)['securityRequirements']).toEqual([{ schemes: { bearer: { list: [] } } }]);
    const read = decodeAgentCard({ ...CARD, security: [{ bearer: [] }] });
    expect(read).toMatchObject({ ok: true, value: { securityRequirements: [{ schemes: { bearer: {} } }] } });
    expect(read.ok && 'security' in read.value).toBe(false);
  });

  test('7. contextId is required in events, and infers nothing when absent from a message', () => {
    const status = { state: 'TASK_STATE_WORKING' } as const;
    const event = encodeStreamResponse({ statusUpdate: { taskId: 't', contextId: 'c', status } });
    expect(event).toEqual({ statusUpdate: { taskId: 't', contextId: 'c', status } });
    const onTask = decodeParams('SendMessage', { message: { ...MESSAGE, taskId: 't' } });
    expect(onTask.ok && 'contextId' in onTask.value.message).toBe(false);
  });

  test('8. there is no final flag and no kind, neither written nor read', () => {
    const status = { state: 'TASK_STATE_COMPLETED' } as const;
    const update = { kind: 'status-update', taskId: 't', contextId: 'c', status, final: true };
    const encoded = JSON.stringify(encodeStreamResponse({ statusUpdate: update }));
    expect(encoded).not.toMatch(/kind|final/);
    const read = decodeStreamResponse({ statusUpdate: update });
    expect(read.ok && read.value).toEqual({
      kind: 'statusUpdate',
      statusUpdate: { taskId: 't', contextId: 'c', status },
    });
  });

  test('9. REQUIRED lists may be empty in ListTasks and in a card; parts may not', () => {
    const empty = { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 };
    expect(encodeListTasksResponse(empty, { includeArtifacts: false })).toEqual(empty);
    expect(encodeAgentCard(CARD)).toMatchObject({
      skills: [],
      defaultInputModes: [],
      defaultOutputModes: [],
    });
    expect(decodeAgentCard(CARD).ok).toBe(true);
    expect(decodeParams('SendMessage', { message: { ...MESSAGE, parts: [] } }).ok).toBe(false);
    expect(decodeResponse('SendMessage', { message: { ...MESSAGE, parts: [] } }).ok).toBe(false);
  });

  test('10. supportedInterfaces is required and each names its own protocolVersion', () => {
    const { supportedInterfaces: _interfaces, ...without } = CARD;
    expect(
      decodeAgentCard({ ...without, url: 'https://a.example', protocolVersions: ['1.0'] }),
    ).toMatchObject({
      error: { violations: [{ field: 'supportedInterfaces', description: 'is required' }] },
    });
    const [{ protocolVersion: _version, ...unversioned }] = CARD.supportedInterfaces as [
      AgentCard['supportedInterfaces'][0],
    ];
    expect(
      decodeAgentCard({ ...CARD, protocolVersion: '1.0', supportedInterfaces: [unversioned] }),
    ).toMatchObject({
      error: { violations: [{ field: 'supportedInterfaces[0].protocolVersion' }] },
    });
  });

  test('11. method names are the rpc names, never category/action', () => {
    expect(METHOD_NAMES).toHaveLength(11);
    expect(METHOD_NAMES.every(isMethod)).toBe(true);
    for (const name of [
      'message/send',
      'tasks/get',
      'sendMessage',
      'SendMessage ',
      'constructor',
      '__proto__',
      '',
    ]) {
      expect(isMethod(name)).toBe(false);
    }
  });

  test('12. statusTimestampAfter includes the given instant, so it is never rounded below it', () => {
    const since = (statusTimestampAfter: string) => decodeParams('ListTasks', { statusTimestampAfter });
    expect(since('2026-01-31T12:00:00.123Z')).toMatchObject({
      value: { statusTimestampAfter: '2026-01-31T12:00:00.123Z' },
    });
    expect(since('2026-01-31T12:00:00.123001Z')).toMatchObject({
      value: { statusTimestampAfter: '2026-01-31T12:00:00.124Z' },
    });
  });

  test('13. states and roles are the names of the proto; those of 0.3 are refused', () => {
    expect(decodeParams('ListTasks', { status: 'input-required' }).ok).toBe(false);
    expect(decodeParams('ListTasks', { status: 'TASK_STATE_INPUT_REQUIRED' }).ok).toBe(true);
    expect(decodeParams('SendMessage', { message: { ...MESSAGE, role: 'user' } }).ok).toBe(false);
    const task = { id: 't', status: { state: 'completed' } } as unknown as Task;
    expect(() => encodeTask(task)).toThrow(TypeError);
    const read = decodeResponse('GetTask', task);
    expect(read.ok && isTerminal(read.value.status.state)).toBe(false);
  });

  test('14. A2A-Version 0.3 means 0.3, beside a 1.0 method too', () => {
    expect(negotiateVersion('0.3', undefined).ok).toBe(false);
    expect(negotiateVersion('1.0', undefined).ok).toBe(true);
  });
});
