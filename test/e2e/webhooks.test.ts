import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Host, startHost } from '../../infra/local/host.ts';
import { systemRandom } from '../../shared/runtime/system.ts';
import { createAuthority } from '../guard/certificates.ts';
import { type Answering, type Receiver, scriptedResolver, startReceiver } from '../guard/receiver.ts';
import { administer } from './administer.ts';
import { checkPushed } from './answer-check.ts';
import { type Folder, makeFolder, reportsProgress } from './function-provider.ts';
import { asTask, connectStock, request, type StockClient } from './stock-client.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

const HOOKS = 'hooks.example.com';
const within = { timeout: 20_000, interval: 50 };

/** What a task of `report` tells, in order; a slow machine has it say that it works, besides. */
const told = ['submitted', 'one', 'two', 'artifact', 'done'];

/** The whole host, queues and clock included, and a receiver that only the guard's own resolver leads to. */
describe('a webhook', () => {
  let folder: Folder;
  let host: Host;
  let receiver: Receiver;
  let stock: StockClient;
  const answering = new Map<string, Answering>();

  beforeAll(async () => {
    folder = makeFolder();
    const authority = await createAuthority();
    receiver = await startReceiver(await authority.issue([HOOKS]), (response, seen, incoming) => {
      const answer = answering.get(seen.path);
      if (answer) answer(response, seen, incoming);
      else response.end();
    });
    host = await startHost({
      functionModules: { report: folder.handler('report', reportsProgress) },
      graceMs: 500,
      seams: {
        outbound: {
          ca: [authority.ca],
          loopbackNames: [HOOKS],
          resolver: scriptedResolver({ [HOOKS]: [['127.0.0.1']] }),
        },
        // The shortest waits that full jitter allows.
        random: { ...systemRandom, fraction: () => 0 },
      },
    });
    await administer(host.url, host.adminToken, 'client.webhooks', { id: 'demo', ports: [receiver.port] });
    stock = await connectStock(host);
  });
  afterAll(async () => {
    await host?.stop();
    await receiver?.close();
    folder?.[Symbol.dispose]();
  });

  const send = async (path: string) => {
    const taskPushNotificationConfig = {
      tenant: '',
      id: '',
      taskId: '',
      url: `https://${HOOKS}:${receiver.port}${path}`,
      token: 'of-the-client',
      authentication: { scheme: 'Bearer', credentials: `secret-of-${path}` },
    };
    const configuration = { taskPushNotificationConfig };
    return asTask(await stock.client.sendMessage(request('pushed', { tenant: 'report', configuration })));
  };
  const seenAt = (path: string) => receiver.seen.filter((seen) => seen.path === path);
  const kinds = (path: string) =>
    seenAt(path)
      .map(({ body }) => kindOf(JSON.parse(body)))
      .filter((kind) => kind !== 'working');

  it('gets every event of its task once, in order, as the proto has it, with its credential', async () => {
    const task = await send('/all');
    await vi.waitFor(() => expect(kinds('/all')).toEqual(told), within);
    for (const { body, headers } of seenAt('/all')) {
      checkPushed(JSON.parse(body));
      expect(headers).toMatchObject({
        'content-type': 'application/a2a+json',
        authorization: 'Bearer secret-of-/all',
      });
      expect(JSON.stringify(headers)).not.toContain('of-the-client');
      expect(body).toContain(task.id);
    }
    expect(new Set(seenAt('/all').map(({ headers }) => headers['webhook-id'])).size).toBe(
      seenAt('/all').length,
    );
  });

  it('that is unavailable twice gets the event at the third attempt, not before it asked to', async () => {
    const times: number[] = [];
    answering.set('/busy', (response) => {
      times.push(performance.now());
      if (times.length <= 2) response.writeHead(503, { 'retry-after': '1' });
      response.end();
    });
    await send('/busy');
    await vi.waitFor(() => expect(kinds('/busy')).toEqual(['submitted', 'submitted', ...told]), within);
    const [first, second, third] = times as [number, number, number];
    expect(second - first).toBeGreaterThan(950);
    expect(third - second).toBeGreaterThan(950);
    const ids = seenAt('/busy').map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids.slice(0, 3)).size).toBe(1);
    expect(new Set(ids).size).toBe(ids.length - 2);
  });

  it('that does not answer holds up nobody else', async () => {
    answering.set('/hangs', () => {});
    await send('/hangs');
    await vi.waitFor(() => expect(seenAt('/hangs')).toHaveLength(1), within);
    const before = performance.now();
    await send('/quick');
    await vi.waitFor(() => expect(kinds('/quick')).toEqual(told), within);
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(seenAt('/hangs')).toHaveLength(1);
  });

  it('that redirects is not followed', async () => {
    answering.set('/moved', (response) =>
      response.writeHead(307, { location: `https://${HOOKS}:${receiver.port}/elsewhere` }).end(),
    );
    await send('/moved');
    await vi.waitFor(() => expect(kinds('/moved')).toEqual(told), within);
    expect(seenAt('/elsewhere')).toEqual([]);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: tests look into what came.
function kindOf(event: any): string {
  if (event.artifactUpdate) return 'artifact';
  const { status } = event.statusUpdate;
  return status.message?.parts[0].text ?? status.state.replace('TASK_STATE_', '').toLowerCase();
}
