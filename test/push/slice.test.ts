import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGateway, echoProfile, type Gateway, message, register } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { startWebhooks, type Webhooks } from './rig.ts';

describe('a webhook registered with a message', () => {
  let rig: StoreRig;
  let gateway: Gateway;
  let webhooks: Webhooks;
  beforeAll(async () => {
    rig = await startStore();
    webhooks = await startWebhooks();
    await register(rig.store, {
      clients: [{ id: 'alice', webhookPorts: [webhooks.receiver.port] }],
      profiles: [echoProfile],
      providers: [{ id: 'echo', kind: 'echo', timeoutSeconds: 10 }],
    });
    gateway = createGateway({ store: rig.store });
  });
  afterAll(async () => {
    await webhooks[Symbol.asyncDispose]();
    await rig[Symbol.asyncDispose]();
  });

  test('gets every event of its task, in order, with its credential and nothing else of it', async () => {
    const { result, error } = await gateway.call('alice', 'SendMessage', {
      message: message('push me'),
      configuration: {
        returnImmediately: true,
        taskPushNotificationConfig: {
          url: webhooks.url(),
          token: 'a-token',
          authentication: { scheme: 'Bearer', credentials: 'a-credential' },
        },
      },
    });
    expect(error).toBeUndefined();
    await gateway.runAll();
    await gateway.follow(result.task.id);
    await webhooks.deliverAll(gateway);
    const bodies = webhooks.receiver.seen.map(({ body }) => JSON.parse(body));
    expect(bodies.map((body) => Object.keys(body))).toEqual([
      ['statusUpdate'],
      ['artifactUpdate'],
      ['statusUpdate'],
    ]);
    expect(bodies.map((body) => body.statusUpdate?.status.state)).toEqual([
      'TASK_STATE_SUBMITTED',
      undefined,
      'TASK_STATE_COMPLETED',
    ]);
    for (const { headers } of webhooks.receiver.seen) {
      expect(headers.authorization).toBe('Bearer a-credential');
      expect(headers['content-type']).toBe('application/a2a+json');
      expect(JSON.stringify(headers)).not.toContain('a-token');
    }
    const listed = await gateway.call('alice', 'ListTaskPushNotificationConfigs', { taskId: result.task.id });
    expect(listed.result.configs).toMatchObject([{ url: webhooks.url(), token: 'a-token' }]);
    expect(JSON.stringify(listed)).not.toContain('a-credential');
  });
});
