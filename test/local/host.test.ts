import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startEngine } from '../../infra/local/engine.ts';
import { type Host, type HostOptions, startHost } from '../../infra/local/host.ts';
import { localClient } from '../../infra/local/local-client.ts';
import { portIsOpen } from './ports.ts';
import { call, message, textOf } from './rpc.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

let folder: string;
let hosts: Host[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealpost-host-'));
  hosts = [];
});
afterEach(async () => {
  await Promise.all(hosts.map((host) => host.stop()));
  rmSync(folder, { recursive: true, force: true });
});
async function start(options: HostOptions = {}): Promise<Host> {
  const host = await startHost({ graceMs: 2_000, ...options });
  hosts.push(host);
  return host;
}
async function stop(host: Host): Promise<void> {
  hosts = hosts.filter((other) => other !== host);
  await host.stop();
}

describe('a host', () => {
  it('answers a message with the completed task, through queue, executor and projection', async () => {
    const host = await start();
    const { body } = await call(host, 'SendMessage', message('Hello!'));
    expect(body.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(body.result?.task)).toBe('Hello!');
    const card = (await (await fetch(host.cardUrl)).json()) as { skills: { id: string }[] };
    expect(card.skills.map(({ id }) => id)).toEqual(['echo']);
  });

  it('streams the events of a task while it runs', async () => {
    const module = join(folder, 'slow.mjs');
    writeFileSync(
      module,
      `export const handler = () => new Promise((resolve) => setTimeout(resolve, 1_500, { artifacts: [{ parts: [{ text: 'late' }] }] }));`,
    );
    const host = await start({ functionModules: { slow: module } });
    const response = await fetch(`${host.url}/rpc`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${host.token}`,
        'a2a-version': '1.0',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendStreamingMessage',
        params: message('x', 'slow'),
      }),
    });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const arrivals: { text: string; at: number }[] = [];
    const decoder = new TextDecoder();
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      arrivals.push({ text: decoder.decode(chunk), at: Date.now() });
    }
    const first = arrivals[0];
    const last = arrivals.findLast(({ text }) => text.includes('TASK_STATE_COMPLETED'));
    expect(first?.text).toContain('TASK_STATE_SUBMITTED');
    expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(500);
    expect(arrivals.some(({ text }) => text.includes('late'))).toBe(true);
  });

  it('runs beside another one that knows nothing of its clients', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(one.url).not.toBe(two.url);
    const sent = await Promise.all([
      call(one, 'SendMessage', message('1')),
      call(two, 'SendMessage', message('2')),
    ]);
    expect(sent.map(({ body }) => textOf(body.result?.task))).toEqual(['1', '2']);
    expect((await call({ url: two.url, token: one.token }, 'SendMessage', message('x'))).status).toBe(401);
    const id = sent[0]?.body.result?.task?.id ?? '';
    expect((await call(two, 'GetTask', { id })).body.error?.code).toBe(-32001);
  });

  it('keeps everything on its folder, and what its administrator changed', async () => {
    const dataDir = join(folder, 'data');
    const first = await start({ dataDir });
    const id = (await call(first, 'SendMessage', message('kept'))).body.result?.task?.id ?? '';
    const unpublish = await fetch(`${first.url}/admin`, {
      method: 'POST',
      headers: { authorization: `Bearer ${first.adminToken}` },
      body: JSON.stringify({ operation: 'profile.unpublish', arguments: { id: 'echo' } }),
    });
    expect(unpublish.status).toBe(200);
    await stop(first);
    const second = await start({ dataDir });
    expect([second.token, second.adminToken]).toEqual([first.token, first.adminToken]);
    expect(textOf((await call(second, 'GetTask', { id })).body.result)).toBe('kept');
    expect(((await (await fetch(second.cardUrl)).json()) as { skills: unknown[] }).skills).toEqual([]);
  });

  it('finishes at the next start what was queued when the queues were lost', async () => {
    const dataDir = join(folder, 'data');
    const deaf = async (event: unknown) => ({
      batchItemFailures: (event as { Records: { messageId: string }[] }).Records.map(({ messageId }) => ({
        itemIdentifier: messageId,
      })),
    });
    const first = await start({ dataDir, functions: { executor: deaf } });
    const sent = await call(first, 'SendMessage', {
      ...message('later'),
      configuration: { returnImmediately: true },
    });
    const id = sent.body.result?.task?.id ?? '';
    expect(sent.body.result?.task?.status.state).toBe('TASK_STATE_SUBMITTED');
    await stop(first);
    const second = await start({ dataDir });
    await vi.waitFor(
      async () => expect(textOf((await call(second, 'GetTask', { id })).body.result)).toBe('later'),
      { timeout: 5_000, interval: 50 },
    );
  });

  it('reaches no model on this machine', async () => {
    const model = await startModel();
    expect((await ask(await start(), model.baseUrl))?.status.state).toBe('TASK_STATE_FAILED');
    expect(model.asked()).toBe(0);
  });

  // Not yet: the executor takes every port of this host for the gateway's own.
  it('reaches a model on this machine when that is allowed', async () => {
    const model = await startModel();
    const task = await ask(await start({ allowLoopback: true }), model.baseUrl);
    expect(task?.status.state, JSON.stringify(task)).toBe('TASK_STATE_COMPLETED');
    expect(textOf(task)).toBe('from the model');
  });

  it('shares an engine with others without meeting their tables, and takes its own away', async () => {
    const engine = await startEngine({ endpoint: '' });
    const client = new DynamoDBClient(localClient(engine.endpoint));
    const tables = async () => (await client.send(new ListTablesCommand({}))).TableNames ?? [];
    try {
      const variables = { AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint };
      const dataDir = join(folder, 'data');
      const [lasting, passing] = [await start({ variables, dataDir }), await start({ variables })];
      const id = (await call(lasting, 'SendMessage', message('kept'))).body.result?.task?.id ?? '';
      expect((await call(passing, 'GetTask', { id })).body.error?.code).toBe(-32001);
      expect(await tables()).toHaveLength(10);
      await stop(passing);
      await stop(lasting);
      expect(await tables()).toHaveLength(5);
      const again = await start({ variables, dataDir });
      expect(textOf((await call(again, 'GetTask', { id })).body.result)).toBe('kept');
      await stop(again);
    } finally {
      client.destroy();
      await engine.stop();
    }
  });

  it('has a folder to itself', async () => {
    const dataDir = join(folder, 'data');
    const first = await start({ dataDir });
    await expect(start({ dataDir })).rejects.toMatchObject({ name: 'DataFolderInUse' });
    await stop(first);
    await start({ dataDir });
  });

  it('lets waiting callers have their answer when it stops, cuts event streams, and leaves no port open', async () => {
    const module = join(folder, 'slow.mjs');
    writeFileSync(
      module,
      `export const handler = () => new Promise((resolve) => setTimeout(resolve, 700, { artifacts: [{ parts: [{ text: 'done' }] }] }));`,
    );
    const host = await start({ functionModules: { slow: module }, graceMs: 10_000 });
    const waiting = call(host, 'SendMessage', message('x', 'slow'));
    const streaming = await fetch(`${host.url}/rpc`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${host.token}`,
        'a2a-version': '1.0',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendStreamingMessage',
        params: message('y', 'slow'),
      }),
    });
    const before = Date.now();
    await stop(host);
    expect(Date.now() - before).toBeLessThan(5_000);
    expect(textOf((await waiting).body.result?.task)).toBe('done');
    await streaming.text().catch(() => {});
    expect(await portIsOpen(host.url)).toBe(false);
  });

  it('stops in the end although a function never does', async () => {
    let called = 0;
    const host = await start({
      graceMs: 200,
      functions: {
        executor: () => {
          called += 1;
          return new Promise(() => {});
        },
      },
    });
    await call(host, 'SendMessage', { ...message('x'), configuration: { returnImmediately: true } });
    await vi.waitFor(() => expect(called).toBe(1));
    const before = Date.now();
    await stop(host);
    expect(Date.now() - before).toBeLessThan(3_000);
  });

  it('leaves nothing open when it cannot start', async () => {
    const taken = await start();
    const port = Number(new URL(taken.url).port);
    const dataDir = join(folder, 'data');
    await expect(start({ port, dataDir })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await start({ dataDir });
    await expect(start({ functionModules: { gone: join(folder, 'gone.mjs') } })).rejects.toThrow('gone');
  });
});

/** Gives the host a profile that asks the model at this URL, and sends it a message. */
async function ask(host: Host, baseUrl: string) {
  const administer = async (operation: string, input: object) => {
    const response = await fetch(`${host.url}/admin`, {
      method: 'POST',
      headers: { authorization: `Bearer ${host.adminToken}` },
      body: JSON.stringify({ operation, arguments: input }),
    });
    expect(await response.json()).toMatchObject({ ok: true });
  };
  await administer('provider.put', { provider: { id: 'model', kind: 'openai', baseUrl, model: 'm' } });
  const profile = { id: 'model', name: 'Model', description: 'A model.', providers: ['model'], attempts: 1 };
  await administer('profile.put', { profile });
  await administer('profile.publish', { id: 'model' });
  return (await call(host, 'SendMessage', message('x', 'model'))).body.result?.task;
}

/** An OpenAI-compatible endpoint that always gives the same answer. */
async function startModel() {
  let asked = 0;
  const completion = {
    id: '1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'from the model' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
  const server = createServer((_request, response) => {
    asked += 1;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(completion));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { baseUrl: `http://127.0.0.1:${port}/v1`, asked: () => asked };
}
