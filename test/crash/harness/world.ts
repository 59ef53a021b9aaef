import { createHash } from 'node:crypto';
import { type DynamoDBClient, type QueryCommandInput, ScanCommand } from '@aws-sdk/client-dynamodb';
import { isTerminal } from '../../../shared/protocol/index.ts';
import { createPatternRedactor } from '../../../shared/redaction/index.ts';
import type { AnswerLevel, Profile, Provider, Settings } from '../../../shared/registry/index.ts';
import type { KeyService } from '../../../shared/runtime/ports.ts';
import type { BatchAnswer, QueueEvent } from '../../../shared/runtime/queue-event.ts';
import { keys, type Store, type TableName } from '../../../shared/storage/index.ts';
import { createDynamoStore } from '../../../shared/storage/store-dynamodb.ts';
import { recordingLog, recordingMetrics } from '../../../shared/telemetry/index.ts';
import { createGateway, echoProfile, type Gateway, memoryKeyService, register } from '../../server/rig.ts';
import { type Call, Calls, GO, type Plan } from './calls.ts';
import { VirtualClock } from './clock.ts';
import { type Deliveries, prompt } from './deliveries.ts';
import { type FunctionName, functions, type InstanceParts } from './functions.ts';
import { providerKindOf, registerAgents } from './furniture.ts';
import { Died, Instance } from './instance.ts';
import { isRevision, Ledger, writesOf } from './ledger.ts';
import { Looking } from './looking.ts';
import { providerIn, type Script } from './provider.ts';
import { VirtualQueue } from './queue.ts';
import { type AgentScript, RemoteAgents } from './remote-agents.ts';
import { seeded, seededRandom } from './seeded.ts';
import { VirtualStream } from './stream.ts';
import { Unfolding } from './unfolding.ts';
import { wired } from './wire.ts';

export interface WorldOptions {
  /** What happens to each call; default: it goes through. */
  readonly plan?: Plan;
  /** Everything random in a run comes from here; default 1. */
  readonly seed?: number;
  /** Calls that wait at the same time are made in random order instead of that in which they came. */
  readonly shuffled?: boolean;
  readonly runQueue?: Deliveries;
  readonly stream?: Deliveries;
  readonly inbox?: Deliveries;
  /** From a commit to its stream record, ms; as on the platform unless said otherwise. */
  readonly streamLatencyMs?: number;
  /** Transactions become visible item by item, the last one after this many ms at most. */
  readonly unfoldingMs?: number;
  /** Of the run queue: as in the stack unless said otherwise. */
  readonly visibilityMs?: number;
  readonly receives?: number;
  readonly profile?: Partial<Profile>;
  readonly settings?: Partial<Settings>;
  /** Provider by provider, in the order of the chain. */
  readonly providers?: Readonly<Record<string, Script>>;
  /** Answer levels of their own, by provider. */
  readonly levels?: Readonly<Record<string, AnswerLevel>>;
  /** Remote agents. All providers are granted them; without any, one hands each task on to the first of them. */
  readonly agents?: Readonly<Record<string, AgentScript>>;
}

export interface Ground {
  readonly client: DynamoDBClient;
  readonly tables: Readonly<Record<TableName, string>>;
}

/** Thrown when a run goes on and on, or stops while somebody still waits. */
export class NotAtRest extends Error {}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const MOST_CALLS = 6_000;
/** Times 10 ms in which nothing but a scenario's own look may be under way. */
const MOST_LOOKS = 300;
/** Stateless. */
const redactor = createPatternRedactor();
/** Six times the executor's 15 minutes; dead letters and projections six times 60 s. */
const RUN_VISIBILITY_MS = 90 * MINUTE;
/** Six times the reconciler's five. */
const INBOX_VISIBILITY_MS = 30 * MINUTE;
const SMALL_VISIBILITY_MS = 6 * MINUTE;

interface Place {
  readonly instance: Instance;
  readonly handler: (event: never) => Promise<unknown>;
  busy: boolean;
}

/**
 * The server role with everything around it, on one engine and a virtual clock: functions in instances that can die or
 * freeze, queues with redelivery and dead letters, the stream, the schedule. `run` lets it go on until nothing is due
 * any more.
 */
export class World {
  readonly clock = new VirtualClock();
  readonly ledger = new Ledger();
  readonly log = recordingLog();
  readonly metrics = recordingMetrics();
  readonly calls: Calls;
  /** Straight to the engine: the world's own eyes, no call of any instance. */
  readonly store: Store;
  readonly #looking: Looking;
  readonly ground: Ground;
  /** A gateway that sees what is stored, on the world's clock; to be asked when all is at rest. */
  readonly gateway: Gateway;
  readonly options: WorldOptions;
  readonly agents: RemoteAgents;
  readonly #keyService = memoryKeyService();
  readonly #places = new Map<FunctionName, Place[]>();
  readonly #unfolding: Unfolding | undefined;
  readonly #runQueue: VirtualQueue;
  readonly #projectionQueue: VirtualQueue;
  readonly #outboxQueue: VirtualQueue;
  readonly #inboxQueue: VirtualQueue;
  readonly #stream: VirtualStream;
  readonly #seed: number;
  #launched = 0;
  /** The minute of the last sweep. */
  #swept = 0;
  #due: { earliest: number | undefined } | undefined;

  constructor(ground: Ground, options: WorldOptions = {}) {
    this.ground = ground;
    this.options = options;
    this.#seed = (options.seed ?? 1) * 1_000;
    const { clock } = this;
    const rng = seeded(this.#seed + 1);
    // Where all is at rest, waiting changes nothing.
    const resting = { now: () => clock.now(), sleep: async () => {} };
    this.#looking = new Looking(
      createDynamoStore({ ...ground, clock: resting, random: seededRandom(this.#seed + 2) }),
    );
    this.store = this.#looking.store;
    this.gateway = createGateway({ store: this.store, clock: resting, keyService: this.#keyService });
    this.calls = new Calls({
      plan: options.plan ?? (() => GO),
      medium: (call, effect) => this.#carry(call, effect),
      pick: (n) => (options.shuffled ? Math.floor(rng() * n) : 0),
      killHost: () => this.killHost(),
    });
    if (options.unfoldingMs !== undefined) {
      const nameOf = (table: TableName) => ground.tables[table];
      const { client } = ground;
      this.#unfolding = new Unfolding({ client, nameOf, clock, rng, longestMs: options.unfoldingMs });
    }
    const deliveries = options.runQueue ?? prompt;
    const deadLetters = new VirtualQueue({
      ...{ name: 'runs-dead', clock, deliveries: prompt, visibilityMs: SMALL_VISIBILITY_MS },
      receives: 100,
      consume: (message) => this.#consume('dead-letter', message),
    });
    this.#runQueue = new VirtualQueue({
      ...{ name: 'runs', clock, deliveries, deadLetters },
      visibilityMs: options.visibilityMs ?? RUN_VISIBILITY_MS,
      receives: options.receives ?? 5,
      consume: (message) => this.#consume('executor', message),
    });
    this.#projectionQueue = new VirtualQueue({
      ...{ name: 'projections', clock, deliveries: prompt, visibilityMs: SMALL_VISIBILITY_MS },
      receives: 10,
      consume: (message) => this.#consume('projection-retry', message),
    });
    this.#outboxQueue = new VirtualQueue({
      ...{ name: 'outbox', clock, deliveries: prompt, visibilityMs: SMALL_VISIBILITY_MS },
      receives: 10,
      consume: (message) => this.#consume('delivery', message),
    });
    this.#inboxQueue = new VirtualQueue({
      ...{ name: 'inbox', clock, deliveries: options.inbox ?? prompt, visibilityMs: INBOX_VISIBILITY_MS },
      receives: 5,
      consume: (message) => this.#consume('reconciler', message),
    });
    this.agents = new RemoteAgents({
      scripts: options.agents ?? {},
      clock,
      place: () => this.ledger.effects.length,
      callBack: (event) => this.invoke('callback', event),
    });
    this.#stream = new VirtualStream({
      clock,
      deliveries: options.stream ?? prompt,
      ...(options.streamLatencyMs === undefined ? {} : { latencyMs: options.streamLatencyMs }),
      consume: async (event) =>
        (await this.invoke<BatchAnswer>('projector', event)).batchItemFailures.length === 0,
    });
  }

  /** Registers the client `alice`, the profile `echo` and the providers of the options. */
  async furnish(): Promise<this> {
    const { agents = {} } = this.options;
    const ids = Object.keys(this.options.providers ?? {});
    const providers = ids.length > 0 ? ids : ['echo'];
    const kind = providerKindOf(Object.keys(agents), ids.length > 0);
    await registerAgents(this.gateway.services, agents);
    await register(this.store, {
      clients: [{ id: 'alice' }],
      profiles: [{ ...echoProfile, blockingSeconds: 5, providers, ...this.options.profile }],
      providers: providers.map((id): Provider => {
        const answerLevel = this.options.levels?.[id];
        return { id, ...kind, timeoutSeconds: 600, ...(answerLevel ? { answerLevel } : {}) };
      }),
      settings: this.options.settings ?? {},
    });
    return this;
  }

  /** One invocation; rejects with `Died` when its instance dies of it. */
  invoke<Answer>(name: FunctionName, event: unknown): Promise<Answer> {
    const place = this.#idle(name) ?? this.#launch(name);
    place.busy = true;
    return new Promise((resolve, reject) => {
      place.instance.onDeath(() => reject(new Died(place.instance.name)));
      place
        .handler(event as never)
        .finally(() => {
          place.busy = false;
        })
        .then((answer) => resolve(answer as Answer), reject);
    });
  }

  killHost(): void {
    for (const { instance } of this.#all()) instance.die();
  }

  /**
   * Lets everything go on until nothing is under way, no timer is left and nothing is due; frozen instances go on after
   * that. Throws what `clients` rejects with, and `NotAtRest` if that does not come to an end.
   */
  async run(clients: Promise<unknown>): Promise<void> {
    let left: 'waiting' | 'done' | { readonly error: unknown } = 'waiting';
    clients.then(
      () => (left = 'done'),
      (error: unknown) => (left = { error }),
    );
    const failure = () => (typeof left === 'object' ? left.error : undefined);
    const latest = this.clock.now() + 20 * DAY;
    let looks = 0;
    for (;;) {
      await settled();
      if (failure() !== undefined) throw failure();
      if (this.calls.made > MOST_CALLS || this.clock.now() > latest) throw new NotAtRest('it goes on and on');
      if (await this.calls.step()) continue;
      if (await this.#looking.rest()) continue;
      if (await this.#passTime()) continue;
      const frozen = this.#all().find(({ instance }) => instance.frozen);
      if (frozen) {
        frozen.instance.thaw();
        continue;
      }
      if ((left as string) !== 'waiting') return;
      // A scenario that looks into the tables by itself takes real time, which no call of an instance shows.
      if (++looks > MOST_LOOKS) throw new NotAtRest('somebody waits for ever');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Goes to the next timer, or to the next minute at which a sweep finds something due, whichever comes first. */
  async #passTime(): Promise<boolean> {
    const minute = Math.max(ceilMinute(this.clock.now()), this.#swept + MINUTE);
    const next = this.clock.nextAt();
    if (next !== undefined && next < minute) return this.clock.advance();
    this.#due ??= { earliest: await this.#earliestDue() };
    const { earliest } = this.#due;
    const sweep = earliest === undefined ? undefined : Math.max(minute, ceilMinute(earliest));
    if (sweep === undefined || (next !== undefined && next < sweep)) return this.clock.advance();
    this.#swept = sweep;
    this.clock.moveTo(sweep);
    void this.invoke('sweeper', {}).catch(() => {});
    return true;
  }

  /** Of what still has to move: a task that ended rests until its last day, which no run of a world comes to. */
  async #earliestDue(): Promise<number | undefined> {
    const { client, tables } = this.ground;
    const { Items = [] } = await client.send(new ScanCommand({ TableName: tables.state, IndexName: 'due' }));
    if (this.ledger.isWritten('delegation')) {
      const waiting = await client.send(new ScanCommand({ TableName: tables.delegation, IndexName: 'due' }));
      Items.push(...(waiting.Items ?? []));
    }
    const ended = new Set(
      this.ledger.revisions().flatMap(({ revision }) => (isTerminal(revision.state) ? [revision.task] : [])),
    );
    const times = Items.flatMap((item) => {
      const at = Number(item['da']?.S);
      const rests = ended.has(item['pk']?.S?.slice(2) ?? '') && at > this.clock.now() + DAY;
      return rests ? [] : [at];
    });
    return times.length === 0 ? undefined : Math.min(...times);
  }

  async #consume(
    name: 'executor' | 'dead-letter' | 'projection-retry' | 'delivery' | 'reconciler',
    message: { readonly id: string; readonly body: string },
  ): Promise<boolean> {
    const record = { messageId: message.id, receiptHandle: message.id, body: message.body };
    const answer = await this.invoke<BatchAnswer>(name, { Records: [record] } satisfies QueueEvent);
    return answer.batchItemFailures.length === 0;
  }

  /** A call as it takes effect: noted, streamed, and seen by readers as the options have it. */
  async #carry(
    call: Call,
    effect: () => Promise<unknown>,
  ): Promise<{ value: unknown; seen?: Promise<void> }> {
    const command = /^dynamodb (.*)$/.exec(call.name)?.[1];
    if (command === undefined) return { value: await effect() };
    const writes = writesOf(command, call.input, (name) => this.#tableOf(name));
    const token = (call.input as { ClientRequestToken?: string }).ClientRequestToken;
    if (this.#isEmptyIndex(command, call.input))
      return { value: { response: {}, output: { Items: [], Count: 0 } } };
    this.#unfolding?.refuse(command, writes);
    const before = token === undefined ? undefined : await this.#unfolding?.imagesOf(writes);
    const value = await effect();
    if (writes.length > 0 && this.ledger.isFirst(token)) {
      this.#due = undefined;
      this.ledger.note({ kind: 'write', at: this.clock.now(), by: call.instance.name, writes });
      for (const { kind, table, key } of writes)
        if (kind === 'put' && table === 'state' && isRevision(key)) this.#stream.publish(key);
      if (before && this.#unfolding) return { value, seen: this.#unfolding.unfold(before) };
    }
    return { value: this.#unfolding ? this.#unfolding.shown(command, call.input, value) : value };
  }

  /** A sweep asks every shard of every due index; those in which nothing ever stood need not ask the engine. */
  #isEmptyIndex(command: string, input: unknown): boolean {
    const { IndexName, TableName, ExpressionAttributeValues = {} } = input as Partial<QueryCommandInput>;
    if (command !== 'QueryCommand' || IndexName !== 'due') return false;
    const table = this.#tableOf(String(TableName));
    if (table !== 'state' && table !== 'delegation') return !this.ledger.isWritten(table);
    const shards = (
      table === 'state'
        ? this.ledger.revisions().map(({ revision }) => revision.task)
        : this.ledger.puts(table).map(({ item }) => `${item.pk.slice(2)}#${item.sk}`)
    ).map((name) => keys.dueShard(name));
    return !Object.values(ExpressionAttributeValues).some(({ S }) => S !== undefined && shards.includes(S));
  }

  #launch(name: FunctionName): Place {
    const serial = ++this.#launched;
    const random = seededRandom(this.#seed + 10 + serial);
    const instance = new Instance(`${name}-${serial}`, this.clock, random);
    const place: Place = { instance, handler: functions[name](this.#partsOf(instance)), busy: false };
    this.#places.set(name, [...(this.#places.get(name) ?? []), place]);
    return place;
  }

  #idle(name: FunctionName): Place | undefined {
    return this.#places.get(name)?.find(({ busy, instance }) => !busy && instance.alive && !instance.frozen);
  }

  #all(): Place[] {
    return [...this.#places.values()].flat().filter(({ instance }) => instance.alive);
  }

  #partsOf(instance: Instance): InstanceParts {
    const { calls, clock, ground, log, metrics, options } = this;
    const { random } = instance;
    const client = wired(ground.client, calls, instance, (token) =>
      createHash('sha256').update(`${ground.tables.state} ${token}`).digest('base64url').slice(0, 36),
    );
    const queue = (name: string, target: VirtualQueue) => ({
      send: (message: object, delaySeconds = 0) =>
        calls.make(instance, `sqs SendMessage ${name}`, message, async () => {
          const body = JSON.stringify(message);
          this.ledger.note({ kind: 'queued', at: clock.now(), queue: name, body });
          target.send(body, delaySeconds);
        }),
    });
    const keyService: KeyService = {
      generate: (context) =>
        calls.make(instance, 'kms GenerateDataKey', context, () => this.#keyService.generate(context)),
      unwrap: (wrapped, context) =>
        calls.make(instance, 'kms Decrypt', context, () => this.#keyService.unwrap(wrapped, context)),
    };
    return {
      instance,
      seams: {
        ...{ log, metrics, random, keyService, redactor, clock: instance.clock },
        store: createDynamoStore({ client, tables: ground.tables, clock: instance.clock, random }),
        runQueue: queue('runs', this.#runQueue),
        projectionQueue: queue('projections', this.#projectionQueue),
        outboxQueue: queue('outbox', this.#outboxQueue),
        inboxQueue: queue('inbox', this.#inboxQueue),
      },
      adapterFor: (provider) =>
        providerIn({
          instance,
          calls,
          clock,
          ledger: this.ledger,
          provider,
          script: options.providers?.[provider.id],
        }),
      agents: this.agents.guardOf(instance, calls),
      webhook: ({ url, body }) =>
        calls.make(instance, 'webhook POST', { url }, async () => {
          this.ledger.note({ kind: 'webhook', at: clock.now(), body: String(body) });
          return { kind: 'response', status: 204, headers: {}, body: new Uint8Array() };
        }),
      hide: (receipt, seconds) =>
        calls.make(instance, 'sqs ChangeMessageVisibility', { receipt, seconds }, async () =>
          this.#runQueue.hide(receipt, seconds),
        ),
    };
  }

  #tableOf(name: string): TableName {
    const found = Object.entries(this.ground.tables).find(([, own]) => own === name);
    if (!found) throw new Error(`no table is named ${name}`);
    return found[0] as TableName;
  }
}

function ceilMinute(ms: number): number {
  return Math.ceil(ms / MINUTE) * MINUTE;
}

/** Resolves when every promise that could go on has gone on: nothing is under way but what waits for call or timer. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
