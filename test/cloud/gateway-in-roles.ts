import { createHandler as createAdmin } from '../../functions/admin/app.ts';
import { createHandler as createCallback } from '../../functions/callback/app.ts';
import { createHandler as createCard } from '../../functions/card/app.ts';
import { createHandler as createCeiling } from '../../functions/ceiling/app.ts';
import { createHandler as createDeadLetter } from '../../functions/dead-letter/app.ts';
import { createHandler as createDelivery } from '../../functions/delivery/app.ts';
import { createHandler as createExecutor } from '../../functions/executor/app.ts';
import { createHandler as createOutboxDeadLetter } from '../../functions/outbox-dead-letter/app.ts';
import { createHandler as createRetry } from '../../functions/projection-retry/app.ts';
import { createHandler as createProjector } from '../../functions/projector/app.ts';
import { createHandler as createReconciler } from '../../functions/reconciler/app.ts';
import { createHandler as createRpc } from '../../functions/rpc/app.ts';
import { createHandler as createSweeper } from '../../functions/sweeper/app.ts';
import type { FunctionName } from '../../infra/bundle.ts';
import { startGateway } from '../../infra/local/gateway.ts';
import { type Handler, lambdaContext } from '../../infra/local/lambda.ts';
import { listenOnLoopback } from '../../infra/local/loopback-server.ts';
import { provideAwsLambda, type StreamHandler } from '../../infra/local/response-stream.ts';
import type { InboxMessage } from '../../shared/delegation/services.ts';
import type { OutboxMessage } from '../../shared/push/services.ts';
import { createRegistry } from '../../shared/registry/index.ts';
import type { Seams } from '../../shared/runtime/compose.ts';
import { routes } from '../../shared/runtime/routes.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { keys } from '../../shared/storage/keys.ts';
import { recordingLog, silentMetrics } from '../../shared/telemetry/index.ts';
import { createAuthority } from '../guard/certificates.ts';
import { scriptedResolver, startReceiver } from '../guard/receiver.ts';
import { memoryKeyService, memoryQueue } from '../server/rig.ts';
import { startStore } from '../storage/rig.ts';
import { scriptedAgent } from './remote-agent.ts';
import { type Asked, roleBound } from './role-bound.ts';
import { synthesise } from './synthesise.ts';

export const HOOKS = 'hooks.example.com';
export const AGENTS = 'agents.example.com';
/** Where remote agents are told to call back. */
export const PUBLIC_URL = 'https://gateway.example.com';

/** Built when the file is loaded, which takes a while: no hook waits for it. */
const stack = synthesise();

/** Rejects with the operation that an administrator was refused. */
type Administer = (operation: string, input?: object) => Promise<Record<string, unknown>>;

/**
 * The functions as they are, each with no more than its deployed role: what the code needs and the role lacks shows in
 * `asked`. Queues are lists; whoever is woken by one is invoked by the test.
 */
export async function startGatewayInRoles() {
  const asked: Asked[] = [];
  const runQueue = memoryQueue();
  const projectionQueue = memoryQueue();
  const outbox: OutboxMessage[] = [];
  const inbox: InboxMessage[] = [];
  /** How far the clock is ahead, ms, and what webhooks answer. */
  const world = { ahead: 0, status: 200 };

  const rig = await startStore();
  // Takes every change of a message's visibility.
  const sqs = await listenOnLoopback((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' });
    response.end('{}');
  });
  const authority = await createAuthority();
  const agent = scriptedAgent(AGENTS);
  const receiver = await startReceiver(await authority.issue([HOOKS]), (response) =>
    response.writeHead(world.status).end(),
  );
  const remote = await startReceiver(await authority.issue([AGENTS]), agent.answer);
  const outside = {
    ca: [authority.ca],
    loopbackNames: [HOOKS, AGENTS],
    resolver: scriptedResolver({ [HOOKS]: [['127.0.0.1']], [AGENTS]: [['127.0.0.1']] }),
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
  const surroundings = {
    store: rig.store,
    keyService: memoryKeyService(),
    runQueue,
    projectionQueue,
    outboxQueue: { send: async (message: OutboxMessage) => void outbox.push(message) },
    inboxQueue: { send: async (message: InboxMessage) => void inbox.push(message) },
  };
  const seams = (name: FunctionName): Seams => ({
    ...roleBound(stack, name, surroundings, asked),
    clock: { ...systemClock, now: () => systemClock.now() + world.ahead },
    log,
    metrics: silentMetrics,
    // Model endpoints do not answer here: the chain goes on to its next provider.
    outbound: { resolver: { resolve: async () => ({ kind: 'dns-failure', reason: 'not-found' }) } },
  });
  const calling = (name: FunctionName): Seams => ({ ...seams(name), outbound: outside });
  const card = seams('card');
  const streams: Record<string, StreamHandler> = {
    rpc: createRpc(variables, seams('rpc')) as unknown as StreamHandler,
    card: createCard(variables, {
      registry: createRegistry({ store: card.store!, clock: systemClock, log }),
      log,
    }) as unknown as StreamHandler,
  };
  const handlers: Record<Exclude<FunctionName, 'rpc' | 'card'>, Handler> = {
    executor: createExecutor(variables, seams('executor')) as Handler,
    projector: createProjector(variables, seams('projector')) as Handler,
    'projection-retry': createRetry(variables, seams('projection-retry')) as Handler,
    sweeper: createSweeper(variables, seams('sweeper')) as Handler,
    ceiling: createCeiling(variables, seams('ceiling')) as Handler,
    'dead-letter': createDeadLetter(variables, seams('dead-letter')) as Handler,
    delivery: createDelivery(variables, calling('delivery')) as Handler,
    'outbox-dead-letter': createOutboxDeadLetter(variables, seams('outbox-dead-letter')) as Handler,
    callback: createCallback(variables, seams('callback')) as Handler,
    reconciler: createReconciler(
      { ...variables, SEALPOST_PUBLIC_URL: PUBLIC_URL },
      calling('reconciler'),
    ) as Handler,
    admin: createAdmin(variables, calling('admin')) as Handler,
  };
  const gateway = await startGateway({
    routes,
    functions: (name) =>
      name === 'admin' || name === 'callback'
        ? { form: 'result', handler: handlers[name], timeoutSeconds: 300 }
        : { form: 'stream', handler: streams[name]!, timeoutSeconds: 900 },
    administratorToken: 'admin',
  });

  const invoke = (name: keyof typeof handlers, event: unknown) =>
    Promise.resolve(handlers[name](event, lambdaContext(name, 300)));

  const administer: Administer = async (operation, input = {}) => {
    const response = await fetch(`${gateway.url}/admin`, {
      method: 'POST',
      headers: { authorization: 'Bearer admin', 'content-type': 'application/json' },
      body: JSON.stringify({ operation, arguments: input }),
    });
    const answer = (await response.json()) as { ok: boolean; result: Record<string, unknown> };
    if (!answer.ok) throw new Error(`${operation} was refused: ${JSON.stringify(answer)}`);
    return answer.result;
  };
  const client = async (id: string) => {
    const token = String((await administer('client.add', { id, name: id, profiles: ['*'] }))['token']);
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked into.
    return async (method: string, params: object = {}): Promise<any> => {
      const response = await fetch(gateway.url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'a2a-version': '1.0',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      const text = await response.text();
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return JSON.parse(text);
      const events = text.split('\n').filter((line) => line.startsWith('data:'));
      return events.map((line) => JSON.parse(line.slice(5)));
    };
  };

  return {
    asked,
    store: rig.store,
    runQueue,
    projectionQueue,
    outbox,
    inbox,
    world,
    receiver,
    agent,
    agentPort: remote.port,
    url: gateway.url,
    invoke,
    administer,
    client,
    /** Executes what waits in the run queue, and whatever comes, at once or when it is asked to. */
    async execute() {
      for (let next = runQueue.messages.shift(); next; next = runQueue.messages.shift())
        await invoke('executor', batch(next.task));
    },
    async stop() {
      await gateway.stop();
      await sqs.close();
      await receiver.close();
      await remote.close();
      await rig[Symbol.asyncDispose]();
    },
  };
}

export type GatewayInRoles = Awaited<ReturnType<typeof startGatewayInRoles>>;

/** An SQS event of one message. */
export const batchOf = (message: object) => ({
  Records: [{ messageId: 'm', receiptHandle: 'r', body: JSON.stringify(message) }],
});
export const batch = (task: string) => batchOf({ task });

/** A record of the state table's stream. */
export function revisionOf(task: string, revision: number) {
  const { pk, sk } = keys.revision(task, revision);
  return { dynamodb: { Keys: { pk: { S: pk }, sk: { S: sk } }, SequenceNumber: '1' } };
}

let numbered = 0;
export const message = (more: object = {}) => ({
  messageId: `m${++numbered}`,
  role: 'ROLE_USER',
  parts: [{ text: 'hello' }],
  ...more,
});
