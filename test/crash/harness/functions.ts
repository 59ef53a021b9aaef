import { createHandler as createAdmin } from '../../../functions/admin/app.ts';
import {
  type CallbackEvent,
  createHandler as createCallback,
  type ProxyAnswer,
} from '../../../functions/callback/app.ts';
import { createHandler as createCeiling } from '../../../functions/ceiling/app.ts';
import { createHandler as createDeadLetter } from '../../../functions/dead-letter/app.ts';
import { createHandler as createProjectionRetry } from '../../../functions/projection-retry/app.ts';
import { createHandler as createProjector } from '../../../functions/projector/app.ts';
import { createHandler as createSweeper } from '../../../functions/sweeper/app.ts';
import { createCardPublisher } from '../../../shared/cards/index.ts';
import { createClientOf } from '../../../shared/delegation/client-of.ts';
import { inboxMessageOf } from '../../../shared/delegation/message.ts';
import type { InboxMessage } from '../../../shared/delegation/services.ts';
import { takeMessage } from '../../../shared/delegation/take.ts';
import type { Guard, RequestCall } from '../../../shared/guard/index.ts';
import type { ProviderAdapter } from '../../../shared/providers/index.ts';
import { deliver } from '../../../shared/push/deliver.ts';
import type { OutboxMessage } from '../../../shared/push/services.ts';
import { createSecretBox, type Provider } from '../../../shared/registry/index.ts';
import { handleRpc, type RpcHttpRequest } from '../../../shared/rpc/index.ts';
import { type ExecutorServices, executeRun } from '../../../shared/runs/execute.ts';
import { composeTasks, type Seams } from '../../../shared/runtime/compose.ts';
import type { RunMessage, WorkQueue } from '../../../shared/runtime/ports.ts';
import { each, eachTask, type QueueEvent } from '../../../shared/runtime/queue-event.ts';
import type { Instance } from './instance.ts';

/** An HTTP request to `rpc`; `emit` has the answer's text piece by piece, as the platform streams it. */
export interface RpcInvocation extends RpcHttpRequest {
  readonly emit: (text: string) => void;
}

export interface RpcResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a function is built from in an instance: the seams that the local host and tests have. */
export interface InstanceParts {
  readonly instance: Instance;
  readonly seams: Seams & {
    readonly runQueue: WorkQueue<RunMessage>;
    readonly outboxQueue: WorkQueue<OutboxMessage>;
    readonly inboxQueue: WorkQueue<InboxMessage>;
  };
  readonly adapterFor: (provider: Provider) => ProviderAdapter;
  /** One POST to a webhook, which answers 204. */
  readonly webhook: (call: RequestCall) => ReturnType<Guard['request']>;
  /** The way to remote agents. */
  readonly agents: Guard;
  /** ChangeMessageVisibility of the message of that receipt. */
  readonly hide: (receipt: string, seconds: number) => Promise<void>;
}

/** Names of tables are not used: the store is handed in. */
const environment = {
  SEALPOST_STATE_TABLE: 'state',
  SEALPOST_VIEW_TABLE: 'view',
  SEALPOST_OUTBOX_TABLE: 'outbox',
  SEALPOST_DELEGATION_TABLE: 'delegation',
  SEALPOST_REGISTRY_TABLE: 'registry',
  AWS_REGION: 'us-east-1',
};

/** Where remote agents call back. */
const PUBLIC_URL = 'https://gateway.example';

/** As the platform limits them, ms: what is left is counted from the start of the invocation. */
const TIMEOUT_MS = { rpc: 900_000, executor: 900_000, other: 60_000 };

/**
 * The functions of the server role, each built anew in an instance. Those whose surroundings are all seams are the
 * deployed handlers with the platform's events; rpc, executor and reconciler are their domain entry with the few lines
 * that stand between it and the platform (`functions/rpc/app.ts` and so on).
 */
export const functions = {
  rpc: rpcOf,
  executor: executorOf,
  projector: ({ instance, seams }: InstanceParts) => handlerOf(instance, createProjector(environment, seams)),
  'projection-retry': ({ instance, seams }: InstanceParts) =>
    handlerOf(instance, createProjectionRetry(environment, seams)),
  sweeper: ({ instance, seams }: InstanceParts) => handlerOf(instance, createSweeper(environment, seams)),
  'dead-letter': ({ instance, seams }: InstanceParts) =>
    handlerOf(instance, createDeadLetter(environment, seams)),
  admin: ({ instance, seams }: InstanceParts) => handlerOf(instance, createAdmin(environment, seams)),
  ceiling: ({ instance, seams }: InstanceParts) => handlerOf(instance, createCeiling(environment, seams)),
  delivery: deliveryOf,
  callback: ({ instance, seams }: InstanceParts) =>
    handlerOf<CallbackEvent, ProxyAnswer>(instance, createCallback(environment, seams)),
  reconciler: reconcilerOf,
} as const;

export type FunctionName = keyof typeof functions;

function rpcOf({ instance, seams }: InstanceParts) {
  const tasks = composeTasks(environment, 'rpc', seams);
  const services = {
    ...tasks,
    runQueue: seams.runQueue,
    cards: createCardPublisher(),
  };
  return async ({ emit, ...request }: RpcInvocation): Promise<RpcResponse> => {
    const answer = await handleRpc(services, request, instance.clock.now() + TIMEOUT_MS.rpc - 3_000);
    const { status, headers, body } = answer;
    if (typeof body === 'string') emit(body);
    else for await (const text of body) emit(text);
    return { status, headers };
  };
}

function executorOf({ instance, seams, adapterFor, hide }: InstanceParts) {
  const tasks = composeTasks(environment, 'executor', seams);
  const services: ExecutorServices = { ...tasks, inboxQueue: seams.inboxQueue, adapterFor };
  return (event: QueueEvent) => {
    const until = instance.clock.now() + TIMEOUT_MS.executor - 15_000;
    return eachTask(
      event,
      async (task, record) => {
        const hideOwn = (seconds: number) => hide(record.receiptHandle, seconds);
        const executed = await executeRun(services, task, { extend: hideOwn }, until);
        if (executed.kind === 'done') return 'done';
        await hideOwn(executed.delaySeconds).catch(() => {});
        return 'again';
      },
      () => {},
    );
  };
}

/** As `functions/delivery/app.ts`, with a guard that lets everything through. */
function deliveryOf({ instance, seams, webhook }: InstanceParts) {
  const tasks = composeTasks(environment, 'delivery', seams);
  const guard = { checkText: () => ({ verdict: 'allow' }), request: webhook } as unknown as Guard;
  const policyOf = async () => ({ purpose: 'webhook' as const });
  const services = { ...tasks, outboxQueue: seams.outboxQueue, guard, policyOf };
  return async (event: QueueEvent) => {
    for (const { body } of event.Records)
      await deliver(services, JSON.parse(body) as OutboxMessage, instance.clock.now() + TIMEOUT_MS.other);
    return { batchItemFailures: [] };
  };
}

/** As `functions/reconciler/app.ts`, with a guard that leads to the agents of the world. */
function reconcilerOf({ seams, agents }: InstanceParts) {
  const tasks = composeTasks(environment, 'reconciler', seams);
  const secrets = createSecretBox(tasks.sealer, 'agent');
  const { runQueue, inboxQueue } = seams;
  const clientOf = createClientOf({ guard: agents, secrets, clock: tasks.clock, random: tasks.random });
  const services = { ...tasks, runQueue, inboxQueue, publicUrl: PUBLIC_URL, clientOf };
  return (event: QueueEvent) =>
    each(
      event,
      inboxMessageOf,
      async (message) => {
        await takeMessage(services, message);
        return 'done';
      },
      () => {},
    );
}

/** A handler as the platform calls it, with the time it has left. */
function handlerOf<Event, Answer>(
  instance: Instance,
  handler: (event: Event, context: never) => Promise<Answer>,
): (event: Event) => Promise<Answer> {
  return (event) => {
    const end = instance.clock.now() + TIMEOUT_MS.other;
    const context = {
      functionName: instance.name,
      awsRequestId: instance.random.uuid(),
      getRemainingTimeInMillis: () => end - instance.clock.now(),
    };
    return handler(event, context as never);
  };
}
