import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Host, startHost } from '../../infra/local/host.ts';
import { asksForAColour, makeFolder } from '../e2e/function-provider.ts';
import { asTask, connectStock, request, type StockClient } from '../e2e/stock-client.ts';
import { outline } from './rig.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

/** A receiver as a client's author writes it: it refuses what it was not told to expect. */
interface StrictReceiver {
  readonly url: string;
  readonly accepted: string[];
  readonly ids: string[];
  readonly refused: string[];
  readonly server: Server;
}

async function startStrict(credential: string): Promise<StrictReceiver> {
  const accepted: string[] = [];
  const ids: string[] = [];
  const refused: string[] = [];
  const server = createServer(async (incoming, response) => {
    let body = '';
    for await (const chunk of incoming.setEncoding('utf8')) body += chunk;
    const complaint = complaintAbout(incoming.method ?? '', incoming.headers, body, credential);
    if (complaint) refused.push(complaint);
    else {
      accepted.push(body);
      ids.push(String(incoming.headers['webhook-id']));
    }
    response.writeHead(complaint === 'authorization' ? 401 : complaint ? 400 : 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    ...{ accepted, ids, refused, server },
  };
}

function complaintAbout(method: string, headers: IncomingHttpHeaders, body: string, credential: string) {
  if (method !== 'POST') return `method ${method}`;
  if (headers.authorization !== `Bearer ${credential}`) return 'authorization';
  if (headers['content-type'] !== 'application/a2a+json') return `content type ${headers['content-type']}`;
  if (Number(headers['content-length']) !== Buffer.byteLength(body)) return 'length';
  if (Object.keys(headers).some((name) => /notification-token/.test(name))) return 'a token as a header';
  const event = JSON.parse(body) as Record<string, { taskId?: unknown; contextId?: unknown }>;
  const [member, ...more] = Object.keys(event);
  if (more.length > 0 || !['statusUpdate', 'artifactUpdate'].includes(member ?? '')) return `shape ${body}`;
  const { taskId, contextId } = event[member!]!;
  if (typeof taskId !== 'string' || typeof contextId !== 'string') return `ids ${body}`;
  if (/"(kind|final|jsonrpc)"/.test(body)) return `members of 0.3 ${body}`;
  return undefined;
}

describe('a stock client that registers webhooks', { timeout: 60_000 }, () => {
  const folder = makeFolder();
  let host: Host;
  let stock: StockClient;
  let receiver: StrictReceiver;
  beforeAll(async () => {
    [host, receiver] = await Promise.all([
      startHost({
        allowLoopback: true,
        graceMs: 500,
        functionModules: { order: folder.handler('order', asksForAColour) },
      }),
      startStrict('for-the-webhook'),
    ]);
    stock = await connectStock(host);
  });
  afterAll(async () => {
    await host.stop();
    folder[Symbol.dispose]();
    await new Promise((resolve) => receiver.server.close(resolve));
  });

  const webhook = (more: Partial<TaskPushNotificationConfig> = {}): TaskPushNotificationConfig => ({
    tenant: '',
    id: '',
    taskId: '',
    url: receiver.url,
    token: 'kept-by-the-client',
    authentication: { scheme: 'Bearer', credentials: 'for-the-webhook' },
    ...more,
  });

  test('with its message is told everything of its task, in order, as a strict receiver wants it', async () => {
    const sent = asTask(
      await stock.client.sendMessage(
        request('push me', { configuration: { taskPushNotificationConfig: webhook() } }),
      ),
    );
    await expect
      .poll(() => outline(receiver.accepted), { timeout: 20_000 })
      .toEqual(['SUBMITTED', 'artifact push me', 'COMPLETED']);
    expect(receiver.refused).toEqual([]);
    expect(new Set(receiver.ids).size).toBe(3);
    const task = await stock.client.getTask({ tenant: '', id: sent.id, historyLength: undefined });
    const last = JSON.parse(receiver.accepted.at(-1)!).statusUpdate;
    // What was pushed is what Get shows (P2).
    expect(last.taskId).toBe(task.id);
    expect(new Date(last.status.timestamp).getTime()).toBe(new Date(task.status?.timestamp ?? 0).getTime());
    receiver.accepted.splice(0);
    receiver.ids.splice(0);
  });

  test('on their own is told what comes after, and nothing more by those that it deleted', async () => {
    const { client } = stock;
    const sent = asTask(await client.sendMessage(request('A plane.', { tenant: 'order' })));
    const made = [
      await client.createTaskPushNotificationConfig(webhook({ taskId: sent.id, id: 'deleted' })),
      await client.createTaskPushNotificationConfig(webhook({ taskId: sent.id, id: 'kept' })),
    ];
    expect(made).toMatchObject([
      { id: 'deleted', url: receiver.url, token: 'kept-by-the-client', authentication: { credentials: '' } },
      { id: 'kept' },
    ]);
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: sent.id, id: 'deleted' });
    const listing = { tenant: '', taskId: sent.id, pageSize: 0, pageToken: '' };
    const { configs } = await client.listTaskPushNotificationConfig(listing);
    expect(configs.map(({ id }) => id)).toEqual(['kept']);
    await client.sendMessage(request('red', { tenant: 'order', message: { taskId: sent.id } }));
    await expect
      .poll(() => outline(receiver.accepted), { timeout: 20_000 })
      .toEqual(['WORKING', 'artifact A plane., red', 'COMPLETED']);
    expect(receiver.refused).toEqual([]);
    // One id an event and config: a second config would have shown.
    expect(new Set(receiver.ids).size).toBe(3);
  });

  test('at a receiver that wants another credential is paused there, and hears no more', async () => {
    const { client } = stock;
    receiver.accepted.splice(0);
    const wrong = webhook({ authentication: { scheme: 'Bearer', credentials: 'another' } });
    await client.sendMessage(request('x', { configuration: { taskPushNotificationConfig: wrong } }));
    await expect.poll(() => receiver.refused, { timeout: 20_000 }).toContain('authorization');
    expect(receiver.accepted).toEqual([]);
  });
});
