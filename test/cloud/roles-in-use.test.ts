import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createHandler as createAdmin } from '../../functions/admin/app.ts';
import { createHandler as createCard } from '../../functions/card/app.ts';
import { createHandler as createDeadLetter } from '../../functions/dead-letter/app.ts';
import { createHandler as createDelivery } from '../../functions/delivery/app.ts';
import { createHandler as createExecutor } from '../../functions/executor/app.ts';
import { createHandler as createOutboxDeadLetter } from '../../functions/outbox-dead-letter/app.ts';
import { createHandler as createRetry } from '../../functions/projection-retry/app.ts';
import { createHandler as createProjector } from '../../functions/projector/app.ts';
import { createHandler as createRpc } from '../../functions/rpc/app.ts';
import { createHandler as createSweeper } from '../../functions/sweeper/app.ts';
import { type FunctionName, functionNames } from '../../infra/bundle.ts';
import { type Gateway, startGateway } from '../../infra/local/gateway.ts';
import { type Handler, lambdaContext } from '../../infra/local/lambda.ts';
import { type LoopbackServer, listenOnLoopback } from '../../infra/local/loopback-server.ts';
import { provideAwsLambda, type StreamHandler } from '../../infra/local/response-stream.ts';
import type { OutboxMessage } from '../../shared/push/services.ts';
import { createRegistry } from '../../shared/registry/index.ts';
import type { Seams } from '../../shared/runtime/compose.ts';
import { routes } from '../../shared/runtime/routes.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { keys } from '../../shared/storage/keys.ts';
import { recordingLog, silentMetrics } from '../../shared/telemetry/index.ts';
import { createAuthority } from '../guard/certificates.ts';
import { type Receiver, scriptedResolver, startReceiver } from '../guard/receiver.ts';
import { memoryKeyService, memoryQueue } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Asked, roleBound } from './role-bound.ts';
import { synthesise } from './synthesise.ts';

/** The functions as they are, each with no more than its deployed role: what the code needs and the role lacks shows here. */
const stack = synthesise();
const asked: Asked[] = [];
const DAY = 86_400_000;
let now = () => systemClock.now();
const runQueue = memoryQueue();
const projectionQueue = memoryQueue();
const woken: OutboxMessage[] = [];
const outboxQueue = { send: async (message: OutboxMessage) => void woken.push(message) };
const keyService = memoryKeyService();
const HOOKS = 'hooks.example.com';
/** What the webhook answers. */
let status = 200;
let receiver: Receiver;
let rig: StoreRig;
let sqs: LoopbackServer;
let gateway: Gateway;
let handlers: Record<Exclude<FunctionName, 'rpc' | 'card'>, Handler>;
let token: string;

beforeAll(async () => {
  rig = await startStore();
  // Takes every change of a message's visibility.
  sqs = await listenOnLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' });
    response.end('{}');
  });
  const authority = await createAuthority();
  receiver = await startReceiver(await authority.issue([HOOKS]), (response) =>
    response.writeHead(status).end(),
  );
  const webhooks = {
    ca: [authority.ca],
    loopbackNames: [HOOKS],
    resolver: scriptedResolver({ [HOOKS]: [['127.0.0.1']] }),
  };
  provideAwsLambda();
  const variables = {
    AWS_REGION: 'eu-central-1',
    AWS_ENDPOINT_URL_SQS: sqs.url,
    SEALPOST_STATE_TABLE: 'state',
    SEALPOST_VIEW_TABLE: 'view',
    SEALPOST_OUTBOX_TABLE: 'outbox',
    SEALPOST_DELEGATION_TABLE: 'delegation',
    SEALPOST_REGISTRY_TABLE: 'registry',
    SEALPOST_DATA_KEY: 'key',
    SEALPOST_RUN_QUEUE: `${sqs.url}/000000000000/runs`,
    SEALPOST_PROJECTION_QUEUE: `${sqs.url}/000000000000/projections`,
  };
  const log = recordingLog();
  const surroundings = { store: rig.store, keyService, runQueue, projectionQueue, outboxQueue };
  const seams = (name: FunctionName): Seams => ({
    ...roleBound(stack, name, surroundings, asked),
    clock: { ...systemClock, now: () => now() },
    log,
    metrics: silentMetrics,
    // Model endpoints do not answer here: the chain goes on to its next provider.
    outbound: { resolver: { resolve: async () => ({ kind: 'dns-failure', reason: 'not-found' }) } },
  });
  const card = seams('card');
  const streams: Record<string, StreamHandler> = {
    rpc: createRpc(variables, seams('rpc')) as unknown as StreamHandler,
    card: createCard(variables, {
      registry: createRegistry({ store: card.store!, clock: systemClock, log }),
      log,
    }) as unknown as StreamHandler,
  };
  handlers = {
    executor: createExecutor(variables, seams('executor')) as Handler,
    projector: createProjector(variables, seams('projector')) as Handler,
    'projection-retry': createRetry(variables, seams('projection-retry')) as Handler,
    sweeper: createSweeper(variables, seams('sweeper')) as Handler,
    'dead-letter': createDeadLetter(variables, seams('dead-letter')) as Handler,
    delivery: createDelivery(variables, { ...seams('delivery'), outbound: webhooks }) as Handler,
    'outbox-dead-letter': createOutboxDeadLetter(variables, seams('outbox-dead-letter')) as Handler,
    admin: createAdmin(variables, seams('admin')) as Handler,
  };
  gateway = await startGateway({
    routes,
    functions: (name) =>
      name === 'admin'
        ? { form: 'result', handler: handlers.admin, timeoutSeconds: 300 }
        : { form: 'stream', handler: streams[name]!, timeoutSeconds: 900 },
    administratorToken: 'admin',
  });
  runQueue.arrived = () => void runNext();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await gateway?.stop();
  await sqs?.close();
  await receiver?.close();
  await rig?.[Symbol.asyncDispose]();
});

const invoke = (name: keyof typeof handlers, event: unknown) =>
  Promise.resolve(handlers[name](event, lambdaContext(name, 300)));
const batchOf = (message: object) => ({
  Records: [{ messageId: 'm', receiptHandle: 'r', body: JSON.stringify(message) }],
});
const batch = (task: string) => batchOf({ task });
async function runNext(): Promise<void> {
  const next = runQueue.messages.shift();
  if (next) await invoke('executor', batch(next.task));
}

async function administer(operation: string, input: object = {}): Promise<Record<string, unknown>> {
  const response = await fetch(`${gateway.url}/admin`, {
    method: 'POST',
    headers: { authorization: 'Bearer admin', 'content-type': 'application/json' },
    body: JSON.stringify({ operation, arguments: input }),
  });
  const answer = (await response.json()) as { ok: boolean; result: Record<string, unknown> };
  expect(answer, operation).toMatchObject({ ok: true });
  return answer.result;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into.
async function call(method: string, params: object = {}): Promise<any> {
  const response = await fetch(gateway.url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const text = await response.text();
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return JSON.parse(text);
  const events = text.split('\n').filter((line) => line.startsWith('data:'));
  return events.map((line) => JSON.parse(line.slice(5)));
}

let numbered = 0;
const message = (more: object = {}) => ({
  messageId: `m${++numbered}`,
  role: 'ROLE_USER',
  parts: [{ text: 'hello' }],
  ...more,
});

describe('every function does its work with no more than its role', () => {
  it('administrators set a gateway up', async () => {
    await administer('provider.put', { provider: { id: 'echo', kind: 'echo' } });
    await administer('provider.put', {
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
      await administer('profile.put', {
        profile: { id, name: id, description: id, providers, public: true },
      });
      await administer('profile.publish', { id });
    }
    await administer('settings.set', { settings: { defaultProfile: 'echo' } });
    const added = await administer('client.add', { id: 'acme1', name: 'Acme', profiles: ['*'] });
    token = String(added['token']);
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
    expect(asked).toContainEqual(expect.objectContaining({ function: 'executor', action: 'kms:Decrypt' }));
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
      await rig.store.write({ kind: 'delete', table: 'view', key: keys.view(id) });
      const { pk, sk } = keys.revision(id, 1);
      const record = { dynamodb: { Keys: { pk: { S: pk }, sk: { S: sk } }, SequenceNumber: '1' } };
      const answer = await invoke(name, name === 'projector' ? { Records: [record] } : batch(id));
      expect(answer).toEqual({ batchItemFailures: [] });
      expect(await rig.store.get('view', keys.view(id))).toBeDefined();
    }
  });

  it('the projector hands on what does not project, and sends what the state still needs', async () => {
    const { result } = await sendUnrun();
    const { pk, sk } = keys.revision(result.task.id, 1);
    const record = { dynamodb: { Keys: { pk: { S: pk }, sk: { S: sk } }, SequenceNumber: '1' } };
    await invoke('projector', { Records: [record] });
    // A head that cannot be read fails to project.
    await rig.store.write({ kind: 'put', table: 'state', item: { ...keys.head('broken'), v: 1 } });
    const broken = {
      dynamodb: { Keys: { pk: { S: 'T#broken' }, sk: { S: 'R#00000001' } }, SequenceNumber: '2' },
    };
    await invoke('projector', { Records: [broken] });
    expect(projectionQueue.messages.map(({ task }) => task)).toEqual(['broken']);
    await rig.store.write({ kind: 'delete', table: 'state', key: keys.head('broken') });
  });

  it('sweeper and dead-letter queue again what may run, and end what may not', async () => {
    for (const name of ['sweeper', 'dead-letter'] as const) {
      const { result } = await sendUnrun();
      const { id } = result.task;
      const event = name === 'sweeper' ? {} : batch(id);
      now = () => systemClock.now() + 300_000;
      await invoke(name, event);
      expect(runQueue.messages.map(({ task }) => task)).toContain(id);
      now = () => systemClock.now() + 3 * DAY;
      await invoke(name, event);
      now = () => systemClock.now();
      expect((await call('GetTask', { id })).result.status.state).toBe('TASK_STATE_FAILED');
    }
  });

  it('clients cancel what runs, while others watch it', async () => {
    const { id } = (await sendUnrun()).result.task;
    const watched = call('SubscribeToTask', { id });
    await vi.waitUntil(() =>
      asked.some(({ action, resource }) => action === 'dynamodb:Query' && /State/.test(resource)),
    );
    expect((await call('CancelTask', { id })).result.status.state).toBe('TASK_STATE_CANCELED');
    expect((await watched).at(-1).result.statusUpdate.status.state).toBe('TASK_STATE_CANCELED');
  });

  it('clients register, read and delete webhooks, and are refused addresses, which the audit keeps', async () => {
    await administer('client.webhooks', { id: 'acme1', ports: [receiver.port] });
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
    await invoke('executor', batch(id));
    expect(await jobsOf(id)).toEqual(['open', 'open']);
    await invoke('projector', { Records: [revisionOf(id, 2)] });
    await deliverAll();
    expect(await jobsOf(id)).toEqual(['delivered', 'delivered']);
    expect(receiver.seen.at(-1)?.body).toContain('TASK_STATE_COMPLETED');

    const other = (await sendUnrun(withWebhook)).result.task.id;
    now = () => systemClock.now() + 300_000;
    await invoke('sweeper', {});
    now = () => systemClock.now();
    expect(woken.map(({ task }) => task)).toContain(other);
    await invoke('outbox-dead-letter', batchOf(woken.find(({ task }) => task === other)!));
    await deliverAll();
    expect(await jobsOf(other)).toEqual(['delivered']);
    for (const name of ['sweeper', 'dead-letter'] as const) {
      const { id } = (await sendUnrun(withWebhook)).result.task;
      now = () => systemClock.now() + 3 * DAY;
      await invoke(name, name === 'sweeper' ? {} : batch(id));
      now = () => systemClock.now();
      expect((await jobsOf(id)).length, name).toBe(2);
    }
    woken.length = 0;
  });

  it('operators list, show, resume and retry what was paused and what failed, and see what was stopped', async () => {
    const { id } = (await sendUnrun(withWebhook)).result.task;
    const named = async () =>
      (await administer('push.list', { task: id }))['configs'] as { config: string; state: string }[];
    const { config } = (await named())[0]!;
    const message = { task: id, config: config.split('/')[1]! };
    status = 401;
    await invoke('delivery', batchOf(message));
    expect(await administer('push.list')).toMatchObject({ configs: [{ config, state: 'paused' }] });
    expect(await administer('push.show', { config })).toMatchObject({
      attempts: [{ class: '4xx', status: 401 }],
    });
    status = 400;
    await administer('push.resume', { config });
    await deliverAll();
    expect(await jobsOf(id)).toEqual(['failed']);
    status = 200;
    const before = receiver.seen.length;
    await administer('push.retry', { job: `${config}/1` });
    await deliverAll();
    expect(receiver.seen).toHaveLength(before + 1);
    status = 410;
    await administer('push.retry', { job: `${config}/1` });
    await deliverAll();
    status = 200;
    expect(await administer('push.list', { state: 'stopped' })).toMatchObject({ configs: [{ config }] });
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
    await administer('task.show', { id });
    await administer('task.rebuild', { id });
    await administer('task.repair');
    expect(runQueue.messages.map(({ task }) => task)).toContain(id);
  });

  it('and nobody was refused anything on the way', () => {
    expect(asked.filter(({ allowed }) => !allowed)).toEqual([]);
    expect(new Set(asked.map((one) => one.function))).toEqual(new Set(functionNames));
  });
});

const urlOf = () => `https://${HOOKS}:${receiver.port}/hook`;
const webhook = {
  get url() {
    return urlOf();
  },
  authentication: { scheme: 'Bearer', credentials: 'a-credential' },
};
const withWebhook = { taskPushNotificationConfig: webhook };
const revisionOf = (task: string, revision: number) => {
  const { pk, sk } = keys.revision(task, revision);
  return { dynamodb: { Keys: { pk: { S: pk }, sk: { S: sk } }, SequenceNumber: '1' } };
};

/** Every message of the outbox queue, to its end. */
async function deliverAll(): Promise<void> {
  for (let next = woken.shift(); next; next = woken.shift()) {
    expect(await invoke('delivery', batchOf(next))).toEqual({ batchItemFailures: [] });
  }
}

/** States of a task's jobs, in the order of revisions. */
async function jobsOf(task: string): Promise<unknown[]> {
  const partition = keys.pushConfig(task, '').pk;
  const { items } = await rig.store.query({ table: 'outbox', partition, sort: { prefix: 'J#' } });
  return items.map((item) => item['state']);
}

async function audited(operation: string) {
  const { items } = await rig.store.query({
    table: 'registry',
    partition: keys.audit(systemClock.now(), '').pk,
  });
  return items.filter((item) => item['operation'] === operation);
}

/** A task that no executor takes, nor any that comes after it. */
async function sendUnrun(configuration: object = {}) {
  runQueue.arrived = undefined;
  const sent = await call('SendMessage', {
    message: message(),
    configuration: { returnImmediately: true, ...configuration },
  });
  runQueue.messages.length = 0;
  return sent;
}
