import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DynamoDBRecord } from 'aws-lambda';
import type { Seams } from '../../shared/runtime/compose.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Handler } from './lambda.ts';
import type { QueueName } from './queues.ts';
import type { StreamHandler } from './response-stream.ts';

interface FunctionDefinition {
  readonly timeoutSeconds: number;
  /** In response-streaming form; the others return what they answer. */
  readonly streams?: true;
  /** Called by the schedule. */
  readonly everyMinute?: true;
  /** The queue that feeds it. */
  readonly queue?: {
    readonly name: QueueName;
    readonly batchSize: number;
    readonly maximumConcurrency: number;
  };
}

/** Every function of the gateway with its time limit and event source, as on AWS; fewer run at once on one machine. */
export const functionDefinitions = {
  rpc: { timeoutSeconds: 900, streams: true },
  card: { timeoutSeconds: 15, streams: true },
  admin: { timeoutSeconds: 300 },
  executor: { timeoutSeconds: 900, queue: { name: 'run', batchSize: 1, maximumConcurrency: 20 } },
  'dead-letter': { timeoutSeconds: 60, queue: { name: 'run-dlq', batchSize: 10, maximumConcurrency: 5 } },
  projector: { timeoutSeconds: 60 },
  'projection-retry': {
    timeoutSeconds: 60,
    queue: { name: 'projection', batchSize: 10, maximumConcurrency: 5 },
  },
  sweeper: { timeoutSeconds: 60, everyMinute: true },
  ceiling: { timeoutSeconds: 300, everyMinute: true },
  delivery: { timeoutSeconds: 120, queue: { name: 'outbox', batchSize: 1, maximumConcurrency: 20 } },
  callback: { timeoutSeconds: 15 },
  reconciler: { timeoutSeconds: 300, queue: { name: 'inbox', batchSize: 1, maximumConcurrency: 20 } },
  'outbox-dead-letter': {
    timeoutSeconds: 60,
    queue: { name: 'outbox-dlq', batchSize: 10, maximumConcurrency: 5 },
  },
} as const satisfies Record<string, FunctionDefinition>;
export type FunctionName = keyof typeof functionDefinitions;
export const functionNames = Object.keys(functionDefinitions) as FunctionName[];

/** What `functions/<name>/app.ts` exports. */
export type CreateHandler = (
  variables: Readonly<Record<string, string | undefined>>,
  seams?: Seams,
) => Handler | StreamHandler;

export interface FunctionSource {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly seams: Seams;
  /** Folder of bundles as they are deployed; they read this process's environment, so one host a process. */
  readonly bundles?: string | undefined;
  /** Handlers that stand in for a function. */
  readonly given?: Partial<Record<FunctionName, Handler | StreamHandler>> | undefined;
}

/** Thrown where the folder of bundles lacks one; the message says what to do. */
export class BundlesMissing extends Error {
  override readonly name = 'BundlesMissing';
}

/** The handlers of functions, built with these variables. Rejects with the name of the one that cannot be. */
export async function loadFunctions(
  source: FunctionSource,
  names: readonly FunctionName[],
): Promise<ReadonlyMap<FunctionName, Handler | StreamHandler>> {
  if (source.bundles !== undefined) setEnvironment(source.variables);
  const loaded = names.map(async (name) => {
    try {
      return [name, source.given?.[name] ?? (await load(name, source))] as const;
    } catch (error) {
      if (source.bundles !== undefined && (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND')
        throw new BundlesMissing(
          `There is no bundle of the function ${name} in ${source.bundles}. "npm run bundle" writes all of them to dist.`,
        );
      throw new Error(`The function ${name} could not be loaded.`, { cause: error });
    }
  });
  return new Map(await Promise.all(loaded));
}

/** The filter of the projector's event source: each commit inserts exactly one revision (P3). */
export function isRevisionInsert(record: DynamoDBRecord): boolean {
  const sk = record.dynamodb?.Keys?.['sk']?.S ?? '';
  return record.eventName === 'INSERT' && sk.startsWith(keys.revisionPrefix);
}

function setEnvironment(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

async function load(name: FunctionName, source: FunctionSource): Promise<Handler | StreamHandler> {
  if (source.bundles !== undefined) {
    const bundle = pathToFileURL(join(resolve(source.bundles), name, 'index.mjs'));
    return ((await import(bundle.href)) as { handler: Handler | StreamHandler }).handler;
  }
  const app = new URL(`../../functions/${name}/app.ts`, import.meta.url);
  return ((await import(app.href)) as { createHandler: CreateHandler }).createHandler(
    source.variables,
    source.seams,
  );
}
