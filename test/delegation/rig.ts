import { createHandler as createCallback } from '../../functions/callback/app.ts';
import type { A2AClient } from '../../shared/client/index.ts';
import { advance } from '../../shared/delegation/advance.ts';
import { createClientOf } from '../../shared/delegation/client-of.ts';
import { listDependencies, showDependency } from '../../shared/delegation/operate.ts';
import type { InboxMessage, ReconcilerServices } from '../../shared/delegation/services.ts';
import type { ProviderAdapter } from '../../shared/providers/index.ts';
import { createRemoteAdapter } from '../../shared/providers/remote.ts';
import type { Provider, RemoteAgent } from '../../shared/registry/index.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Item, StoredItem, Value } from '../../shared/storage/port.ts';
import { type TableName, tables } from '../../shared/storage/tables.ts';
import { loopbackGuard } from '../client/fake-agent.ts';
import { createGateway, echoProfile, type Gateway, message, register } from '../server/rig.ts';
import type { StoreRig } from '../storage/rig.ts';

const names = Object.keys(tables) as TableName[];

/** What an agent that has one is called with. */
export const CREDENTIAL = 'secret-of-the-far-agent';

/** A registered remote agent as the tests of delegation need it. */
export const farAgent: RemoteAgent = {
  id: 'far',
  name: 'Far',
  description: 'Far away.',
  cardUrl: 'https://far.example.com/.well-known/agent-card.json',
  disabled: false,
  push: 'embedded',
  allowedOrigins: [],
  trustedHosts: [],
  allowedPorts: [],
  interface: { url: 'https://far.example.com/rpc', protocolVersion: '1.0' },
  cardReadAt: 0,
  waitSeconds: 600,
};

/** What a callback was answered. */
export interface CallbackSeen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** A gateway in this process whose profile `far` hands its tasks to the agent `far`, and who is called back. */
export interface Delegation {
  readonly gateway: Gateway;
  readonly services: ReconcilerServices;
  /** ms by which the clock is ahead. */
  ahead: number;
  /** A task of Alice's with these words, suspended; nothing was sent yet. */
  hand(words?: string, profile?: string): Promise<string>;
  /** One look at the dependency of a task (or at another one of it). */
  look(task: string, dependency?: string): Promise<number | undefined>;
  /** The dependency's item, as it stands. */
  dependency(task: string, id?: string): Promise<StoredItem>;
  registration(task: string, id?: string): Promise<StoredItem | undefined>;
  /** As operators see it. */
  shown(task: string, id?: string): Promise<Record<string, unknown> | undefined>;
  openRegistrations(): Promise<number>;
  get(task: string): ReturnType<typeof getTask>;
  /** One POST to a callback address, through the function that takes it. */
  callBack(
    registration: string,
    headers: Readonly<Record<string, string>>,
    body?: string | Uint8Array,
  ): Promise<CallbackSeen>;
}

export interface DelegationParts {
  readonly agent?: Partial<RemoteAgent>;
  /** Another agent, `near`. */
  readonly near?: Partial<RemoteAgent>;
  /** Providers besides `far`; each has a profile of its own name. */
  readonly providers?: readonly Provider[];
  readonly adapters?: Readonly<Record<string, ProviderAdapter>>;
  readonly clientOf?: (agent: RemoteAgent) => Promise<A2AClient>;
}

/** A fresh installation on tables that are emptied first. The agent is called for real, at its interface's URL. */
export async function startDelegation(rig: StoreRig, parts: DelegationParts = {}): Promise<Delegation> {
  await emptyTables(rig);
  const agent = { ...farAgent, ...parts.agent };
  const own = { ahead: 0 };
  const clock = { ...systemClock, now: () => systemClock.now() + own.ahead };
  const adapters = { far: createRemoteAdapter('far'), ...parts.adapters };
  const gateway = createGateway({ store: rig.store, clock, adapters });
  const far: Provider = { id: 'far', kind: 'remote', agent: 'far', timeoutSeconds: 10 };
  const providers = [far, ...(parts.providers ?? [])];
  await register(rig.store, {
    clients: [{ id: 'alice' }],
    profiles: providers.map(({ id }) => ({ ...echoProfile, id, providers: [id] })),
    providers,
    settings: { defaultProfile: 'far' },
  });
  for (const one of [agent, ...(parts.near ? [{ ...farAgent, ...parts.near, id: 'near' }] : [])]) {
    const item = { ...keys.agent(one.id), v: 1, edition: 1, data: one as unknown as Value };
    await rig.store.write({ kind: 'put', table: 'registry', item });
  }
  const services: ReconcilerServices = {
    ...gateway.services,
    publicUrl: 'https://gateway.example',
    clientOf:
      parts.clientOf ??
      createClientOf({
        guard: loopbackGuard,
        secrets: { open: async () => CREDENTIAL },
        clock,
        random: { fraction: () => 0 },
      }),
  };
  const callback = createCallback(VARIABLES, {
    store: rig.store,
    clock,
    log: gateway.log,
    metrics: gateway.metrics,
    inboxQueue: gateway.inboxQueue,
  });
  const delegation: Delegation = {
    gateway,
    services,
    get ahead() {
      return own.ahead;
    },
    set ahead(ms) {
      own.ahead = ms;
    },
    async hand(words = 'words of Alice', profile = 'far') {
      const { result } = await gateway.call('alice', 'SendMessage', {
        message: message(words),
        tenant: profile,
        configuration: { returnImmediately: true },
      });
      await gateway.runAll();
      return String(result.task.id);
    },
    look: (task, dependency = FIRST) => advance(services, { task, dependency }),
    async dependency(task, id = FIRST) {
      const found = await rig.store.get('delegation', keys.dependency(task, id), { consistent: true });
      if (!found) throw new Error('no such dependency');
      return found;
    },
    async registration(task, id) {
      const { registration } = await delegation.dependency(task, id);
      return typeof registration === 'string'
        ? rig.store.get('delegation', keys.registration(registration), { consistent: true })
        : undefined;
    },
    async shown(task, id = FIRST) {
      return (await showDependency(services, task, id)) as Record<string, unknown> | undefined;
    },
    async openRegistrations() {
      const item = await rig.store.get('delegation', keys.openRegistrations(), { consistent: true });
      return Number(item?.['open'] ?? 0);
    },
    get: (task) => getTask(gateway, task),
    async callBack(registration, headers, body = '{}') {
      const isText = typeof body === 'string';
      const event = {
        pathParameters: { registration },
        headers,
        body: isText ? body : Buffer.from(body).toString('base64'),
        isBase64Encoded: !isText,
      };
      const { statusCode, headers: answered } = await callback(event, {} as never);
      return { status: statusCode, headers: answered };
    },
  };
  return delegation;
}

export const FIRST = '0001.0000';

/**
 * Every item of every table, in an order of its own: two dumps are equal if nothing was written between them. Bytes are
 * shown as text, so that words in them are found.
 */
export async function dumpTables({ store }: StoreRig): Promise<Readonly<Record<TableName, readonly Item[]>>> {
  const dump: Partial<Record<TableName, Item[]>> = {};
  for (const table of names) {
    const items: StoredItem[] = [];
    for await (const item of scan(store, table)) items.push(item);
    items.sort((a, b) => (`${a.pk} ${a.sk}` < `${b.pk} ${b.sk}` ? -1 : 1));
    dump[table] = items.map((item) => readable(item) as Item);
  }
  return dump as Record<TableName, Item[]>;
}

function readable(value: Value | undefined): Value {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== 'object' || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, readable(member)]));
}

export async function openDependencies(services: ReconcilerServices, task: string) {
  return listDependencies(services, task, { open: true });
}

/** Ids of dependencies that were woken, in order; the queue is empty then. */
export function woken(gateway: Gateway): InboxMessage[] {
  return gateway.inboxQueue.messages.splice(0);
}

async function getTask(gateway: Gateway, id: string) {
  return (await gateway.call('alice', 'GetTask', { id })).result;
}

async function emptyTables(rig: StoreRig): Promise<void> {
  for (const table of names) {
    for await (const { pk, sk } of scan(rig.store, table))
      await rig.store.write({ kind: 'delete', table, key: { pk, sk } });
  }
}

async function* scan(store: StoreRig['store'], table: TableName): AsyncGenerator<StoredItem> {
  let after: Readonly<Record<string, string>> | undefined;
  do {
    const page = await store.scan(table, after);
    yield* page.items;
    after = page.next;
  } while (after);
}

/** Names of tables are not used: the store is handed in. */
export const VARIABLES = {
  SEALPOST_STATE_TABLE: 'state',
  SEALPOST_VIEW_TABLE: 'view',
  SEALPOST_DELEGATION_TABLE: 'delegation',
  SEALPOST_REGISTRY_TABLE: 'registry',
};
