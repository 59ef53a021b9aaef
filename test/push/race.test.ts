import { describe, expect, test } from 'vitest';
import { outline, startPush } from './rig.ts';

describe('a create that races the completion of its task (P10)', () => {
  test('gets the terminal event, or is refused, or the task is seen as finished right after', {
    timeout: 90_000,
  }, async () => {
    const bodies: string[] = [];
    const push = await startPush({
      request: async ({ body }) => {
        bodies.push(String(body));
        return { kind: 'response', status: 200, headers: {} };
      },
    });
    const url = push.webhooks.url();
    const outcomes = { delivered: 0, refused: 0, seenAtOnce: 0 };
    for (let i = 0; i < 200; i++) {
      const task = await push.send(`race ${i}`);
      push.gateway.runQueue.messages.splice(0);
      const params = { taskId: task, url };
      const create = () => push.gateway.call('alice', 'CreateTaskPushNotificationConfig', params);
      // Spread over the few milliseconds in which the run completes and is published: every other time the create begins
      // first, so that each of them is the faster one now and then, however slow the machine.
      const isFirst = i % 2 === 0;
      const begun = isFirst ? create() : undefined;
      const early = isFirst ? undefined : push.gateway.execute(task);
      for (let turns = Math.floor(i / 2) % 24; turns > 0; turns--)
        await new Promise((resolve) => setImmediate(resolve));
      const running = early ?? push.gateway.execute(task);
      const { result, error } = await (begun ?? create());
      const after = await push.gateway.call('alice', 'GetTask', { id: task });
      await running;
      await push.gateway.follow(task);
      if (error) {
        expect(error.code).toBe(-32004);
        outcomes.refused++;
        continue;
      }
      await push.outbox.drain();
      expect(result.taskId).toBe(task);
      if (outline(bodies.splice(0)).includes('COMPLETED')) outcomes.delivered++;
      else {
        expect(after.result.status.state).toBe('TASK_STATE_COMPLETED');
        outcomes.seenAtOnce++;
      }
    }
    console.log('200 creates against completion:', outcomes);
    expect(outcomes.delivered).toBeGreaterThan(10);
    expect(outcomes.refused).toBeGreaterThan(10);
    await push[Symbol.asyncDispose]();
  });
});
