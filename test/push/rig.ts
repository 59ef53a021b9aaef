import { createGuard, type Guard, type RequestCall } from '../../shared/guard/index.ts';
import type { ProviderAdapter } from '../../shared/providers/index.ts';
import { deliver } from '../../shared/push/deliver.ts';
import { listOfTask, showConfig } from '../../shared/push/operate.ts';
import type { DeliveryServices, OutboxMessage } from '../../shared/push/services.ts';
import { sweepOutbox } from '../../shared/push/sweep.ts';
import type { Profile } from '../../shared/registry/index.ts';
import type { Clock } from '../../shared/runtime/ports.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Store } from '../../shared/storage/port.ts';
import { type Authority, createAuthority } from '../guard/certificates.ts';
import { type Answering, type Receiver, scriptedResolver, startReceiver } from '../guard/receiver.ts';
import { createGateway, echoProfile, type Gateway, message, register } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';

export const WEBHOOK_HOST = 'hooks.example.com';
/** Names that a webhook may have here, and where a look-up sends them. */
const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  [WEBHOOK_HOST]: ['127.0.0.1'],
  // Its certificate is not the receiver's.
  'other.example.com': ['127.0.0.1'],
  // Not known as a receiver of this test: what any name would be that leads inside.
  'inside.example.com': ['127.0.0.1'],
  'mixed.example.com': ['8.8.8.8', '10.0.0.1'],
};

export interface Webhooks extends AsyncDisposable {
  readonly receiver: Receiver;
  readonly authority: Authority;
  readonly guard: Guard;
  url(path?: string, host?: string): string;
  services(gateway: Gateway, changed?: Partial<DeliveryServices>): DeliveryServices;
}

export interface WebhookOptions {
  /** Instead of the 15 s of an exchange, ms. */
  readonly exchangeMs?: number;
  /** Besides the receiver's own. */
  readonly ports?: readonly number[];
}

/** A real HTTPS receiver behind the real guard: a name that a scripted resolver sends to this machine. */
export async function startWebhooks(answer?: Answering, options: WebhookOptions = {}): Promise<Webhooks> {
  const authority = await createAuthority();
  const receiver = await startReceiver(await authority.issue([WEBHOOK_HOST]), answer);
  const guard = guardOf([authority.ca], options.exchangeMs);
  return {
    receiver,
    authority,
    guard,
    url: (path = '/hook', host = WEBHOOK_HOST) => `https://${host}:${receiver.port}${path}`,
    services: (gateway, changed) => ({
      ...gateway.services,
      outboxQueue: gateway.outboxQueue,
      guard,
      policyOf: async () => ({
        purpose: 'webhook',
        allowedPorts: [receiver.port, ...(options.ports ?? [])],
      }),
      ...changed,
    }),
    [Symbol.asyncDispose]: () => receiver.close(),
  };
}

/** Handles one message of the outbox queue. */
export function deliverOne(services: DeliveryServices, one: OutboxMessage): Promise<void> {
  return deliver(services, one, services.clock.now() + 600_000);
}

/** A guard that trusts these authorities, with less patience if told so. */
export function guardOf(ca: readonly string[], exchangeMs?: number): Guard {
  const guard = createGuard({
    ownHosts: ['gateway.example'],
    ca,
    loopbackNames: [WEBHOOK_HOST, 'other.example.com'],
    resolver: scriptedResolver(
      Object.fromEntries(Object.entries(ADDRESSES).map(([name, addresses]) => [name, [addresses]])),
    ),
  });
  if (exchangeMs === undefined) return guard;
  return { ...guard, request: (call: RequestCall) => guard.request({ ...call, deadlineMs: exchangeMs }) };
}

/** A webhook as a client asks for it. */
export interface Wanted {
  readonly url: string;
  readonly id?: string;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
}

export interface Push extends AsyncDisposable {
  readonly rig: StoreRig;
  readonly store: Store;
  readonly gateway: Gateway;
  readonly webhooks: Webhooks;
  readonly clock: MovedClock;
  readonly services: DeliveryServices;
  readonly outbox: Outbox;
  /** Sends a message and answers its task's id at once. */
  send(text: string, wanted?: Wanted): Promise<string>;
  /** Runs what is queued to its end, publishes it, and has the outbox queue woken, as the stream does. */
  finish(...tasks: string[]): Promise<void>;
  create(task: string, wanted: Wanted): Promise<string>;
  /** Internal ids of a task's configs, oldest first. */
  configs(task: string): Promise<string[]>;
  /** What an operator is shown of a config; the first of the task if none is named. */
  show(task: string, config?: string): Promise<Shown>;
  sweep(): Promise<void>;
}

export interface Shown {
  readonly config: string;
  readonly state: string;
  readonly reason?: string;
  readonly next: string;
  readonly attempts: readonly {
    readonly event: string;
    readonly number: number;
    readonly class: string;
    readonly status?: number;
  }[];
  readonly jobs: readonly {
    readonly job: string;
    readonly revision: number;
    readonly state: string;
    readonly endedAt?: string;
  }[];
  readonly notBefore?: string;
}

export interface PushOptions extends WebhookOptions {
  readonly answer?: Answering;
  readonly adapters?: Readonly<Record<string, ProviderAdapter>>;
  readonly profile?: Partial<Profile>;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Stands in for the guard's request: nothing is sent then. */
  readonly request?: Guard['request'];
}

/** The server role with its outbox on a fresh engine, a clock that only this test moves, and a receiver. */
export async function startPush(options: PushOptions = {}): Promise<Push> {
  const rig = await startStore();
  const webhooks = await startWebhooks(options.answer, options);
  const clock = movedClock(Date.UTC(2026, 0, 12, 9));
  const { store } = rig;
  const adapters = options.adapters ?? {};
  const providers = Object.keys(adapters).length > 0 ? Object.keys(adapters) : ['echo'];
  const webhookPorts = [webhooks.receiver.port, ...(options.ports ?? [])];
  await register(store, {
    clients: ['alice', 'mallory'].map((id) => ({ id, webhookPorts })),
    profiles: [{ ...echoProfile, providers, blockingSeconds: 1, ...options.profile }],
    providers: providers.map((id) => ({ id, kind: 'echo', timeoutSeconds: 60 })),
    settings: { requestsPerMinute: 1_000_000, openTasks: 10_000, ...options.settings },
  });
  const gateway = createGateway({ store, clock, adapters });
  const outbox = createOutbox(gateway, clock);
  const guard = options.request ? { ...webhooks.guard, request: options.request } : webhooks.guard;
  const services = webhooks.services(gateway, { outboxQueue: outbox, guard });
  outbox.consume = (one) => deliverOne(services, one);
  const configs = async (task: string) => {
    const shown = await listOfTask(services, task);
    const byAge = [...shown].sort((a, b) => a.createdAt.localeCompare(b.createdAt));
    return byAge.map(({ config }) => config.split('/')[1]!);
  };
  return {
    ...{ rig, store, gateway, webhooks, clock, services, outbox, configs },
    async send(text, wanted) {
      const { result, error } = await gateway.call('alice', 'SendMessage', {
        message: message(text),
        configuration: {
          returnImmediately: true,
          ...(wanted ? { taskPushNotificationConfig: wanted } : {}),
        },
      });
      if (error) throw new Error(JSON.stringify(error));
      return result.task.id;
    },
    async finish(...tasks) {
      await gateway.runAll();
      await gateway.follow(...tasks);
    },
    async create(task, wanted) {
      const { result, error } = await gateway.call('alice', 'CreateTaskPushNotificationConfig', {
        taskId: task,
        ...wanted,
      });
      if (error) throw new Error(JSON.stringify(error));
      return result.id;
    },
    async show(task, config) {
      const id = config ?? (await configs(task))[0]!;
      return (await showConfig(services, task, id)) as Shown;
    },
    sweep: () => sweepOutbox(services, Number.POSITIVE_INFINITY),
    async [Symbol.asyncDispose]() {
      await webhooks[Symbol.asyncDispose]();
      await rig[Symbol.asyncDispose]();
    },
  };
}

export type MovedClock = Clock & { advance(ms: number): void };

/** Stands still unless the test moves it; who sleeps waits in real time. */
export function movedClock(start: number): MovedClock {
  let now = start;
  return {
    now: () => now,
    sleep: systemClock.sleep,
    advance: (ms) => {
      now += ms;
    },
  };
}

export interface Outbox {
  /** What waits, with the time at which it may be received, epoch ms. */
  readonly waiting: { readonly message: OutboxMessage; readonly at: number }[];
  send(message: OutboxMessage, delaySeconds?: number): Promise<void>;
  /** Takes over what the gateway sent. */
  collect(): void;
  /** Handles what may be received now, one after another, and what comes of that; the clock may move by it. */
  drain(): Promise<void>;
  /** Lets so much time pass, with every message handled at its time. */
  pass(ms: number): Promise<void>;
  consume: (message: OutboxMessage) => Promise<void>;
}

/** The outbox queue on the test's clock; it takes over what the gateway's own was sent. */
function createOutbox(gateway: Gateway, clock: MovedClock): Outbox {
  const waiting: Outbox['waiting'] = [];
  const take = () => {
    for (const one of gateway.outboxQueue.messages.splice(0)) waiting.push({ message: one, at: clock.now() });
  };
  const next = (latest: number) => {
    take();
    let found = -1;
    waiting.forEach(({ at }, i) => {
      if (at <= latest && (found < 0 || at < waiting[found]!.at)) found = i;
    });
    return found < 0 ? undefined : waiting.splice(found, 1)[0];
  };
  const outbox: Outbox = {
    waiting,
    async send(one, delaySeconds = 0) {
      waiting.push({ message: one, at: clock.now() + delaySeconds * 1000 });
    },
    collect: take,
    drain: () => outbox.pass(0),
    async pass(ms) {
      const end = clock.now() + ms;
      for (let one = next(Math.max(end, clock.now())); one; one = next(Math.max(end, clock.now()))) {
        clock.advance(Math.max(0, one.at - clock.now()));
        await outbox.consume(one.message);
      }
      clock.advance(Math.max(0, end - clock.now()));
    },
    consume: async () => {},
  };
  return outbox;
}

/** The earliest entry of the outbox's due index, epoch ms. */
export async function earliestDue(store: Store): Promise<number | undefined> {
  const firsts = await Promise.all(
    keys.dueShards().map((partition) => store.query({ table: 'outbox', index: 'due', partition, limit: 1 })),
  );
  const times = firsts.flatMap(({ items }) => items.map((item) => Number(item['da'])));
  return times.length > 0 ? Math.min(...times) : undefined;
}

/** `SUBMITTED`, `artifact 0`, `COMPLETED`: the shape of what a receiver was sent. */
export function outline(bodies: readonly string[]): string[] {
  return bodies.map((body) => {
    const { statusUpdate, artifactUpdate } = JSON.parse(body);
    if (statusUpdate) return statusUpdate.status.state.replace('TASK_STATE_', '');
    return `artifact ${artifactUpdate.artifact.parts[0].text}`;
  });
}
