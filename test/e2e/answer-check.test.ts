import { describe, expect, it } from 'vitest';
import { checkPushed, checkResult } from './answer-check.ts';

const task = {
  id: 'a',
  contextId: 'b',
  status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-11-30T12:00:00.000Z' },
  artifacts: [{ artifactId: 'c', parts: [{ text: '' }, { data: null }, { raw: 'AA==' }] }],
  metadata: { free: null },
};

describe('the check of every answer in these tests', () => {
  it('passes what the proto has', () => {
    checkResult('GetTask', task);
    checkPushed({ task });
    checkResult('DeleteTaskPushNotificationConfig', {});
  });

  it.each<[string, object]>([
    ['an unknown member', { ...task, kind: 'task' }],
    ['a proto name', { ...task, context_id: 'b' }],
    ['a null', { ...task, history: null }],
    ['a number for a state', { ...task, status: { state: 3 } }],
    ['a state that means nothing', { ...task, status: { state: 'TASK_STATE_UNSPECIFIED' } }],
    [
      'a timestamp of another form',
      { ...task, status: { ...task.status, timestamp: '2026-11-30T12:00:00Z' } },
    ],
    [
      'a part with two contents',
      { ...task, artifacts: [{ artifactId: 'c', parts: [{ text: '', url: '' }] }] },
    ],
    ['base64 of another form', { ...task, artifacts: [{ artifactId: 'c', parts: [{ raw: 'AA' }] }] }],
    ['no status', { id: 'a' }],
  ])('refuses %s', (_what, result) => {
    expect(() => checkResult('GetTask', result)).toThrow();
  });

  it('refuses a list without its REQUIRED fields, and an event of two things', () => {
    expect(() => checkResult('ListTasks', { tasks: [] })).toThrow('REQUIRED');
    expect(() => checkPushed({ task, message: task })).toThrow();
  });
});
