import { createCardPublisher } from '../../shared/cards/index.ts';
import { createPrivacy } from '../../shared/ceilings/privacy.ts';
import type { InboxMessage } from '../../shared/delegation/services.ts';
import { echoAdapter, type ProviderAdapter } from '../../shared/providers/index.ts';
import type { OutboxMessage } from '../../shared/push/services.ts';
import { createPatternRedactor } from '../../shared/redaction/index.ts';
import { createRegistry, mintToken, type Profile, type Provider } from '../../shared/registry/index.ts';
import { handleRpc, type RpcHttpAnswer, type RpcServices } from '../../shared/rpc/index.ts';
import { type ExecutorServices, executeRun } from '../../shared/runs/execute.ts';
import { followAll } from '../../shared/runs/follow.ts';
import { recoverDeadLetter, sweep } from '../../shared/runs/recover.ts';
import type { Clock, KeyService, RunMessage, WorkQueue } from '../../shared/runtime/ports.ts';
import { systemClock, systemRandom } from '../../shared/runtime/system.ts';
import { createKeyring, createSealer } from '../../shared/sealing/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Key, Store, Value } from '../../shared/storage/port.ts';
import { recordingLog, recordingMetrics } from '../../shared/telemetry/index.ts';

/** A key service in memory that counts its calls; wrapping is by map, so a foreign context opens nothing. */
export function memoryKeyService(): KeyService & { calls: number } {
  const wrapped = new Map<string, { plaintext: Uint8Array; context: string }>();
  return {
    calls: 0,
    async generate(context) {
      this.calls++;
      const plaintext = systemRandom.bytes(32);
      const name = systemRandom.uuid();
      wrapped.set(name, { plaintext, context: JSON.stringify(context) });
      return { plaintext, wrapped: Buffer.from(name) };
    },
    async unwrap(blob, context) {
      this.calls++;
      const found = wrapped.get(Buffer.from(blob).toString());
      if (found?.context !== JSON.stringify(context)) throw new Error('wrong context');
      return found.plaintext;
    },
  };
}

export interface MemoryQueue extends WorkQueue<RunMessage> {
  readonly messages: { readonly task: string; readonly delaySeconds: number }[];
  /** Called when a message came; see `executing`. */
  arrived?: (() => void) | undefined;
}

export function memoryQueue(): MemoryQueue {
  const messages: MemoryQueue['messages'] = [];
  return {
    messages,
    async send({ task }, delaySeconds = 0) {
      messages.push({ task, delaySeconds });
      this.arrived?.();
    },
  };
}

/** Executions at once, as a queue mapping bounds them. */
const MOST_EXECUTIONS = 20;

/**
 * Takes messages off the queue as they come and without their delays, by turns on each gateway, until disposed. What
 * fails is delivered again.
 */
export function executing(...gateways: readonly [Gateway, ...Gateway[]]): AsyncDisposable {
  const running = new Set<Promise<void>>();
  const queue = gateways[0].runQueue;
  let turn = 0;
  let isOver = false;
  const take = () => {
    while (!isOver && running.size < MOST_EXECUTIONS) {
      const next = queue.messages.shift();
      if (!next) return;
      const run = execute(next.task).finally(() => {
        running.delete(run);
        take();
      });
      running.add(run);
    }
  };
  const execute = async (task: string) => {
    const gateway = gateways[turn++ % gateways.length]!;
    const executed = await gateway.execute(task).catch(() => ({ kind: 'again' }));
    if (executed.kind === 'again') queue.messages.push({ task, delaySeconds: 0 });
  };
  queue.arrived = take;
  take();
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      queue.arrived = undefined;
      while (running.size > 0) await Promise.all(running);
    },
  };
}

export const echoProfile: Profile = {
  id: 'echo',
  name: 'Echo',
  description: 'Repeats what it is told.',
  version: '1.0.0',
  tags: ['test'],
  examples: [],
  inputModes: ['*/*'],
  outputModes: ['*/*'],
  providers: ['echo'],
  published: true,
  public: true,
  blockingSeconds: 25,
  runSeconds: 1_800,
  inputSeconds: 604_800,
  attempts: 3,
  dedup: true,
  extensions: [],
  approval: 'none',
  approvalSeconds: 604_800,
  retentionDays: 30,
};

export interface Gateway {
  readonly services: RpcServices & ExecutorServices;
  readonly runQueue: MemoryQueue;
  readonly projectionQueue: MemoryQueue;
  readonly outboxQueue: WorkQueue<OutboxMessage> & { readonly messages: OutboxMessage[] };
  readonly inboxQueue: WorkQueue<InboxMessage> & { readonly messages: InboxMessage[] };
  readonly metrics: ReturnType<typeof recordingMetrics>;
  readonly log: ReturnType<typeof recordingLog>;
  readonly keyService: ReturnType<typeof memoryKeyService>;
  token(client: string): string;
  /** One POST to the RPC endpoint; strings and bytes go as they are. An undefined header is not sent. */
  post(
    client: string,
    body: unknown,
    headers?: Readonly<Record<string, string | undefined>>,
    query?: Readonly<Record<string, string>>,
  ): Promise<RpcHttpAnswer>;
  /** A call's parsed answer. */
  call(client: string, method: string, params?: unknown): Promise<RpcAnswer>;
  /** Takes every message off the run queue, each to its end. */
  runAll(): Promise<void>;
  execute(task: string): ReturnType<typeof executeRun>;
  follow(...tasks: string[]): Promise<string | undefined>;
  sweep(): ReturnType<typeof sweep>;
  deadLetter(task: string): ReturnType<typeof recoverDeadLetter>;
}

export interface RpcAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the wire is untyped on purpose, tests look into it.
  readonly result?: any;
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  readonly error?: { code: number; message: string; data: any[] };
}

export interface GatewayParts {
  readonly store: Store;
  readonly clock?: Clock;
  readonly keyService?: ReturnType<typeof memoryKeyService>;
  readonly runQueue?: MemoryQueue;
  readonly adapters?: Readonly<Record<string, ProviderAdapter>>;
}

const tokens = new Map<string, string>();

/** The whole server role in this process, on a store handed in. Several share one store, as instances do. */
export function createGateway(parts: GatewayParts): Gateway {
  const clock = parts.clock ?? systemClock;
  const keyService = parts.keyService ?? memoryKeyService();
  const metrics = recordingMetrics();
  const log = recordingLog();
  const runQueue = parts.runQueue ?? memoryQueue();
  const projectionQueue = memoryQueue();
  const inboxQueue: Gateway['inboxQueue'] = {
    messages: [],
    send: async (message) => void inboxQueue.messages.push(message),
  };
  const outboxQueue: Gateway['outboxQueue'] = {
    messages: [],
    send: async (message) => void outboxQueue.messages.push(message),
  };
  const keyring = createKeyring({ store: parts.store, keyService, clock });
  const registry = createRegistry({ store: parts.store, clock, log });
  const services: RpcServices & ExecutorServices = {
    store: parts.store,
    clock,
    random: systemRandom,
    metrics,
    log,
    keyring,
    sealer: createSealer({ keyring, random: systemRandom }),
    registry,
    privacy: createPrivacy(registry, createPatternRedactor()),
    runQueue,
    inboxQueue,
    cards: createCardPublisher(),
    adapterFor: (provider) => parts.adapters?.[provider.id] ?? echoAdapter,
  };
  const post: Gateway['post'] = (client, body, headers = {}, query = {}) =>
    handleRpc(
      services,
      {
        headers: {
          authorization: `Bearer ${tokens.get(client)}`,
          'content-type': 'application/json',
          'a2a-version': '1.0',
          ...headers,
        },
        query,
        body: bytesOf(body),
        baseUrl: 'https://gateway.example',
      },
      clock.now() + 840_000,
    );
  const execute: Gateway['execute'] = (task) =>
    executeRun(services, task, { extend: async () => {} }, clock.now() + 840_000);
  return {
    services,
    runQueue,
    projectionQueue,
    outboxQueue,
    inboxQueue,
    metrics,
    log,
    keyService,
    token: (client) => tokens.get(client)!,
    post,
    async call(client, method, params) {
      const answer = await post(client, { jsonrpc: '2.0', id: 1, method, params });
      return JSON.parse(typeof answer.body === 'string' ? answer.body : await textOf(answer.body));
    },
    async runAll() {
      for (let next = runQueue.messages.shift(); next; next = runQueue.messages.shift()) {
        const executed = await execute(next.task);
        if (executed.kind === 'again') await runQueue.send({ task: next.task }, executed.delaySeconds);
      }
    },
    execute,
    follow: (...tasks) =>
      followAll(
        { ...services, projectionQueue, outboxQueue },
        tasks.map((task, i) => ({ task, at: String(i) })),
      ),
    sweep: () => sweep(services, Number.POSITIVE_INFINITY),
    deadLetter: (task) => recoverDeadLetter(services, task),
  };
}

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

export async function textOf(body: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of body) text += piece;
  return text;
}

/** Registers a client, a profile or a provider straight in the store. */
export async function register(
  store: Store,
  entries: {
    readonly clients?: readonly {
      readonly id: string;
      readonly profiles?: readonly string[];
      readonly disabled?: boolean;
      readonly webhookPorts?: readonly number[];
    }[];
    readonly profiles?: readonly Profile[];
    readonly providers?: readonly Provider[];
    readonly settings?: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  const put = async (key: Key, value: unknown) => {
    const item = { ...key, v: 1, edition: 1, data: value as Value };
    await store.write({ kind: 'put', table: 'registry', item });
  };
  for (const { id, profiles = ['*'], disabled = false, webhookPorts = [] } of entries.clients ?? []) {
    const minted = mintToken(id, systemRandom);
    tokens.set(id, minted.token);
    await put(keys.client(id), {
      id,
      name: id,
      disabled,
      webhookPorts,
      tokens: [{ hash: minted.hash, createdAt: 0 }],
      profiles,
      createdAt: 0,
    });
  }
  for (const profile of entries.profiles ?? []) await put(keys.profile(profile.id), profile);
  for (const provider of entries.providers ?? []) await put(keys.provider(provider.id), provider);
  await put(keys.settings(), { defaultProfile: 'echo', ...entries.settings });
}

export function message(text: string, more: object = {}) {
  return { messageId: systemRandom.uuid(), role: 'ROLE_USER', parts: [{ text }], ...more };
}
