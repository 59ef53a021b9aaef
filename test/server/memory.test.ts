import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import { executing, message } from './rig.ts';
import { asking, completed, type Scene, startScene, stream } from './scene.ts';

// Many calls: on a machine that does other things as well they take their time.
vi.setConfig({ testTimeout: 240_000 });

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Of a task that ended or was abandoned nothing may stay: what did would be many times this, bytes a task. */
const MOST_KEPT = 512;

/** Bytes on the heap once all that is garbage is gone, and what else would keep a process from ending. */
async function held(): Promise<{ readonly bytes: number; readonly timers: number }> {
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  return { bytes: process.memoryUsage().heapUsed, timers };
}

test('R06 a thousand tasks, abandoned ones and left streams among them, leave nothing in memory', async () => {
  const asks = asking();
  await using scene = await startScene({
    clients: ['plenty'],
    adapters: { asks, works: { run: async () => completed('done') } },
    settings: { openTasks: 10_000 },
  });
  await using _executor = executing(scene.gateway);
  // What the test itself records is not the gateway's.
  const { measurements } = scene.gateway.metrics;
  const own = [asks.requests, measurements, scene.gateway.log.lines] as unknown[][];
  await tasks(scene, 100, own);
  const before = await held();
  await tasks(scene, 1_000, own);
  const after = await held();
  expect((after.bytes - before.bytes) / 1_000).toBeLessThan(MOST_KEPT);
  expect(after.timers).toBeLessThanOrEqual(before.timers);
});

/** Eight callers at once; of ten tasks two are streamed, three are asked back and abandoned, one stream is left. */
async function tasks({ gateway }: Scene, count: number, own: readonly unknown[][]): Promise<void> {
  let next = 0;
  const caller = async () => {
    for (let i = next++; i < count; i = next++) {
      const params = { tenant: i % 10 < 3 ? 'asks' : 'works', message: message(`task ${i}`) };
      if (i % 10 > 0 && i % 10 !== 5) await gateway.call('plenty', 'SendMessage', params);
      else {
        const events = await stream(gateway, 'plenty', 'SendStreamingMessage', params);
        await (i % 10 === 5 ? events.next().then(() => events.drop()) : events.rest());
      }
      for (const records of own) records.length = 0;
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
}
