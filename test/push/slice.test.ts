import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outline, type Push, startPush } from './rig.ts';

describe('a webhook registered with a message', () => {
  let push: Push;
  beforeAll(async () => {
    push = await startPush();
  });
  afterAll(() => push[Symbol.asyncDispose]());

  test('gets every event of its task, in order, with its credential and nothing else of it', async () => {
    const { gateway, webhooks } = push;
    const task = await push.send('push me', {
      url: webhooks.url(),
      token: 'a-token',
      authentication: { scheme: 'Bearer', credentials: 'a-credential' },
    });
    await push.finish(task);
    await push.outbox.drain();
    const { seen } = webhooks.receiver;
    expect(outline(seen.map(({ body }) => body))).toEqual(['SUBMITTED', 'artifact push me', 'COMPLETED']);
    expect(seen.map(({ body }) => Object.keys(JSON.parse(body)))).toEqual([
      ['statusUpdate'],
      ['artifactUpdate'],
      ['statusUpdate'],
    ]);
    for (const { headers, method, path } of seen) {
      expect({ method, path }).toEqual({ method: 'POST', path: '/hook' });
      expect(headers.authorization).toBe('Bearer a-credential');
      expect(headers['content-type']).toBe('application/a2a+json');
      expect(JSON.stringify(headers)).not.toContain('a-token');
    }
    // One id an event, the same for every attempt of it: what a receiver dedupes by (D11).
    expect(new Set(seen.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
    const listed = await gateway.call('alice', 'ListTaskPushNotificationConfigs', { taskId: task });
    expect(listed.result.configs).toMatchObject([{ url: webhooks.url(), token: 'a-token' }]);
    expect(JSON.stringify(listed)).not.toContain('a-credential');
    expect(await push.show(task)).toMatchObject({
      state: 'active',
      next: '3.0',
      jobs: [
        { revision: 1, state: 'delivered' },
        { revision: 2, state: 'delivered' },
      ],
      attempts: [
        { event: '1.0', number: 1, class: '2xx', status: 200 },
        { event: '2.1', number: 1, class: '2xx', status: 200 },
      ],
    });
  });
});
