import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Host, type HostOptions, startHost } from '../../infra/local/host.ts';
import { call, message, textOf } from '../local/rpc.ts';
import { liftQuotas } from './administer.ts';
import {
  asksForAColour,
  type Folder,
  makeFolder,
  reportsProgress,
  waitsForAFile,
} from './function-provider.ts';
import { collect } from './stock-client.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

let folder: Folder;
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => folder[Symbol.dispose]());

async function start(options: HostOptions = {}): Promise<Host> {
  const host = await startHost({
    graceMs: 500,
    functionModules: {
      order: folder.handler('order', asksForAColour),
      report: folder.handler('report', reportsProgress),
      wait: folder.handler('wait', waitsForAFile),
    },
    ...options,
  });
  onTestFinished(() => host.stop());
  return host;
}

/** An event stream as it arrives, to be read event by event and dropped at any time. */
async function openStream(
  host: Pick<Host, 'url' | 'token'>,
  method: string,
  params: object,
  headers: Readonly<Record<string, string>> = {},
) {
  const dropping = new AbortController();
  const response = await fetch(`${host.url}/rpc`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${host.token}`,
      'a2a-version': '1.0',
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: dropping.signal,
  });
  const events = eventsOf(response.body as ReadableStream<Uint8Array>);
  return {
    status: response.status,
    events,
    next: async () => (await events.next()).value as StreamedEvent,
    drop: () => dropping.abort(),
  };
}

interface StreamedEvent {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into what came.
  readonly result: any;
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamedEvent> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(event)?.[1];
      if (field('data')) yield { id: field('id') ?? '', result: JSON.parse(field('data') ?? '').result };
    }
  }
}

/** What is left of a heap once nothing more can be collected, MB. */
function heapMegabytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) collect();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

describe('a stream that its client drops', () => {
  it('ends no task, and a thousand of them leave no listener, timer, place or memory behind', async () => {
    const host = await start();
    await liftQuotas(host.url, host.adminToken);
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));

    // As many at once as a client may have, nearly: one place that is never given back would show soon.
    const subscribe = async (id: string) => {
      const stream = await openStream(host, 'SubscribeToTask', { id });
      if (stream.status !== 200) stream.drop();
      expect(stream.status).toBe(200);
      return stream;
    };
    const drop = async (streams: number, round: number) => {
      const release = join(folder.path, `release-${round}`);
      const sent = { ...message(release, 'wait'), configuration: { returnImmediately: true } };
      const id = (await call(host, 'SendMessage', sent)).body.result?.task?.id ?? '';
      const opened = await Promise.all(
        Array.from({ length: streams }, () =>
          vi.waitFor(() => subscribe(id), { timeout: 30_000, interval: 50 }),
        ),
      );
      // Some have read, some have not.
      await Promise.all(opened.slice(0, streams / 2).map(({ next }) => next()));
      for (const { drop } of opened) drop();
      writeFileSync(release, '');
      await vi.waitFor(
        async () => expect(textOf((await call(host, 'GetTask', { id })).body.result)).toBe('released'),
        { timeout: 20_000, interval: 50 },
      );
    };
    const rest = async () => {
      // The gateway learns that a task ended, and with it its streams, up to a second later.
      let last = Number.POSITIVE_INFINITY;
      const steady = () => {
        const before = last;
        last = process.getActiveResourcesInfo().length;
        return last >= before;
      };
      await vi.waitUntil(steady, { timeout: 30_000, interval: 1_500 });
      return { heap: heapMegabytes(), resources: last };
    };

    for (let round = 0; round < 5; round++) await drop(40, round);
    const before = await rest();
    for (let round = 5; round < 30; round++) await drop(40, round);
    const after = await rest();
    console.log(
      `1,000 dropped streams: heap ${before.heap.toFixed(1)} -> ${after.heap.toFixed(1)} MB, ` +
        `sockets and timers ${before.resources} -> ${after.resources}`,
    );
    expect(after.heap - before.heap).toBeLessThan(8);
    expect(after.resources - before.resources).toBeLessThan(20);
    expect(warnings).toEqual([]);
  }, 300_000);
});

describe('a stream that is cut', () => {
  it('goes on behind the last event that arrived, without a gap or a repetition', async () => {
    const host = await start();
    const whole = await openStream(host, 'SendStreamingMessage', message('all', 'report'));
    const expected = await collect(whole.events);
    const id = expected[0]?.result.task.id;
    for (const [position, { id: lastSeen }] of expected.slice(0, -1).entries()) {
      const rest = await openStream(host, 'SubscribeToTask', { id }, { 'last-event-id': lastSeen });
      expect(await collect(rest.events)).toEqual(expected.slice(position + 1));
    }
  });

  it('shows what happened meanwhile to whoever subscribes again', async () => {
    const host = await start();
    const first = await openStream(host, 'SendStreamingMessage', message('A car.', 'order'));
    const { task } = (await first.next()).result;
    first.drop();
    await vi.waitFor(
      async () => {
        const { status } = (await call(host, 'GetTask', { id: task.id })).body.result ?? {};
        expect(status?.state).toBe('TASK_STATE_INPUT_REQUIRED');
      },
      { timeout: 10_000 },
    );
    const again = await openStream(host, 'SubscribeToTask', { id: task.id });
    const snapshot = (await again.next()).result.task;
    expect(snapshot.status.message.parts).toEqual([{ text: 'Which colour?' }]);
    await call(host, 'SendMessage', {
      tenant: 'order',
      message: { ...message('Red.').message, taskId: task.id },
    });
    const events = await collect(again.events);
    expect(events.at(-1)?.result.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
    again.drop();
  });
});

describe('a stream on which nothing happens', () => {
  it('stays open through a proxy that cuts what is idle for a minute', async () => {
    // Twenty times as fast: a minute of the gateway's passes in three seconds.
    const from = Date.now();
    const fast = {
      now: () => from + (Date.now() - from) * 20,
      sleep: (ms: number, signal?: AbortSignal) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms / 20);
        signal?.addEventListener('abort', () => resolve(), { once: true });
        return promise.finally(() => clearTimeout(timer));
      },
    };
    const host = await start({ seams: { clock: fast } });
    const proxy = await startProxy(Number(new URL(host.url).port), 3_000);
    const asked = (await call(host, 'SendMessage', message('A car.', 'order'))).body.result?.task?.id ?? '';
    const stream = await openStream({ ...host, url: proxy.url }, 'SubscribeToTask', { id: asked });
    expect((await stream.next()).result.task.id).toBe(asked);

    const idle = connect(proxy.port, '127.0.0.1');
    await once(idle, 'close');
    expect(proxy.cut()).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(proxy.cut()).toBe(1);
    await call(host, 'SendMessage', {
      tenant: 'order',
      message: { ...message('Red.').message, taskId: asked },
    });
    const events = await collect(stream.events);
    expect(events.at(-1)?.result.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
  });
});

/** Passes bytes on in both ways and cuts a connection on which none passed for so long. */
async function startProxy(to: number, idleMs: number) {
  let cut = 0;
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    let timer: NodeJS.Timeout | undefined;
    const close = () => {
      clearTimeout(timer);
      near.destroy();
      far.destroy();
    };
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        cut += 1;
        close();
      }, idleMs);
    };
    alive();
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.on('data', (chunk) => {
        alive();
        other.write(chunk);
      });
      socket.on('error', close);
      socket.on('close', close);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { port, url: `http://127.0.0.1:${port}`, cut: () => cut };
}
