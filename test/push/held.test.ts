import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Outcome } from '../../shared/guard/index.ts';
import { resumeConfig, retryJob } from '../../shared/push/operate.ts';
import { webhookPolicyOf } from '../../shared/push/policy.ts';
import { auditEntry } from '../../shared/registry/audit.ts';
import { message } from '../server/rig.ts';
import { completed, provider } from '../server/scene.ts';
import { deliverOne, outline, type Push, startPush } from './rig.ts';

const MINUTE = 60_000;
const answered = (status: number): Outcome => ({ kind: 'response', status, headers: {} });

describe('a webhook that may not be used for a while', () => {
  let push: Push;
  let outcome = answered(200);
  let isDisabled = false;
  const sent: string[] = [];
  beforeAll(async () => {
    const echo = provider(({ message: { parts }, history }) => {
      const [{ text = '' } = {}] = parts;
      return text === 'ask me' && history.length === 0
        ? { kind: 'input-required', message: [{ text: 'What?' }] }
        : completed(text);
    });
    push = await startPush({
      adapters: { echo },
      async request({ body }) {
        sent.push(String(body));
        return outcome;
      },
    });
    const { policyOf } = push.services;
    push.outbox.consume = (one) =>
      deliverOne({ ...push.services, policyOf: async (id) => (isDisabled ? undefined : policyOf(id)) }, one);
  });
  beforeEach(() => {
    outcome = answered(200);
    isDisabled = false;
    sent.splice(0);
  });
  afterAll(() => push[Symbol.asyncDispose]());

  const audit = () =>
    auditEntry(push.services, { actor: 'ada', operation: 'test' }, { kind: 'push', id: 'x' });
  const started = async () => {
    const task = await push.send('x', { id: 'mine', url: push.webhooks.url() });
    await push.finish(task);
    const [config] = await push.configs(task);
    return { task, config: config! };
  };
  /** So much time with its sweeps; the most messages that were waiting at once. */
  const minutes = async (count: number) => {
    let most = 0;
    for (let i = 0; i < count; i++) {
      await push.sweep();
      await push.outbox.pass(MINUTE);
      most = Math.max(most, push.outbox.waiting.length);
    }
    return most;
  };
  const ALL = ['SUBMITTED', 'artifact x', 'COMPLETED'];

  test('because its client is disabled gets nothing, uses no attempt, and goes on once it is enabled', async () => {
    isDisabled = true;
    const { task } = await started();
    // One message for it at a time, however long that lasts.
    expect(await minutes(20)).toBeLessThanOrEqual(1);
    expect(sent).toEqual([]);
    expect(await push.show(task)).toMatchObject({ state: 'active', next: '1.0', attempts: [] });
    isDisabled = false;
    await minutes(3);
    expect(outline(sent)).toEqual(ALL);
  });

  test("holds an operator's retry too while its client is disabled", async () => {
    outcome = answered(400);
    const { task, config } = await started();
    await push.outbox.drain();
    sent.splice(0);
    outcome = answered(200);
    isDisabled = true;
    await retryJob(push.services, task, config, 2, audit());
    expect(await minutes(20)).toBeLessThanOrEqual(2);
    expect(sent).toEqual([]);
    isDisabled = false;
    await minutes(3);
    expect(outline(sent)).toEqual(['artifact x', 'COMPLETED']);
  });

  test('because it is paused delivers a retry that the pause held as soon as it is resumed', async () => {
    outcome = answered(400);
    const { task, config } = await started();
    await push.outbox.drain();
    outcome = answered(401);
    await retryJob(push.services, task, config, 2, audit());
    await push.outbox.drain();
    expect((await push.show(task)).state).toBe('paused');
    sent.splice(0);
    outcome = answered(200);
    push.outbox.waiting.splice(0);
    expect(await resumeConfig(push.services, task, config, audit())).toBe('resumed');
    await push.outbox.pass(2 * MINUTE);
    expect(outline(sent)).toEqual(['artifact x', 'COMPLETED']);
  });

  test('because it was stopped is made anew by the same config in a follow-up message', async () => {
    const wanted = { id: 'mine', url: push.webhooks.url() };
    const task = await push.send('ask me', wanted);
    outcome = answered(410);
    await push.finish(task);
    await push.outbox.drain();
    const [old] = await push.configs(task);
    expect((await push.show(task, old)).state).toBe('stopped');
    sent.splice(0);
    outcome = answered(200);
    const { error } = await push.gateway.call('alice', 'SendMessage', {
      message: message('an answer', { taskId: task }),
      configuration: { returnImmediately: true, taskPushNotificationConfig: wanted },
    });
    expect(error).toBeUndefined();
    await push.finish(task);
    await push.outbox.drain();
    expect(await push.configs(task)).toHaveLength(1);
    expect(outline(sent)).toEqual(['WORKING', 'artifact an answer', 'COMPLETED']);
  });

  test('because it was stopped is created anew by the same call, and hears what comes after', async () => {
    const wanted = { id: 'mine', url: push.webhooks.url() };
    const task = await push.send('x', wanted);
    await push.gateway.follow(task);
    outcome = answered(410);
    await push.outbox.drain();
    const [old] = await push.configs(task);
    expect((await push.show(task, old)).state).toBe('stopped');
    sent.splice(0);
    outcome = answered(200);
    expect(await push.create(task, wanted)).toBe('mine');
    const configs = await push.configs(task);
    expect(configs).toHaveLength(1);
    expect(configs[0]).not.toBe(old);
    await push.finish(task);
    await push.outbox.drain();
    expect(outline(sent)).toEqual(ALL.slice(1));
  });
});

test('the policy of a client is none while it is disabled, and else its ports and hosts', () => {
  expect(webhookPolicyOf({ disabled: true, webhookPorts: [8443] })).toBeUndefined();
  expect(webhookPolicyOf({ disabled: false, webhookPorts: [8443], webhookHosts: ['a.example'] })).toEqual({
    purpose: 'webhook',
    allowedPorts: [8443],
    allowHosts: ['a.example'],
  });
  expect(webhookPolicyOf(undefined)).toEqual({ purpose: 'webhook', allowedPorts: [] });
});
