import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Seams } from '../../shared/runtime/compose.ts';
import { hasFunction, type Roles } from '../../shared/runtime/roles.ts';
import { routes } from '../../shared/runtime/routes.ts';
import { administerBy } from './administer.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { createTables, deleteTables, type Engine, startEngine } from './engine.ts';
import { startFunctionModule } from './function-module.ts';
import {
  type FunctionName,
  functionDefinitions,
  functionNames,
  isRevisionInsert,
  loadFunctions,
} from './functions.ts';
import { type Gateway, type GatewayFunction, startGateway } from './gateway.ts';
import type { Invocable, OnError, Poller } from './invoker.ts';
import { startKms } from './kms.ts';
import { type Handler, startLambda } from './lambda.ts';
import { localCredentials, localRegion } from './local-client.ts';
import { mapQueue } from './queue-mapping.ts';
import { startQueues } from './queues.ts';
import { provideAwsLambda, type StreamHandler } from './response-stream.ts';
import { schedule } from './schedule.ts';
import { seed } from './seed.ts';
import { mapStream } from './stream-mapping.ts';

export interface HostOptions {
  /** Folder that keeps everything; without it all is gone when the host stops. */
  readonly dataDir?: string;
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** Function providers: name → path of a module that exports `handler`. */
  readonly functionModules?: Readonly<Record<string, string>>;
  /** Lets what the gateway calls be on this machine. */
  readonly allowLoopback?: boolean;
  /** Folder of bundles as they are deployed, used instead of the sources; one such host a process. */
  readonly bundles?: string;
  /** Handlers that stand in for functions of the gateway. */
  readonly functions?: Partial<Record<FunctionName, Handler | StreamHandler>>;
  /** Default both. Of a role that is off there is no route, no function and no table that anybody knows of. */
  readonly roles?: Roles;
  /** What the functions get besides their variables. */
  readonly seams?: Seams;
  /** Client, provider and profiles to try the gateway with. Default true. */
  readonly seed?: boolean;
  /** Between two sweeps, ms. Default a minute, as on AWS. */
  readonly sweepMs?: number;
  /** What is in flight has this long to end when the host stops, ms. Default 10,000. */
  readonly graceMs?: number;
  /** Where `AWS_ENDPOINT_URL_DYNAMODB` (another engine), `AWS_REGION` and the like are taken from. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** What a function threw and no caller sees. */
  readonly onError?: OnError;
}

export interface Host {
  readonly url: string;
  readonly cardUrl: string;
  /** Bearer of the client `demo`; empty when nothing was seeded, and without the server role. */
  readonly token: string;
  /** Bearer of the route `/admin`. */
  readonly adminToken: string;
  /** Resolves when the engine ended although nobody stopped it: the host is of no use any more. */
  readonly broken: Promise<void>;
  /** Lets what is in flight end, then leaves no process and no port behind. */
  stop(): Promise<void>;
}

/** The whole gateway on this machine (design §9). Several may run in one process, each on a folder of its own. */
export async function startHost(options: HostOptions = {}): Promise<Host> {
  const undo: (() => Promise<unknown> | unknown)[] = [];
  // One that fails keeps none of the others open.
  const stopAll = async () => {
    const failures: unknown[] = [];
    for (const step of undo.splice(0).reverse()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'The host did not stop cleanly.');
  };
  try {
    return await build(options, undo, stopAll);
  } catch (error) {
    await stopAll().catch(() => {});
    throw error;
  }
}

async function build(
  options: HostOptions,
  undo: (() => Promise<unknown> | unknown)[],
  stopAll: () => Promise<void>,
): Promise<Host> {
  const given = options.variables ?? process.env;
  const roles = options.roles ?? { server: true, client: true };
  const names = functionNames.filter((name) => hasFunction(roles, name));
  provideAwsLambda();
  provideCredentials();
  const folder = openDataFolder(options.dataDir);
  undo.push(folder.release);
  let stopping = false;
  const onError: OnError = (name, error) => {
    if (!stopping) options.onError?.(name, error);
  };

  const modules = await loadModules(options.functionModules ?? {}, undo);
  const dataDir = folder.path === undefined ? {} : { dataDir: folder.path };
  const saved = folder.readHost();
  const shared = given['AWS_ENDPOINT_URL_DYNAMODB'];
  const services = await startServices(dataDir, shared, modules, undo);
  const { engine, queues, kms, lambda } = services;
  const tablePrefix =
    saved?.tablePrefix ?? (shared ? `sealpost-${randomBytes(4).toString('hex')}-` : 'sealpost-');
  const tables = await createTables(engine.endpoint, tablePrefix);
  if (shared && folder.path === undefined) undo.push(() => deleteTables(engine.endpoint, tables));

  const adminToken =
    given['SEALPOST_ADMIN_TOKEN'] ?? saved?.adminToken ?? randomBytes(32).toString('base64url');
  const table = new Map<string, GatewayFunction>();
  const opened = Promise.withResolvers<void>();
  const gateway = await startGateway({
    port: options.port ?? 0,
    routes: routes.filter((route) => hasFunction(roles, route.function)),
    functions: (name) => table.get(name),
    administratorToken: adminToken,
    ready: opened.promise,
    onError,
  });
  undo.push(gateway.stop);

  const source = {
    bundles: options.bundles,
    given: options.functions,
    seams: {
      ...options.seams,
      ...(options.allowLoopback && { outbound: { ...options.seams?.outbound, allowLoopback: true } }),
    },
    variables: {
      AWS_REGION: given['AWS_REGION'] ?? localRegion,
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: given['AWS_ENDPOINT_URL_BEDROCK_RUNTIME'],
      AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint,
      AWS_ENDPOINT_URL_SQS: queues.endpoint,
      AWS_ENDPOINT_URL_KMS: kms.endpoint,
      AWS_ENDPOINT_URL_LAMBDA: lambda.endpoint,
      SEALPOST_STATE_TABLE: tables.state,
      SEALPOST_VIEW_TABLE: tables.view,
      SEALPOST_OUTBOX_TABLE: roles.server ? tables.outbox : undefined,
      SEALPOST_DELEGATION_TABLE: roles.client ? tables.delegation : undefined,
      SEALPOST_REGISTRY_TABLE: tables.registry,
      SEALPOST_DATA_KEY: kms.keys.data,
      SEALPOST_CARD_KEY: roles.server ? kms.keys.card : undefined,
      SEALPOST_RUN_QUEUE: queues.queues.run.url,
      SEALPOST_PROJECTION_QUEUE: queues.queues.projection.url,
      SEALPOST_OUTBOX_QUEUE: roles.server ? queues.queues.outbox.url : undefined,
      SEALPOST_INBOX_QUEUE: roles.client ? queues.queues.inbox.url : undefined,
      SEALPOST_PUBLIC_URL: gateway.url,
    },
  };
  const handlers = await loadFunctions(source, names);
  for (const [name, handler] of handlers) table.set(name, gatewayFunction(name, handler));

  const administer = administerBy(handlers.get('admin') as Handler);
  const client = roles.server ? { known: saved?.token } : undefined;
  const token = options.seed === false ? '' : await seed(administer, Object.keys(modules), client);
  // A token that nobody can use without the server role is of use again with it.
  const kept = roles.server ? token : saved?.token;
  folder.writeHost({ url: gateway.url, adminToken, token: kept ?? '', tablePrefix });

  const invocable = (name: FunctionName): Invocable => ({
    name,
    handler: handlers.get(name) as Handler,
    timeoutSeconds: functionDefinitions[name].timeoutSeconds,
  });
  const pollers = await startPollers(
    services,
    tables.state,
    folder,
    names,
    invocable,
    options.sweepMs ?? 60_000,
    onError,
  );
  // What the last host left unfinished, also when it was killed: its queues are gone with it.
  if (folder.path !== undefined) await administer('task.repair');
  opened.resolve();

  return {
    url: gateway.url,
    cardUrl: `${gateway.url}/.well-known/agent-card.json`,
    token,
    adminToken,
    broken: engine.ended.then(() => (stopping ? new Promise<never>(() => {}) : undefined)),
    async stop() {
      await finish(gateway, pollers, options.graceMs ?? 10_000);
      stopping = true;
      await stopAll();
    },
  };
}

async function startServices(
  dataDir: { dataDir?: string },
  endpoint: string | undefined,
  modules: Readonly<Record<string, Handler>>,
  undo: (() => Promise<unknown> | unknown)[],
) {
  const keep = async <Service extends { stop(): Promise<void> }>(
    starting: Promise<Service>,
  ): Promise<Service> => {
    const service = await starting;
    undo.push(() => service.stop());
    return service;
  };
  const starting = [
    keep<Engine>(startEngine({ ...dataDir, endpoint })),
    keep(startQueues()),
    keep(startKms({ ...dataDir, keys: { data: 'SYMMETRIC_DEFAULT', card: 'ECC_NIST_P256' } })),
    keep(startLambda(modules)),
  ] as const;
  // When one fails, what the others started has to be known before all is undone.
  await Promise.allSettled(starting);
  const [engine, queues, kms, lambda] = await Promise.all(starting);
  return { engine, queues, kms, lambda };
}

async function startPollers(
  { engine, queues }: Awaited<ReturnType<typeof startServices>>,
  stateTable: string,
  folder: DataFolder,
  names: readonly FunctionName[],
  invocable: (name: FunctionName) => Invocable,
  sweepMs: number,
  onError: OnError,
): Promise<Poller[]> {
  const projector = await mapStream({
    endpoint: engine.endpoint,
    table: stateTable,
    target: invocable('projector'),
    filter: isRevisionInsert,
    checkpoints: folder.checkpoints,
    retryAttempts: 10,
    onError,
  });
  const mapped = names.flatMap((name) => {
    const definition = functionDefinitions[name];
    if (!('queue' in definition)) return [];
    const { name: queue, ...limits } = definition.queue;
    const source = { endpoint: queues.endpoint, queue: queues.queues[queue] };
    return [mapQueue({ ...source, ...limits, target: invocable(name), onError })];
  });
  const scheduled = names
    .filter((name) => 'everyMinute' in functionDefinitions[name])
    .map((name) => schedule(invocable(name), sweepMs, onError));
  return [projector, ...mapped, ...scheduled];
}

/**
 * Callers that wait get their answer, which needs the pollers until the last one has it; then what the pollers run may
 * end. Event streams and whatever takes longer are cut: the committed state goes on at the next start.
 */
async function finish(gateway: Gateway, pollers: readonly Poller[], graceMs: number): Promise<void> {
  const deadline = Date.now() + graceMs;
  gateway.refuseNew();
  while (gateway.inFlight() > 0 && Date.now() < deadline) await wait(20);
  const late = new AbortController();
  const stopped = Promise.all(pollers.map((poller) => poller.stop()));
  await Promise.race([
    stopped,
    wait(Math.max(0, deadline - Date.now()), undefined, { signal: late.signal }).catch(() => {}),
  ]);
  late.abort();
}

function gatewayFunction(name: FunctionName, handler: Handler | StreamHandler): GatewayFunction {
  const { timeoutSeconds } = functionDefinitions[name];
  return 'streams' in functionDefinitions[name]
    ? { form: 'stream', handler: handler as StreamHandler, timeoutSeconds }
    : { form: 'result', handler: handler as Handler, timeoutSeconds };
}

/** Each in a thread of its own, ended with the host. */
async function loadModules(
  paths: Readonly<Record<string, string>>,
  undo: (() => Promise<unknown> | unknown)[],
): Promise<Record<string, Handler>> {
  const loaded = Object.entries(paths).map(async ([name, path]) => {
    const module = await startFunctionModule(name, path);
    undo.push(module.stop);
    return [name, module.handler] as const;
  });
  return Object.fromEntries(await Promise.all(loaded));
}

/**
 * The functions take credentials from their process, as on AWS. Who wants a model service of AWS from here sets their
 * own, by `AWS_PROFILE` or the variables of a key.
 */
function provideCredentials(): void {
  if (process.env['AWS_ACCESS_KEY_ID'] || process.env['AWS_PROFILE']) return;
  process.env['AWS_ACCESS_KEY_ID'] = localCredentials.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = localCredentials.secretAccessKey;
}
