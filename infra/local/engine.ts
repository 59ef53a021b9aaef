import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  ListTablesCommand,
} from '@aws-sdk/client-dynamodb';
import { type TableName, tables } from '../../shared/storage/tables.ts';
import { localClient } from './local-client.ts';

export interface Engine {
  readonly endpoint: string;
  /** Resolves when the engine's process has ended, expected or not; never, for an engine given by endpoint. */
  readonly ended: Promise<void>;
  /** Resolves when the process is gone and its port is closed. */
  stop(): Promise<void>;
}

export interface EngineOptions {
  /** Folder that keeps the data, created when absent; without it the data lives in memory. */
  readonly dataDir?: string;
  /** Another DynamoDB-compatible engine, used instead of starting one. Default: `AWS_ENDPOINT_URL_DYNAMODB`. */
  readonly endpoint?: string | undefined;
}

/** Thrown when no engine can be had; the message says what to do. */
export class EngineUnavailable extends Error {
  override readonly name = 'EngineUnavailable';
}

const attempts = 5;
const readyWithinMs = 10_000;

/**
 * A DynamoDB-compatible engine on 127.0.0.1 (design §9). What it acknowledged survives a kill -9 when `dataDir` is
 * given. It never outlives this process, however that ends.
 */
export async function startEngine(options: EngineOptions = {}): Promise<Engine> {
  const given = options.endpoint ?? process.env['AWS_ENDPOINT_URL_DYNAMODB'];
  if (given) return givenEngine(given);
  const binary = engineBinary();
  if (options.dataDir) mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const store = options.dataDir ? ['--db-path', join(options.dataDir, 'engine.db')] : [];
  for (let attempt = 1; ; attempt += 1) {
    const started = await launch(binary, store, await freePort());
    if (!(started instanceof Error)) return started;
    // Somebody else may have taken the free port in between.
    if (attempt === attempts) throw started;
  }
}

/**
 * Creates the five tables (design §4) under `<prefix><table>`, those that exist are left alone. Returns their names.
 */
export async function createTables(endpoint: string, prefix = ''): Promise<Record<TableName, string>> {
  const client = new DynamoDBClient(localClient(endpoint));
  try {
    const created = Object.entries(tables).map(async ([table, definition]) => {
      const name = `${prefix}${table}`;
      const indexKeys = definition.indexes.flatMap((index) => [index.partitionKey, index.sortKey]);
      try {
        await client.send(
          new CreateTableCommand({
            TableName: name,
            BillingMode: 'PAY_PER_REQUEST',
            AttributeDefinitions: [...new Set(['pk', 'sk', ...indexKeys])].map((attribute) => ({
              AttributeName: attribute,
              AttributeType: 'S' as const,
            })),
            KeySchema: keySchema('pk', 'sk'),
            ...(definition.indexes.length > 0 && {
              GlobalSecondaryIndexes: definition.indexes.map((index) => ({
                IndexName: index.name,
                KeySchema: keySchema(index.partitionKey, index.sortKey),
                Projection: { ProjectionType: index.projection },
              })),
            }),
            ...(definition.stream && {
              StreamSpecification: { StreamEnabled: true, StreamViewType: definition.stream },
            }),
          }),
        );
      } catch (error) {
        if (!(error instanceof Error) || error.name !== 'ResourceInUseException') throw error;
      }
      return [table, name] as const;
    });
    return Object.fromEntries(await Promise.all(created)) as Record<TableName, string>;
  } finally {
    client.destroy();
  }
}

/** Removes what `createTables` made. */
export async function deleteTables(
  endpoint: string,
  names: Readonly<Record<TableName, string>>,
): Promise<void> {
  const client = new DynamoDBClient(localClient(endpoint));
  try {
    await Promise.all(
      Object.values(names).map((TableName) => client.send(new DeleteTableCommand({ TableName }))),
    );
  } finally {
    client.destroy();
  }
}

function keySchema(partition: string, sort: string) {
  return [
    { AttributeName: partition, KeyType: 'HASH' as const },
    { AttributeName: sort, KeyType: 'RANGE' as const },
  ];
}

async function givenEngine(endpoint: string): Promise<Engine> {
  const client = new DynamoDBClient(localClient(endpoint));
  try {
    await client.send(new ListTablesCommand({ Limit: 1 }));
  } catch (error) {
    const reason = error instanceof Error ? error.name : 'unknown';
    throw new EngineUnavailable(`The DynamoDB engine at ${endpoint} does not answer (${reason}).`);
  } finally {
    client.destroy();
  }
  return { endpoint, ended: new Promise(() => {}), stop: async () => {} };
}

function engineBinary(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`@dynoxide/${platform}/package.json`);
    return join(dirname(manifest), 'dynoxide');
  } catch {
    throw new EngineUnavailable(
      `The embedded DynamoDB engine for ${platform} is missing (optional package @dynoxide/${platform}). ` +
        'Install without --omit=optional, or start any DynamoDB-compatible engine and set ' +
        'AWS_ENDPOINT_URL_DYNAMODB to its address.',
    );
  }
}

/**
 * The engine runs under a shell that holds the other end of a pipe of ours: when this process ends, even by kill -9,
 * the pipe closes and the shell kills the engine. The kill is always hard, so the hard way is the tested way.
 */
const lifeline = [
  // The data is this user's only, whatever folder it stands in.
  'umask 077',
  '"$@" 3<&- & engine=$!',
  '{ read -r line <&3; kill -9 "$engine"; } 2>/dev/null & watch=$!',
  'wait "$engine"; code=$?',
  'kill "$watch" 2>/dev/null; wait "$watch" 2>/dev/null',
  'exit "$code"',
].join('\n');

function launch(binary: string, store: readonly string[], port: number): Promise<Engine | EngineUnavailable> {
  const serve = ['serve', '--host', '127.0.0.1', '--port', String(port), ...store];
  const child = spawn('sh', ['-c', lifeline, 'engine', binary, ...serve], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // Its own process group: Ctrl-C in a terminal must reach the host only, which still needs the engine to finish.
    detached: true,
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const stop = () => {
    child.ref();
    (child.stdio[3] as NodeJS.WritableStream | null)?.end();
    return ended;
  };
  return new Promise((resolve) => {
    let said = '';
    let ready = false;
    const fail = (why: string) =>
      resolve(
        new EngineUnavailable(
          `The embedded DynamoDB engine did not start: ${why}${said && `\n${said.trim()}`}`,
        ),
      );
    const timer = setTimeout(() => {
      fail(`no answer within ${readyWithinMs} ms`);
      void stop();
    }, readyWithinMs);
    child.once('error', (error) => fail(error.message));
    void ended.then(() => {
      clearTimeout(timer);
      fail(`it ended with code ${child.exitCode}`);
    });
    const read = (chunk: Buffer) => {
      if (said.length < 4_096) said += chunk.toString();
      if (ready || !said.includes('listening on')) return;
      ready = true;
      clearTimeout(timer);
      unref(child);
      resolve({ endpoint: `http://127.0.0.1:${port}`, ended, stop });
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
  });
}

/** A forgotten `stop()` must not keep a finished program alive; its end takes the engine along. */
function unref(child: ChildProcess): void {
  child.unref();
  for (const stream of child.stdio) (stream as { unref?: () => void } | null)?.unref?.();
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
