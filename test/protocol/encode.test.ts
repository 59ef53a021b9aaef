import { describe, expect, test } from 'vitest';
import {
  encodeListTasksResponse,
  encodeMessage,
  encodeMessageOf,
  encodeParams,
  encodePushConfig,
  encodePushConfigList,
  encodeSendMessageResponse,
  encodeTask,
  type Message,
  type Task,
} from '../../shared/protocol/index.ts';

const MESSAGE: Message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] };
const TASK: Task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };

describe('encoding', () => {
  test('writes set oneof members, null data and falsy values as they are', () => {
    const data = { a: 0, b: false, c: '', d: [], e: null };
    const parts: Message['parts'] = [{ text: '' }, { data: null }, { data }, { raw: '' }, { url: '' }];
    expect(JSON.stringify(encodeMessage({ ...MESSAGE, parts })['parts'])).toBe(
      `[{"text":""},{"data":null},{"data":${JSON.stringify(data)}},{"raw":""},{"url":""}]`,
    );
  });

  test('writes no null outside data and metadata, whatever undefined or null stands in memory', () => {
    const task = { ...TASK, contextId: null, artifacts: undefined, metadata: { a: null } } as unknown as Task;
    expect(JSON.stringify(encodeTask(task))).toBe(
      '{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"metadata":{"a":null}}',
    );
  });

  test('writes empty metadata that was set, and no empty lists', () => {
    expect(encodeMessage({ ...MESSAGE, metadata: {}, extensions: [] })).toEqual({ ...MESSAGE, metadata: {} });
  });

  test('writes nothing that the proto does not know', () => {
    expect(encodeTask({ ...TASK, kind: 'task', owner: 'x' } as Task)).toEqual(TASK);
  });

  test('writes artifacts of listed tasks exactly when asked for, then also when there are none', () => {
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'x' }] }];
    const page = { tasks: [TASK, { ...TASK, artifacts }], nextPageToken: 'n', pageSize: 2, totalSize: 9 };
    expect(encodeListTasksResponse(page, { includeArtifacts: false })['tasks']).toEqual([TASK, TASK]);
    const listed = encodeListTasksResponse(page, { includeArtifacts: true });
    expect(listed['tasks']).toEqual([
      { ...TASK, artifacts: [] },
      { ...TASK, artifacts },
    ]);
    expect(Object.keys(listed)).toEqual(['tasks', 'nextPageToken', 'pageSize', 'totalSize']);
  });

  test('never answers the credentials of a push config, and sends them in a request', () => {
    const config = {
      taskId: 't',
      url: 'https://h.example',
      authentication: { scheme: 'Bearer', credentials: 's3' },
    };
    expect(
      JSON.stringify([encodePushConfig(config), encodePushConfigList({ configs: [config] })]),
    ).not.toContain('s3');
    expect(encodePushConfig(config)['authentication']).toEqual({ scheme: 'Bearer' });
    expect(encodeParams('CreateTaskPushNotificationConfig', config)).toEqual(config);
    expect(encodePushConfigList({ nextPageToken: '' })).toEqual({});
  });

  test.each([
    ['an unknown state', { ...TASK, status: { state: 'TASK_STATE_UNKNOWN' } }],
    ['the unspecified state', { ...TASK, status: { state: 'TASK_STATE_UNSPECIFIED' } }],
    ['a missing status', { id: 't' }],
  ])('throws rather than write %s', (_what, task) => {
    expect(() => encodeSendMessageResponse({ task: task as Task })).toThrow(TypeError);
  });

  test('keeps a scope named like an object internal a plain member', () => {
    const scopes = JSON.parse('{"__proto__":"x","a":"y"}') as Record<string, string>;
    const encoded = encodeMessageOf('ImplicitOAuthFlow', { scopes });
    expect(JSON.stringify(encoded)).toBe('{"scopes":{"__proto__":"x","a":"y"}}');
  });
});
