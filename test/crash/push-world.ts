import { createHash } from 'node:crypto';
import { type AttributeValue, type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { createHandler as createDeadLetter } from '../../functions/outbox-dead-letter/app.ts';
import { createHandler as createProjectionRetry } from '../../functions/projection-retry/app.ts';
import { createHandler as createProjector } from '../../functions/projector/app.ts';
import { createHandler as createSweeper } from '../../functions/sweeper/app.ts';
import { createTables, startEngine } from '../../infra/local/engine.ts';
import { createCardPublisher } from '../../shared/cards/index.ts';
import { createGuard, type Outcome } from '../../shared/guard/index.ts';
import { deliver } from '../../shared/push/deliver.ts';
import { outboxMessageOf } from '../../shared/push/message.ts';
import { resumeConfig } from '../../shared/push/operate.ts';
import { auditEntry } from '../../shared/registry/index.ts';
import { handleRpc } from '../../shared/rpc/index.ts';
import { rebuildTask } from '../../shared/runs/operate.ts';
import { composeTasks, type Seams } from '../../shared/runtime/compose.ts';
import type { KeyService } from '../../shared/runtime/ports.ts';
import { type BatchAnswer, each, type QueueEvent } from '../../shared/runtime/queue-event.ts';
import { createDynamoClient } from '../../shared/storage/client-dynamodb.ts';
import type { Store, StoredItem, TableName } from '../../shared/storage/index.ts';
import { createDynamoStore } from '../../shared/storage/store-dynamodb.ts';
import { recordingLog, recordingMetrics } from '../../shared/telemetry/index.ts';
import { createGateway, echoProfile, type Gateway, memoryKeyService, register } from '../server/rig.ts';
import { type Call, Calls, GO, type Plan } from './harness/calls.ts';
import { VirtualClock } from './harness/clock.ts';
import { type Deliveries, prompt } from './harness/deliveries.ts';
import { Died, Instance } from './harness/instance.ts';
import { isRevision, writesOf } from './harness/ledger.ts';
import { Looking } from './harness/looking.ts';
import { VirtualQueue } from './harness/queue.ts';
import { seeded, seededRandom } from './harness/seeded.ts';
import { VirtualStream } from './harness/stream.ts';
import { Unfolding } from './harness/unfolding.ts';
import { wired } from './harness/wire.ts';

/** What happened to a config, in the order in which it took effect. */
export type PushEffect =
  /** An attempt began: the write that counts it. */
  | { readonly kind: 'begun'; readonly config: string; readonly event: string }
  /** A request arrived. */
  | { readonly kind: 'posted'; readonly url: string; readonly event: string; readonly accepted: boolean }
  | { readonly kind: 'deleted'; readonly config: string }
  /** The client was told that its delete is done. */
  | { readonly kind: 'acknowledged'; readonly name: string };

/** What a receiver answers to the `n`-th request of an event to a URL, from 1. */
export type Receiver = (url: string, event: string, n: number) => Outcome;

export interface PushWorldOptions {
  readonly plan?: Plan;
  readonly seed?: number;
  readonly receiver?: Receiver;
  readonly outbox?: Deliveries;
  readonly stream?: Deliveries;
  /** Transactions become visible item by item, this many ms at most between two. */
  readonly unfoldingMs?: number;
}

const FUNCTIONS = [
  'rpc',
  'admin',
  'projector',
  'projection-retry',
  'sweeper',
  'delivery',
  'outbox-dead-letter',
] as const;
type Name = (typeof FUNCTIONS)[number];

interface Place {
  readonly instance: Instance;
  // biome-ignore lint/suspicious/noExplicitAny: each function has an event and an answer of its own.
  readonly handler: (event: any) => Promise<unknown>;
  busy: boolean;
}

const MINUTE = 60_000;
/** Times 10 ms in which nothing but a scenario's own look may be under way. */
const MOST_LOOKS = 500;
const MOST_CALLS = 6_000;
/** What is due later than this is the purge of the task, which is not looked at here. */
const HORIZON_MS = 3 * 24 * 60 * MINUTE;
/** As in the stack: six times the function's time. */
const VISIBILITY_MS = 12 * MINUTE;
const TIMEOUT_MS = 120_000;
const environment = {
  SEALPOST_STATE_TABLE: 'state',
  SEALPOST_VIEW_TABLE: 'view',
  SEALPOST_OUTBOX_TABLE: 'outbox',
  SEALPOST_DELEGATION_TABLE: 'delegation',
  SEALPOST_REGISTRY_TABLE: 'registry',
  AWS_REGION: 'us-east-1',
};
export const answered = (status: number): Outcome => ({ kind: 'response', status, headers: {} });

export interface PushBench extends AsyncDisposable {
  world(options?: PushWorldOptions): Promise<PushWorld>;
}

/** An engine for the worlds of one test file. */
export async function startPushBench(): Promise<PushBench> {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'local';
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'local';
  const engine = await startEngine();
  const client = createDynamoClient({ AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint });
  let serial = 0;
  return {
    async world(options) {
      const tables = await createTables(engine.endpoint, `p${++serial}-`);
      return new PushWorld(client, tables, options).furnish();
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      await engine.stop();
    },
  };
}

/**
 * The push half of the server role on the harness: rpc, projector, sweeper and delivery in instances that can die or
 * freeze, their queues, the stream, and a receiver. No executor: tasks end by being canceled, which makes revisions with
 * fewer calls.
 */
export class PushWorld {
  readonly clock = new VirtualClock();
  readonly effects: PushEffect[] = [];
  readonly log = recordingLog();
  readonly calls: Calls;
  /** Straight to the engine: no call of any instance. */
  readonly store: Store;
  readonly #looking: Looking;
  readonly gateway: Gateway;
  readonly #options: PushWorldOptions;
  readonly #client: DynamoDBClient;
  readonly #tables: Readonly<Record<TableName, string>>;
  readonly #keyService = memoryKeyService();
  readonly #metrics = recordingMetrics();
  readonly #places = new Map<Name, Place[]>();
  readonly #outbox: VirtualQueue;
  readonly #projections: VirtualQueue;
  readonly #stream: VirtualStream;
  readonly #unfolding: Unfolding | undefined;
  readonly #seed: number;
  readonly #tokens = new Set<string>();
  #launched = 0;
  #changed = true;
  #due: number | undefined;

  constructor(
    client: DynamoDBClient,
    tables: Readonly<Record<TableName, string>>,
    options: PushWorldOptions = {},
  ) {
    this.#client = client;
    this.#tables = tables;
    this.#options = options;
    this.#seed = (options.seed ?? 1) * 1_000;
    const { clock } = this;
    const rng = seeded(this.#seed + 1);
    const store = createDynamoStore({ client, tables, clock, random: seededRandom(this.#seed + 2) });
    this.#looking = new Looking(store);
    this.store = this.#looking.store;
    this.gateway = createGateway({ store: this.store, clock, keyService: this.#keyService });
    this.calls = new Calls({
      plan: options.plan ?? (() => GO),
      medium: (call, effect) => this.#carry(call, effect),
      pick: () => 0,
      killHost: () => {
        for (const { instance } of this.#all()) instance.die();
      },
    });
    if (options.unfoldingMs !== undefined) {
      const longestMs = options.unfoldingMs;
      this.#unfolding = new Unfolding({ client, nameOf: (table) => tables[table], clock, rng, longestMs });
    }
    const consumeBy = (name: Name) => async (message: { readonly id: string; readonly body: string }) => {
      const record = { messageId: message.id, receiptHandle: message.id, body: message.body };
      const answer = await this.invoke<BatchAnswer>(name, { Records: [record] } satisfies QueueEvent);
      return answer.batchItemFailures.length === 0;
    };
    const queue = { clock, visibilityMs: VISIBILITY_MS };
    const deadLetters = new VirtualQueue({
      ...{ ...queue, name: 'outbox-dead', deliveries: prompt, receives: 100 },
      consume: consumeBy('outbox-dead-letter'),
    });
    this.#outbox = new VirtualQueue({
      ...{ ...queue, name: 'outbox', deliveries: options.outbox ?? prompt, receives: 5, deadLetters },
      consume: consumeBy('delivery'),
    });
    this.#projections = new VirtualQueue({
      ...{ ...queue, name: 'projections', deliveries: prompt, receives: 10 },
      consume: consumeBy('projection-retry'),
    });
    this.#stream = new VirtualStream({
      clock,
      deliveries: options.stream ?? prompt,
      consume: async (event) =>
        (await this.invoke<BatchAnswer>('projector', event)).batchItemFailures.length === 0,
    });
  }

  async furnish(): Promise<this> {
    await register(this.store, {
      clients: [{ id: 'alice' }],
      profiles: [echoProfile],
      providers: [{ id: 'echo', kind: 'echo', timeoutSeconds: 60 }],
    });
    return this;
  }

  /** One invocation; rejects with `Died` when its instance dies of it. */
  invoke<Answer>(name: Name, event: unknown): Promise<Answer> {
    const idle = this.#places
      .get(name)
      ?.find(({ busy, instance }) => !busy && instance.alive && !instance.frozen);
    const place = idle ?? this.#launch(name);
    place.busy = true;
    return new Promise((resolve, reject) => {
      place.instance.onDeath(() => reject(new Died(place.instance.name)));
      place
        .handler(event)
        .finally(() => {
          place.busy = false;
        })
        .then((answer) => resolve(answer as Answer), reject);
    });
  }

  /** A call of the client, repeated until it is answered. */
  // biome-ignore lint/suspicious/noExplicitAny: the wire is untyped on purpose.
  async call(method: string, params: object): Promise<{ result?: any; error?: { code: number } }> {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    for (let tries = 0; tries < 60; tries++) {
      const text = await this.invoke<string>('rpc', body).catch(died);
      const answer = text === undefined ? undefined : JSON.parse(text);
      const code = answer?.error?.code;
      if (answer && code !== -32603 && code !== -32093) {
        if (method.startsWith('Delete'))
          this.effects.push({ kind: 'acknowledged', name: (params as { id: string }).id });
        return answer;
      }
      await this.clock.sleep(500);
    }
    throw new Error(`${method} was never answered`);
  }

  /** What an operator does, repeated until it is done. */
  async administer(deed: { readonly resume: string } | { readonly rebuild: string }): Promise<void> {
    for (let tries = 0; tries < 60; tries++) {
      const done = await this.invoke<'done' | undefined>('admin', deed).catch(died);
      if (done) return;
      await this.clock.sleep(500);
    }
    throw new Error('an operator was never served');
  }

  /** Lets everything go on until nothing is under way and nothing is due; frozen instances go on after that. */
  async run(clients: Promise<unknown>): Promise<void> {
    let left: 'waiting' | 'done' | { readonly error: unknown } = 'waiting';
    clients.then(
      () => (left = 'done'),
      (error: unknown) => (left = { error }),
    );
    let looks = 0;
    for (;;) {
      for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (typeof left === 'object') throw (left as { readonly error: unknown }).error;
      if (this.calls.made > MOST_CALLS) throw new Error('it goes on and on');
      if (await this.calls.step()) continue;
      if (await this.#looking.rest()) continue;
      if (await this.#passTime()) continue;
      const frozen = this.#all().find(({ instance }) => instance.frozen);
      if (frozen) {
        frozen.instance.thaw();
        continue;
      }
      if ((left as string) !== 'waiting') break;
      // A scenario that looks into the tables by itself takes real time, which no call of an instance shows.
      if (++looks > MOST_LOOKS) throw new Error('somebody waits for ever');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async all(table: TableName): Promise<StoredItem[]> {
    const items: StoredItem[] = [];
    let after: Readonly<Record<string, string>> | undefined;
    do {
      const page = await this.store.scan(table, after);
      items.push(...page.items);
      after = page.next;
    } while (after);
    return items;
  }

  async #passTime(): Promise<boolean> {
    const { clock } = this;
    const minute = Math.ceil((clock.now() + 1) / MINUTE) * MINUTE;
    const next = clock.nextAt();
    if (next !== undefined && next < minute) return clock.advance();
    if (this.#changed) this.#due = await this.#earliestDue();
    this.#changed = false;
    const sweep =
      this.#due === undefined ? undefined : Math.max(minute, Math.ceil(this.#due / MINUTE) * MINUTE);
    if (sweep === undefined || (next !== undefined && next < sweep)) return clock.advance();
    clock.moveTo(sweep);
    void this.invoke('sweeper', {}).catch(() => {});
    return true;
  }

  async #earliestDue(): Promise<number | undefined> {
    const times: number[] = [];
    for (const table of ['state', 'outbox'] as const) {
      const input = { TableName: this.#tables[table], IndexName: 'due' };
      const { Items = [] } = await this.#client.send(new ScanCommand(input));
      times.push(...Items.map((item) => Number(item['da']?.S)));
    }
    const soon = times.filter((at) => at < this.clock.now() + HORIZON_MS);
    return soon.length === 0 ? undefined : Math.min(...soon);
  }

  async #carry(
    call: Call,
    effect: () => Promise<unknown>,
  ): Promise<{ value: unknown; seen?: Promise<void> }> {
    const command = /^dynamodb (.*)$/.exec(call.name)?.[1];
    if (command === undefined) return { value: await effect() };
    const writes = writesOf(command, call.input, (name) => this.#tableOf(name));
    const token = (call.input as { ClientRequestToken?: string }).ClientRequestToken;
    this.#unfolding?.refuse(command, writes);
    const before = token === undefined ? undefined : await this.#unfolding?.imagesOf(writes);
    const value = await effect();
    if (writes.length > 0 && !(token !== undefined && this.#tokens.has(token))) {
      if (token !== undefined) this.#tokens.add(token);
      this.#changed = true;
      for (const { kind, table, key } of writes) {
        if (kind === 'put' && table === 'state' && isRevision(key)) this.#stream.publish(key);
        if (kind === 'delete' && table === 'outbox' && key.sk.startsWith('C#'))
          this.effects.push({ kind: 'deleted', config: key.sk.slice(2) });
      }
      const { output } = value as { output: { Attributes?: Record<string, AttributeValue> } };
      const after = output.Attributes;
      if (after?.['lease'] && writes[0]?.key.sk.startsWith('C#'))
        this.effects.push({
          kind: 'begun',
          config: writes[0].key.sk.slice(2),
          event: `${after['rev']?.N}.${after['index']?.N}`,
        });
      if (before && this.#unfolding) return { value, seen: this.#unfolding.unfold(before) };
    }
    return { value: this.#unfolding ? this.#unfolding.shown(command, call.input, value) : value };
  }

  #launch(name: Name): Place {
    const serial = ++this.#launched;
    const instance = new Instance(`${name}-${serial}`, this.clock, seededRandom(this.#seed + 10 + serial));
    const place: Place = { instance, handler: this.#handlerOf(name, instance), busy: false };
    this.#places.set(name, [...(this.#places.get(name) ?? []), place]);
    return place;
  }

  #handlerOf(name: Name, instance: Instance): Place['handler'] {
    const seams = this.#seamsOf(instance);
    const inTime = (handler: (event: never, context: never) => Promise<unknown>) => (event: unknown) => {
      const end = instance.clock.now() + TIMEOUT_MS;
      const context = {
        functionName: instance.name,
        awsRequestId: instance.random.uuid(),
        getRemainingTimeInMillis: () => end - instance.clock.now(),
      };
      return handler(event as never, context as never);
    };
    switch (name) {
      case 'rpc':
        return this.#rpc(instance, seams);
      case 'admin':
        return this.#admin(seams);
      case 'delivery':
        return this.#delivery(instance, seams);
      case 'projector':
        return inTime(createProjector(environment, seams));
      case 'projection-retry':
        return inTime(createProjectionRetry(environment, seams));
      case 'sweeper':
        return inTime(createSweeper(environment, seams));
      case 'outbox-dead-letter':
        return inTime(createDeadLetter(environment, seams));
    }
  }

  #rpc(instance: Instance, seams: Required<Pick<Seams, 'runQueue'>> & Seams): Place['handler'] {
    const services = {
      ...composeTasks(environment, 'rpc', seams),
      runQueue: seams.runQueue,
      cards: createCardPublisher(),
    };
    return async (body: Uint8Array) => {
      const request = {
        headers: {
          authorization: `Bearer ${this.gateway.token('alice')}`,
          'content-type': 'application/json',
          'a2a-version': '1.0',
        },
        query: {},
        body,
        baseUrl: 'https://gateway.example',
      };
      const answer = await handleRpc(services, request, instance.clock.now() + TIMEOUT_MS);
      return answer.body;
    };
  }

  #admin(seams: Seams & Required<Pick<Seams, 'outboxQueue'>>): Place['handler'] {
    const services = { ...composeTasks(environment, 'admin', seams), outboxQueue: seams.outboxQueue };
    return async (deed: { resume?: string; rebuild?: string }) => {
      if (deed.rebuild) {
        await rebuildTask(services, deed.rebuild);
        return 'done';
      }
      const [task, config] = deed.resume!.split('/') as [string, string];
      const audit = auditEntry(
        services,
        { actor: 'ada', operation: 'push.resume' },
        { kind: 'push', id: config },
      );
      await resumeConfig(services, task, config, audit);
      return 'done';
    };
  }

  /** As `functions/delivery/app.ts` has it, with a guard that is a call in the line. */
  #delivery(instance: Instance, seams: Seams & Required<Pick<Seams, 'outboxQueue'>>): Place['handler'] {
    const tasks = composeTasks(environment, 'delivery', seams);
    const guard = createGuard({ ownHosts: [] });
    const services = {
      ...tasks,
      outboxQueue: seams.outboxQueue,
      guard: {
        ...guard,
        request: ({ url, headers, body, deadlineMs }: Parameters<typeof guard.request>[0]) => {
          const end = instance.clock.now() + deadlineMs;
          // Like the guard's own, its time runs on while its instance stands still.
          return this.calls.make(instance, 'webhook POST', { url }, async () =>
            instance.clock.now() < end
              ? this.#post(url, headers, String(body))
              : ({ kind: 'timeout', phase: 'connect' } as const),
          );
        },
      },
      policyOf: async () => ({ purpose: 'webhook' }) as const,
    };
    return (event: QueueEvent) => {
      const until = instance.clock.now() + TIMEOUT_MS - 5_000;
      return each(
        event,
        outboxMessageOf,
        async (message) => {
          await deliver(services, message, until);
          return 'done';
        },
        () => {},
      );
    };
  }

  #post(url: string, headers: Readonly<Record<string, string>>, body: string): Outcome {
    const { status } = JSON.parse(body).statusUpdate;
    const event = `${status.state.replace('TASK_STATE_', '')}`;
    const n = this.effects.filter(
      (one) => one.kind === 'posted' && one.url === url && one.event === event,
    ).length;
    const outcome = this.#options.receiver?.(url, event, n + 1) ?? answered(200);
    const accepted = outcome.kind === 'response' && outcome.status < 300;
    this.effects.push({ kind: 'posted', url, event, accepted });
    if (!headers['webhook-id']) throw new Error('an event without its id');
    return outcome;
  }

  #all(): Place[] {
    return [...this.#places.values()].flat().filter(({ instance }) => instance.alive);
  }

  #seamsOf(instance: Instance) {
    const { calls } = this;
    const { random } = instance;
    const client = wired(this.#client, calls, instance, (token) =>
      createHash('sha256').update(`${this.#tables.state} ${token}`).digest('base64url').slice(0, 36),
    );
    const queue = (name: string, target: VirtualQueue) => ({
      send: (message: object, delaySeconds = 0) =>
        calls.make(instance, `sqs SendMessage ${name}`, message, async () =>
          target.send(JSON.stringify(message), delaySeconds),
        ),
    });
    const keyService: KeyService = {
      generate: (context) =>
        calls.make(instance, 'kms GenerateDataKey', context, () => this.#keyService.generate(context)),
      unwrap: (wrapped, context) =>
        calls.make(instance, 'kms Decrypt', context, () => this.#keyService.unwrap(wrapped, context)),
    };
    return {
      ...{ log: this.log, metrics: this.#metrics, random, keyService, clock: instance.clock },
      store: createDynamoStore({ client, tables: this.#tables, clock: instance.clock, random }),
      // Nobody executes: what is sent there is as good as lost.
      runQueue: { send: async () => {} },
      inboxQueue: { send: async () => {} },
      outboxQueue: queue('outbox', this.#outbox),
      projectionQueue: queue('projections', this.#projections),
    } satisfies Seams;
  }

  #tableOf(name: string): TableName {
    const found = Object.entries(this.#tables).find(([, own]) => own === name);
    if (!found) throw new Error(`no table is named ${name}`);
    return found[0] as TableName;
  }
}

function died(error: unknown): undefined {
  if (!(error instanceof Died)) throw error;
}
