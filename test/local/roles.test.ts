import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Host, type HostOptions, startHost } from '../../infra/local/host.ts';
import { call, message, textOf } from './rpc.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

const server = { server: true, client: false };
const client = { server: false, client: true };
const faults: unknown[] = [];
const start = (options: HostOptions) =>
  startHost({
    allowLoopback: true,
    graceMs: 2_000,
    variables: {},
    sweepMs: 1_000,
    onError: (name, error) => faults.push([name, error]),
    ...options,
  });

async function administer(
  host: Host,
  operation: string,
  input: object = {},
): Promise<{ ok: boolean; result: Record<string, unknown> }> {
  const response = await fetch(`${host.url}/admin`, {
    method: 'POST',
    headers: { authorization: `Bearer ${host.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ operation, arguments: input }),
  });
  return (await response.json()) as { ok: boolean; result: Record<string, unknown> };
}
const statusOf = async (host: Host, method: string, path: string) =>
  (await fetch(`${host.url}${path}`, { method, ...(method === 'POST' ? { body: '{}' } : {}) })).status;

describe('a gateway with one role', () => {
  /** Delegates, and is called back; the other one serves. */
  let near: Host;
  let far: Host;
  beforeAll(async () => {
    [near, far] = await Promise.all([start({ roles: client }), start({ roles: server })]);
  });
  afterAll(async () => {
    await Promise.all([near?.stop(), far?.stop()]);
  });

  it('has no route of the other role, as a deployed one has none', async () => {
    expect(await statusOf(near, 'POST', '/rpc')).toBe(403);
    expect(await statusOf(near, 'GET', '/.well-known/agent-card.json')).toBe(403);
    expect(await statusOf(near, 'POST', '/callbacks/AAAAAAAAAAAAAAAAAAAAAAAA')).toBe(401);
    expect(near.token).toBe('');
    expect(await statusOf(far, 'POST', '/callbacks/AAAAAAAAAAAAAAAAAAAAAAAA')).toBe(403);
    expect(await statusOf(far, 'POST', '/rpc')).toBe(401);
  });

  it('serves without the client role: messages, and runs of administrators', async () => {
    const { body } = await call(far, 'SendMessage', message('Hello!'));
    expect(textOf(body.result?.task)).toBe('Hello!');
    const started = await administer(far, 'run.start', { target: 'echo', message: 'Hello!' });
    const shown = await administer(far, 'run.show', { id: started.result['id'], waitSeconds: 20 });
    expect(shown.result['state']).toBe('TASK_STATE_COMPLETED');
  });

  it('hands runs on without the server role, and is called back', async () => {
    const agent = { id: 'far', cardUrl: far.cardUrl, credential: far.token };
    expect(await administer(near, 'agent.add', { agent })).toMatchObject({ ok: true });
    const started = await administer(near, 'run.start', { target: 'agent:far', message: 'over there' });
    const shown = await administer(near, 'run.show', { id: started.result['id'], waitSeconds: 20 });
    expect(shown.result['state']).toBe('TASK_STATE_COMPLETED');
    expect(JSON.stringify(shown.result['task'])).toContain('over there');
    expect(faults).toEqual([]);
  });
});

describe('a gateway whose role is switched off', () => {
  it('goes on with what it holds, and purges it, without what the role left', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealpost-roles-'));
    try {
      const both = await start({ dataDir: folder });
      // Nobody listens there: the config and its jobs stand open.
      const configuration = {
        taskPushNotificationConfig: { url: 'http://127.0.0.1:9/hook', id: 'hook' },
      };
      const { body } = await call(both, 'SendMessage', { ...message('kept'), configuration });
      const id = body.result?.task?.id;
      expect(textOf(body.result?.task)).toBe('kept');
      await both.stop();

      const off = await start({ dataDir: folder, roles: client });
      expect((await administer(off, 'task.show', { id })).result['state']).toBe('TASK_STATE_COMPLETED');
      expect(await administer(off, 'task.rebuild', { id })).toMatchObject({ ok: true });
      expect(await administer(off, 'task.purge', { id })).toMatchObject({ ok: true });
      await off.stop();

      const again = await start({ dataDir: folder });
      const read = await call(again, 'GetTask', { id });
      expect(read.status).toBe(200);
      expect(read.body.error?.code).toBe(-32001);
      await again.stop();
      expect(faults).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
