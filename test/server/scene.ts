import type { ProviderAdapter, ProviderRequest, ProviderResult } from '../../shared/providers/index.ts';
import type { Profile } from '../../shared/registry/index.ts';
import type { RpcHttpAnswer } from '../../shared/rpc/index.ts';
import type { Clock } from '../../shared/runtime/ports.ts';
import type { StoredItem } from '../../shared/storage/port.ts';
import type { TableName } from '../../shared/storage/tables.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { createGateway, echoProfile, type Gateway, memoryKeyService, memoryQueue, register } from './rig.ts';

/** A gateway on an engine of its own, with clients, profiles and what their providers do. */
export interface Scene extends AsyncDisposable {
  readonly rig: StoreRig;
  readonly gateway: Gateway;
  /** One more instance: same store, keys and queue, memory of its own. */
  instance(changed?: { readonly clock?: Clock; readonly store?: StoreRig['store'] }): Gateway;
  /** Every item of a table. */
  dump(table: TableName): Promise<StoredItem[]>;
}

export interface SceneParts {
  readonly clients?: readonly (
    | string
    | { readonly id: string; readonly profiles?: readonly string[]; readonly disabled?: boolean }
  )[];
  /** By profile id; each has a provider of its own by the same name. `echo` is always there. */
  readonly profiles?: Readonly<Record<string, Partial<Profile>>>;
  readonly adapters?: Readonly<Record<string, ProviderAdapter>>;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly clock?: Clock;
}

export async function startScene(parts: SceneParts = {}): Promise<Scene> {
  const rig = await startStore();
  const names = new Set(['echo', ...Object.keys(parts.profiles ?? {}), ...Object.keys(parts.adapters ?? {})]);
  await register(rig.store, {
    clients: (parts.clients ?? ['alice', 'mallory']).map((one) =>
      typeof one === 'string' ? { id: one } : one,
    ),
    profiles: [...names].map((id) => ({ ...echoProfile, id, providers: [id], ...parts.profiles?.[id] })),
    providers: [...names].map((id) => ({ id, kind: 'echo', timeoutSeconds: 60 })),
    settings: { requestsPerMinute: 1_000_000, pushNotifications: false, ...parts.settings },
  });
  const shared = { keyService: memoryKeyService(), runQueue: memoryQueue() };
  const instance: Scene['instance'] = (changed = {}) =>
    createGateway({
      store: rig.store,
      ...shared,
      ...(parts.clock ? { clock: parts.clock } : {}),
      ...(parts.adapters ? { adapters: parts.adapters } : {}),
      ...changed,
    });
  return {
    rig,
    gateway: instance(),
    instance,
    async dump(table) {
      const items: StoredItem[] = [];
      let after: Readonly<Record<string, string>> | undefined;
      do {
        const page = await rig.store.scan(table, after);
        items.push(...page.items);
        after = page.next;
      } while (after);
      return items;
    },
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

/** A provider that does what the function says. */
export function provider(
  run: (request: ProviderRequest) => Promise<ProviderResult> | ProviderResult,
): ProviderAdapter & { readonly requests: ProviderRequest[] } {
  const requests: ProviderRequest[] = [];
  return {
    requests,
    async run(request) {
      requests.push(request);
      return run(request);
    },
  };
}

export const completed = (...texts: string[]): ProviderResult => ({
  kind: 'completed',
  artifacts: texts.map((text) => ({ parts: [{ text }] })),
});

/** Asks once, and completes with what it was answered. */
export const asking = (kind: 'input-required' | 'auth-required' = 'input-required') =>
  provider(({ message, history }) =>
    history.length === 0
      ? { kind, message: [{ text: 'Which one?' }] }
      : completed(message.parts[0]?.text ?? ''),
  );

/** Works until it is released. */
export function gated(result: ProviderResult = completed('done')) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { ...provider(() => released.then(() => result)), release };
}

/** What a caller sees of one answer. */
export interface Asked {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly id: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: the wire is untyped on purpose, tests look into it.
  readonly result: any;
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  readonly error: any;
}

export async function read(answer: RpcHttpAnswer): Promise<Asked> {
  if (typeof answer.body !== 'string') throw new Error('a stream came where a body was expected');
  const { id, result, error } = JSON.parse(answer.body);
  return { status: answer.status, headers: answer.headers, text: answer.body, id, result, error };
}

export interface StreamEvent {
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the wire is untyped on purpose, tests look into it.
  readonly result: any;
  readonly text: string;
}

/** Reads a stream event by event; comments are counted and passed over. */
export interface EventReader {
  next(): Promise<StreamEvent | undefined>;
  rest(): Promise<StreamEvent[]>;
  /** As a dropped connection does. */
  drop(): Promise<void>;
  readonly comments: number;
}

export function events(answer: RpcHttpAnswer): EventReader {
  if (typeof answer.body === 'string')
    throw new Error(`a body came where a stream was expected: ${answer.body}`);
  const pieces = answer.body[Symbol.asyncIterator]();
  let comments = 0;
  const next = async (): Promise<StreamEvent | undefined> => {
    for (;;) {
      const { done, value } = await pieces.next();
      if (done) return undefined;
      if (!value.endsWith('\n\n')) throw new Error('an event is not followed by a blank line');
      if (value.startsWith(':')) {
        comments++;
        continue;
      }
      return parseEvent(value);
    }
  };
  return {
    next,
    async rest() {
      const all: StreamEvent[] = [];
      for (let event = await next(); event; event = await next()) all.push(event);
      return all;
    },
    async drop() {
      await pieces.return?.();
    },
    get comments() {
      return comments;
    },
  };
}

function parseEvent(text: string): StreamEvent {
  const match = /^id: (\d+\.\d+)\ndata: ([^\n]*)\n\n$/.exec(text);
  if (!match) throw new Error(`not an event of ours: ${text}`);
  return { id: match[1]!, result: JSON.parse(match[2]!).result, text };
}

/** The member of a `StreamResponse` and, of a status update, its state: the shape of a stream at a glance. */
export function outline(all: readonly StreamEvent[]): string[] {
  return all.map(({ result }) => {
    const member = Object.keys(result)[0]!;
    const state = result[member].status?.state?.replace('TASK_STATE_', '');
    return state ? `${member} ${state}` : member;
  });
}

let ids = 0;

/** One call with a method's params. */
export async function ask(
  gateway: Gateway,
  client: string,
  method: string,
  params?: unknown,
  headers?: Readonly<Record<string, string | undefined>>,
): Promise<Asked> {
  const answer = await gateway.post(client, { jsonrpc: '2.0', id: ++ids, method, params }, headers);
  return read(answer);
}

export async function stream(
  gateway: Gateway,
  client: string,
  method: 'SendStreamingMessage' | 'SubscribeToTask',
  params: unknown,
  headers?: Readonly<Record<string, string | undefined>>,
): Promise<EventReader> {
  const answer = await gateway.post(client, { jsonrpc: '2.0', id: ++ids, method, params }, headers);
  return events(answer);
}

/** What an error says: its code, reasons and the first field that it names. */
export function errorOf(asked: Asked) {
  const data: { '@type': string; reason?: string; fieldViolations?: { field: string }[] }[] =
    asked.error?.data ?? [];
  const [first, second] = data.filter((entry) => entry['@type'].endsWith('ErrorInfo'));
  const field = data.find((entry) => entry.fieldViolations)?.fieldViolations?.[0]?.field;
  return {
    code: asked.error?.code as number | undefined,
    reason: first?.reason,
    ...(second ? { own: second.reason } : {}),
    ...(field === undefined ? {} : { field }),
  };
}

/** A clock on which a pause takes no time: for callers that wait, not for runs. */
export function skippingClock(): Clock {
  let skipped = 0;
  return {
    now: () => Date.now() + skipped,
    async sleep(ms) {
      skipped += ms;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
