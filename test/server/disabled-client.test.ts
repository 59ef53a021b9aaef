import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keys } from '../../shared/storage/keys.ts';
import type { Value } from '../../shared/storage/port.ts';
import { message } from './rig.ts';
import { ask, events, gated, outline, type Scene, startScene } from './scene.ts';

/** Longer than an answer under way believes that its caller is still let in, ms. */
const LONG_ENOUGH = 1_200;
const pause = () => new Promise((resolve) => setTimeout(resolve, LONG_ENOUGH));

describe('a client that is disabled while an answer to it is under way', () => {
  let scene: Scene;
  const work = { waiting: gated(), listening: gated() };
  beforeAll(async () => {
    scene = await startScene({ clients: ['waiting', 'listening'], adapters: work });
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  async function disable(client: string) {
    const item = (await scene.rig.store.get('registry', keys.client(client)))!;
    const data = { ...(item['data'] as object), disabled: true } as unknown as Value;
    await scene.rig.store.write({ kind: 'put', table: 'registry', item: { ...item, data } });
  }
  const sent = (tenant: string) => ({ tenant, message: message('go') });
  const finish = async (name: keyof typeof work, task: string) => {
    const running = scene.gateway.execute(task);
    await disable(name);
    await pause();
    work[name].release();
    await running;
  };

  test('gets 401 and nothing of the task from a call that waits for it', async () => {
    const answering = ask(scene.gateway, 'waiting', 'SendMessage', sent('waiting'));
    while (scene.gateway.runQueue.messages.length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    await finish('waiting', scene.gateway.runQueue.messages.shift()!.task);
    const answer = await answering;
    expect([answer.status, answer.error?.code, answer.result]).toEqual([401, -32090, undefined]);
    expect(answer.text).not.toContain('done');
  });

  test('gets no further event of its stream', async () => {
    const name = 'listening';
    const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: sent(name) };
    const stream = events(await scene.gateway.post(name, body));
    const first = await stream.next();
    const task: string = first?.result.task.id;
    scene.gateway.runQueue.messages.splice(0);
    await finish(name, task);
    expect(outline(await stream.rest())).not.toContain('statusUpdate COMPLETED');
    // The work itself went on: it is only not told to who may not hear it.
    expect((await scene.rig.store.get('state', keys.head(task)))?.['state']).toBe('TASK_STATE_COMPLETED');
  });
});
