import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { FunctionName } from '../../infra/bundle.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { keys } from '../../shared/storage/keys.ts';
import {
  batch,
  batchOf,
  type GatewayInRoles,
  HOOKS,
  message,
  revisionOf,
  startGatewayInRoles,
} from './gateway-in-roles.ts';

/** The server role; what is kept, and remote agents, stand in `roles-in-use-content` and `roles-in-use-agents`. */
const DAY = 86_400_000;
let gateway: GatewayInRoles;
let call: Awaited<ReturnType<GatewayInRoles['client']>>;

beforeAll(async () => {
  gateway = await startGatewayInRoles();
  gateway.runQueue.arrived = () => void gateway.execute();
});
afterAll(() => gateway?.stop());

describe('every function does its work with no more than its role', () => {
  it('administrators set a gateway up', async () => {
    await gateway.administer('provider.put', { provider: { id: 'echo', kind: 'echo' } });
    await gateway.administer('provider.put', {
      provider: {
        id: 'model',
        kind: 'openai',
        baseUrl: 'https://models.example/v1',
        model: 'm',
        apiKey: 'secret',
      },
    });
    for (const [id, providers] of [
      ['echo', ['echo']],
      ['writer', ['model', 'echo']],
    ] as const) {
      await gateway.administer('profile.put', {
        profile: { id, name: id, description: id, providers, public: true },
      });
      await gateway.administer('profile.publish', { id });
    }
    await gateway.administer('settings.set', { settings: { defaultProfile: 'echo' } });
    call = await gateway.client('acme1');
  });

  it('clients send, stream, read, list, subscribe and cancel', async () => {
    const sent = await call('SendMessage', { message: message({ contextId: 'talk' }) });
    expect(sent.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    const { id } = sent.result.task;
    const again = message({ messageId: 'twice', contextId: 'talk', referenceTaskIds: [id] });
    const first = await call('SendMessage', { message: again });
    const second = await call('SendMessage', { message: again });
    expect(second.result.task.id).toBe(first.result.task.id);
    const streamed = await call('SendStreamingMessage', { message: message() });
    expect(streamed.at(-1).result.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
    expect((await call('GetTask', { id })).result.id).toBe(id);
    const page = await call('ListTasks', { pageSize: 1 });
    expect(page.result.totalSize).toBe(3);
    expect(
      (await call('ListTasks', { pageSize: 1, pageToken: page.result.nextPageToken })).result.tasks,
    ).toHaveLength(1);
    expect(
      (await call('ListTasks', { contextId: 'talk', includeArtifacts: true })).result.tasks,
    ).toHaveLength(2);
    expect((await call('CancelTask', { id })).error.code).toBe(-32002);
    expect((await call('SubscribeToTask', { id })).error.code).toBe(-32004);
    expect((await call('GetExtendedAgentCard')).result.skills).toHaveLength(2);
  });

  it('a run opens the secret of its provider', async () => {
    const sent = await call('SendMessage', { message: message(), tenant: 'writer' });
    expect(sent.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(gateway.asked).toContainEqual(
      expect.objectContaining({ function: 'executor', action: 'kms:Decrypt' }),
    );
  });

  it('anybody reads the cards', async () => {
    for (const path of ['/.well-known/agent-card.json', '/agents/echo/.well-known/agent-card.json']) {
      expect((await fetch(`${gateway.url}${path}`)).status).toBe(200);
    }
  });

  it('projector and projection-retry bring back a view that is gone', async () => {
    const { result } = await call('SendMessage', { message: message() });
    const { id } = result.task;
    for (const name of ['projector', 'projection-retry'] as const) {
      await gateway.store.write({ kind: 'delete', table: 'view', key: keys.view(id) });
      const { pk, sk } = keys.revision(id, 1);
      const record = { dynamodb: { Keys: { pk: { S: pk }, sk: { S: sk } }, SequenceNumber: '1' } };
      const answer = await gateway.invoke(name, name === 'projector' ? { Records: [record] } : batch(id));
      expect(answer).toEqual({ batchItemFailures: [] });
      expect(await gateway.store.get('view', keys.view(id))).toBeDefined();
    }
  });

  it('the projector hands on what does not project, and sends what the state still needs', async () => {
    const { result } = await sendUnrun();
    const { pk, sk } = keys.revision(result.task.id, 1);
    const record = { dynamodb: { Keys: { pk: { S: pk }, sk: { S: sk } }, SequenceNumber: '1' } };
    await gateway.invoke('projector', { Records: [record] });
    // A head that cannot be read fails to project.
    await gateway.store.write({ kind: 'put', table: 'state', item: { ...keys.head('broken'), v: 1 } });
    const broken = {
      dynamodb: { Keys: { pk: { S: 'T#broken' }, sk: { S: 'R#00000001' } }, SequenceNumber: '2' },
    };
    await gateway.invoke('projector', { Records: [broken] });
    expect(gateway.projectionQueue.messages.map(({ task }) => task)).toEqual(['broken']);
    await gateway.store.write({ kind: 'delete', table: 'state', key: keys.head('broken') });
  });

  it('sweeper and dead-letter queue again what may run, and end what may not', async () => {
    for (const name of ['sweeper', 'dead-letter'] as const) {
      const { result } = await sendUnrun();
      const { id } = result.task;
      const event = name === 'sweeper' ? {} : batch(id);
      gateway.world.ahead = 300_000;
      await gateway.invoke(name, event);
      expect(gateway.runQueue.messages.map(({ task }) => task)).toContain(id);
      gateway.world.ahead = 3 * DAY;
      await gateway.invoke(name, event);
      gateway.world.ahead = 0;
      expect((await call('GetTask', { id })).result.status.state).toBe('TASK_STATE_FAILED');
    }
  });

  it('clients cancel what runs, while others watch it', async () => {
    const { id } = (await sendUnrun()).result.task;
    const watched = call('SubscribeToTask', { id });
    await vi.waitUntil(() =>
      gateway.asked.some(({ action, resource }) => action === 'dynamodb:Query' && /State/.test(resource)),
    );
    expect((await call('CancelTask', { id })).result.status.state).toBe('TASK_STATE_CANCELED');
    expect((await watched).at(-1).result.statusUpdate.status.state).toBe('TASK_STATE_CANCELED');
  });

  it('clients register, read and delete webhooks, and are refused addresses, which the audit keeps', async () => {
    await gateway.administer('client.webhooks', { id: 'acme1', ports: [gateway.receiver.port] });
    const { id } = (await sendUnrun()).result.task;
    const created = await call('CreateTaskPushNotificationConfig', { taskId: id, ...webhook });
    const config = { taskId: id, id: created.result.id };
    expect((await call('GetTaskPushNotificationConfig', config)).result.url).toBe(urlOf());
    expect((await call('ListTaskPushNotificationConfigs', { taskId: id })).result.configs).toHaveLength(1);
    expect((await call('DeleteTaskPushNotificationConfig', config)).error).toBeUndefined();
    const refused = { taskId: id, url: 'https://127.0.0.1/' };
    expect((await call('CreateTaskPushNotificationConfig', refused)).error.code).toBe(-32602);
    expect(await audited('push.refuse')).toMatchObject([
      { actor: 'gateway', kind: 'client', id: 'acme1', rule: 'literal' },
    ]);
  });

  it('jobs are written by whoever publishes, delivered, and wake again from the due index', async () => {
    const { id } = (await sendUnrun(withWebhook)).result.task;
    await gateway.invoke('executor', batch(id));
    expect(await jobsOf(id)).toEqual(['open', 'open']);
    await gateway.invoke('projector', { Records: [revisionOf(id, 2)] });
    await deliverAll();
    expect(await jobsOf(id)).toEqual(['delivered', 'delivered']);
    expect(gateway.receiver.seen.at(-1)?.body).toContain('TASK_STATE_COMPLETED');

    const other = (await sendUnrun(withWebhook)).result.task.id;
    gateway.world.ahead = 300_000;
    await gateway.invoke('sweeper', {});
    gateway.world.ahead = 0;
    expect(gateway.outbox.map(({ task }) => task)).toContain(other);
    await gateway.invoke('outbox-dead-letter', batchOf(gateway.outbox.find(({ task }) => task === other)!));
    await deliverAll();
    expect(await jobsOf(other)).toEqual(['delivered']);
    for (const name of ['sweeper', 'dead-letter'] as const) {
      const { id } = (await sendUnrun(withWebhook)).result.task;
      gateway.world.ahead = 3 * DAY;
      await gateway.invoke(name, name === 'sweeper' ? {} : batch(id));
      gateway.world.ahead = 0;
      expect((await jobsOf(id)).length, name).toBe(2);
    }
    gateway.outbox.length = 0;
  });

  it('operators list, show, resume and retry what was paused and what failed, and see what was stopped', async () => {
    const { id } = (await sendUnrun(withWebhook)).result.task;
    const named = async () =>
      (await gateway.administer('push.list', { task: id }))['configs'] as { config: string; state: string }[];
    const { config } = (await named())[0]!;
    const message = { task: id, config: config.split('/')[1]! };
    gateway.world.status = 401;
    await gateway.invoke('delivery', batchOf(message));
    expect(await gateway.administer('push.list')).toMatchObject({ configs: [{ config, state: 'paused' }] });
    expect(await gateway.administer('push.show', { config })).toMatchObject({
      attempts: [{ class: '4xx', status: 401 }],
    });
    gateway.world.status = 400;
    await gateway.administer('push.resume', { config });
    await deliverAll();
    expect(await jobsOf(id)).toEqual(['failed']);
    const before = gateway.receiver.seen.length;
    await gateway.administer('push.retry', { job: `${config}/1` });
    await deliverAll();
    expect(gateway.receiver.seen).toHaveLength(before + 1);
    // It failed once more, so it may be retried again.
    gateway.world.status = 410;
    await gateway.administer('push.retry', { job: `${config}/1` });
    await deliverAll();
    gateway.world.status = 200;
    expect(await gateway.administer('push.list', { state: 'stopped' })).toMatchObject({
      configs: [{ config }],
    });
    for (const [operation, actor] of [
      ['push.pause', 'gateway'],
      ['push.resume', expect.stringContaining('arn:')],
      ['push.stop', 'gateway'],
    ] as const) {
      expect(await audited(operation)).toMatchObject([{ actor, kind: 'push', id: config }]);
    }
    expect(await audited('push.retry')).toHaveLength(2);
  });

  it('operators show, rebuild and repair tasks', async () => {
    const { result } = await sendUnrun();
    const { id } = result.task;
    await gateway.administer('task.show', { id });
    await gateway.administer('task.rebuild', { id });
    await gateway.administer('task.repair');
    expect(gateway.runQueue.messages.map(({ task }) => task)).toContain(id);
  });

  it('and nobody was refused anything on the way', () => {
    expect(gateway.asked.filter(({ allowed }) => !allowed)).toEqual([]);
    const working = new Set(gateway.asked.map((one) => one.function));
    expect([...working].sort()).toEqual([...serving].sort());
  });
});

const urlOf = () => `https://${HOOKS}:${gateway.receiver.port}/hook`;
const webhook = {
  get url() {
    return urlOf();
  },
  authentication: { scheme: 'Bearer', credentials: 'a-credential' },
};
const withWebhook = { taskPushNotificationConfig: webhook };

/** Every message of the outbox queue, to its end. */
async function deliverAll(): Promise<void> {
  for (let next = gateway.outbox.shift(); next; next = gateway.outbox.shift()) {
    expect(await gateway.invoke('delivery', batchOf(next))).toEqual({ batchItemFailures: [] });
  }
}

/** States of a task's jobs, in the order of revisions. */
async function jobsOf(task: string): Promise<unknown[]> {
  const partition = keys.pushConfig(task, '').pk;
  const { items } = await gateway.store.query({ table: 'outbox', partition, sort: { prefix: 'J#' } });
  return items.map((item) => item['state']);
}

async function audited(operation: string) {
  const { items } = await gateway.store.query({
    table: 'registry',
    partition: keys.audit(systemClock.now(), '').pk,
  });
  return items.filter((item) => item['operation'] === operation);
}

/** A task that no executor takes, nor any that comes after it. */
async function sendUnrun(configuration: object = {}) {
  gateway.runQueue.arrived = undefined;
  const sent = await call('SendMessage', {
    message: message(),
    configuration: { returnImmediately: true, ...configuration },
  });
  gateway.runQueue.messages.length = 0;
  return sent;
}

const serving: FunctionName[] = [
  'rpc',
  'card',
  'executor',
  'projector',
  'projection-retry',
  'sweeper',
  'dead-letter',
  'delivery',
  'outbox-dead-letter',
  'admin',
];
