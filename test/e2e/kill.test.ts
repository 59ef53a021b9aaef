import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { TaskState } from '@a2a-js/sdk';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Host, startHost } from '../../infra/local/host.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { portIsOpen } from '../local/ports.ts';
import { checkPushed } from './answer-check.ts';
import { type Command, startCommand } from './command.ts';
import { asksForAColour, type Folder, makeFolder, waitsForAFile } from './function-provider.ts';
import { asTask, connectStock, request, type StockClient, textsOf } from './stock-client.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

/** As many runs as one host takes at once: what is sent behind them stays queued. */
const ALL_EXECUTORS = 20;
const immediately = { configuration: { returnImmediately: true } };
const within = { timeout: 20_000, interval: 100 };

/** The clock of a host that starts after every lease of the killed one ran out; nobody waits for it here. */
const later = { ...systemClock, now: () => Date.now() + 120_000 };

async function isIn(connected: StockClient, id: string, state: TaskState): Promise<void> {
  const read = () => connected.client.getTask({ tenant: '', id });
  await vi.waitFor(async () => expect((await read()).status?.state).toBe(state), within);
}

/** A webhook that leaves every request unanswered until it is told to answer. */
async function startWebhook() {
  const seen: { readonly id: string; readonly body: unknown; readonly accepted: boolean }[] = [];
  const waiting: ServerResponse[] = [];
  let answers = false;
  const server = createServer(async (incoming, response) => {
    const body = JSON.parse(Buffer.concat(await incoming.toArray()).toString());
    seen.push({ id: String(incoming.headers['webhook-id']), body, accepted: answers });
    if (answers) response.end();
    else waiting.push(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/hook`,
    seen,
    answer: () => {
      answers = true;
      for (const response of waiting) response.destroy();
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe('after kill -9 in the middle of runs, and a start on the same data', () => {
  let folder: Folder;
  let webhook: Awaited<ReturnType<typeof startWebhook>>;
  let first: Command;
  let host: Host;
  let again: StockClient;
  let finished: string;
  let asked: string;
  let working: string[];
  let queued: string[];
  let cut: PromiseSettledResult<unknown>[];

  beforeAll(async () => {
    folder = makeFolder();
    webhook = await startWebhook();
    const functions = {
      wait: folder.handler('wait', waitsForAFile),
      order: folder.handler('order', asksForAColour),
    };
    const flags = Object.entries(functions).flatMap(([name, path]) => ['--function', `${name}=${path}`]);
    const dataDir = join(folder.path, 'data');
    const release = join(folder.path, 'released');
    first = await startCommand(['--data', dataDir, '--allow-loopback', ...flags]);
    const connected = await connectStock(first);
    const { client } = connected;
    const send = async (...sent: Parameters<typeof request>) =>
      asTask(await client.sendMessage(request(...sent)));

    finished = (await send('kept')).id;
    asked = (await send('A car.', { tenant: 'order' })).id;
    const config = {
      tenant: '',
      id: 'hook',
      taskId: '',
      url: webhook.url,
      token: '',
      authentication: undefined,
    };
    const watched = { configuration: { returnImmediately: true, taskPushNotificationConfig: config } };
    working = [(await send(release, { tenant: 'wait', ...watched })).id];
    const inFlight = Promise.allSettled([
      client.sendMessage(request(release, { tenant: 'wait' })),
      client.sendMessageStream(request(release, { tenant: 'wait' })).next(),
    ]);
    for (let i = working.length + 2; i < ALL_EXECUTORS; i++) {
      working.push((await send(release, { tenant: 'wait', ...immediately })).id);
    }
    for (const id of working) await isIn(connected, id, TaskState.TASK_STATE_WORKING);
    queued = [(await send('queued', immediately)).id, (await send('queued, too', immediately)).id];
    await vi.waitFor(() => expect(webhook.seen).toHaveLength(1), within);
    for (const id of queued) await isIn(connected, id, TaskState.TASK_STATE_SUBMITTED);

    await first.kill();
    cut = await inFlight;
    expect(await portIsOpen(first.url)).toBe(false);

    webhook.answer();
    host = await startHost({
      dataDir,
      functionModules: functions,
      allowLoopback: true,
      sweepMs: 500,
      graceMs: 500,
      seams: { clock: later },
    });
    again = await connectStock({ url: host.url, token: first.token });
    writeFileSync(release, '');
  }, 90_000);
  afterAll(async () => {
    await first?.kill();
    await host?.stop();
    webhook?.close();
    folder?.[Symbol.dispose]();
  });

  it('the token is still good, and what was completed is there with its result', async () => {
    const task = await again.client.getTask({ tenant: '', id: finished });
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textsOf(task)).toEqual(['kept']);
  });

  it('callers that waited saw their connection break, never an answer that looked whole', () => {
    expect(cut.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('every run that was at work completes', async () => {
    for (const id of working) {
      await isIn(again, id, TaskState.TASK_STATE_COMPLETED);
      expect(textsOf(await again.client.getTask({ tenant: '', id }))).toEqual(['released']);
    }
  }, 60_000);

  it('every run that was queued completes, although the queue is gone', async () => {
    for (const id of queued) await isIn(again, id, TaskState.TASK_STATE_COMPLETED);
  }, 60_000);

  it('no task is left unfinished, those included whose ids no caller ever got', async () => {
    const unfinished = async () => {
      const all = {
        tenant: '',
        contextId: '',
        pageToken: '',
        statusTimestampAfter: undefined,
        pageSize: 100,
      };
      const { tasks } = await again.client.listTasks({ ...all, status: TaskState.TASK_STATE_UNSPECIFIED });
      expect(tasks).toHaveLength(2 + ALL_EXECUTORS + queued.length);
      return tasks
        .filter(({ status }) => status?.state !== TaskState.TASK_STATE_COMPLETED)
        .map(({ id }) => id)
        .filter((id) => id !== asked);
    };
    await expect.poll(unfinished, within).toEqual([]);
  }, 60_000);

  it('a task that waited for input takes its answer', async () => {
    const before = await again.client.getTask({ tenant: '', id: asked });
    expect(before.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const answer = request('Red.', { message: { taskId: asked }, tenant: 'order' });
    expect(textsOf(asTask(await again.client.sendMessage(answer)))).toEqual(['A car., Red.']);
  });

  it('the webhook gets the event that was under way again, and every later one, in order', async () => {
    const states = () =>
      webhook.seen
        .filter(({ accepted }) => accepted)
        .map(({ body }) => body as Record<string, { status?: { state: string } }>)
        .map((body) => body['task']?.status?.state ?? body['statusUpdate']?.status?.state ?? 'artifact');
    await expect.poll(() => states().at(-1), within).toBe('TASK_STATE_COMPLETED');
    expect(states()).toEqual([
      'TASK_STATE_SUBMITTED',
      'TASK_STATE_WORKING',
      'artifact',
      'TASK_STATE_COMPLETED',
    ]);
    for (const { body } of webhook.seen) checkPushed(body);
    const [lost, repeated, ...others] = webhook.seen.map(({ id }) => id);
    expect(repeated).toBe(lost);
    expect(new Set([repeated, ...others]).size).toBe(1 + others.length);
  }, 60_000);
});

describe('a gateway that is killed again and again under load', () => {
  it('completes every task whose id it gave out', async () => {
    using folder = makeFolder();
    const dataDir = join(folder.path, 'data');
    const accepted = new Map<string, string>();
    let token = '';
    for (let round = 0; round < 3; round++) {
      await using command = await startCommand(['--data', dataDir], { direct: true });
      token ||= command.token;
      expect(command.token).toBe(token);
      const { client } = await connectStock(command);
      const sending = Promise.allSettled(
        Array.from({ length: 40 }, async (_, i) => {
          const text = `${round}.${i}`;
          accepted.set(asTask(await client.sendMessage(request(text, i % 2 ? immediately : {}))).id, text);
        }),
      );
      // Some are answered, others are on their way in or at work.
      const enough = (round + 1) * 10;
      await vi.waitUntil(() => accepted.size >= enough + round * 10, { timeout: 20_000, interval: 1 });
      await command.kill();
      await sending;
    }
    const host = await startHost({ dataDir, sweepMs: 500, graceMs: 500, seams: { clock: later } });
    try {
      const again = await connectStock({ url: host.url, token });
      expect(accepted.size).toBeGreaterThanOrEqual(50);
      for (const [id, text] of accepted) {
        await isIn(again, id, TaskState.TASK_STATE_COMPLETED);
        expect(textsOf(await again.client.getTask({ tenant: '', id }))).toEqual([text]);
      }
    } finally {
      await host.stop();
    }
  }, 120_000);
});
