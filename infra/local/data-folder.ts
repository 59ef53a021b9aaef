import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readJsonFile, writePrivateJson } from './private-file.ts';
import type { Checkpoints } from './stream-mapping.ts';

/** What a host leaves for who may administer it; the command line reads `url` and `adminToken`. */
export interface HostFile {
  readonly url: string;
  readonly adminToken: string;
  /** Bearer of the client `demo`. */
  readonly token: string;
  /** First part of the names of the tables, on an engine that other hosts use too. */
  readonly tablePrefix: string;
}

/** Where a host keeps what must outlive it; without a folder it all lives in memory. */
export interface DataFolder {
  readonly path: string | undefined;
  readHost(): HostFile | undefined;
  writeHost(host: HostFile): void;
  /** How far the state table's stream was read. */
  readonly checkpoints: Checkpoints;
  /** Lets another host have the folder. */
  release(): void;
}

/** Thrown when another host runs on the folder. */
export class DataFolderInUse extends Error {
  override readonly name = 'DataFolderInUse';
}

/** Opens a folder for this host alone, creates it when absent, readable by this user only. */
export function openDataFolder(folder: string | undefined): DataFolder {
  if (folder === undefined) return inMemory();
  const path = resolve(folder);
  makeFolder(path);
  const lock = takeLock(path);
  const places = join(path, 'stream-places.json');
  const known = readJsonFile<Record<string, string>>(places) ?? {};
  return {
    path,
    readHost: () => readJsonFile<HostFile>(join(path, 'host.json')),
    writeHost: (host) => writePrivateJson(join(path, 'host.json'), host),
    checkpoints: {
      get: (shard) => known[shard],
      set: (shard, sequenceNumber) => {
        if (known[shard] === sequenceNumber) return;
        known[shard] = sequenceNumber;
        writePrivateJson(places, known);
      },
    },
    release: () => lock.close(),
  };
}

/** Thrown when a path cannot be a data folder; the message says why. */
export class DataFolderUnusable extends Error {
  override readonly name = 'DataFolderUnusable';
}

/** One level at a time: a recursive mkdir does not end where a parent takes no folders, as under /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) {
    if (statSync(path).isDirectory()) return;
    throw new DataFolderUnusable(`${path} is a file; --data needs a folder.`);
  }
  if (path !== dirname(path)) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another host may have made it at the same moment.
    if (existsSync(path)) return;
    throw new DataFolderUnusable(`The folder ${path} cannot be made (${(error as { code?: string }).code}).`);
  }
}

function inMemory(): DataFolder {
  let host: HostFile | undefined;
  const known = new Map<string, string>();
  return {
    path: undefined,
    readHost: () => host,
    writeHost: (written) => {
      host = written;
    },
    checkpoints: { get: (shard) => known.get(shard), set: (shard, at) => void known.set(shard, at) },
    release: () => {},
  };
}

/** A transaction that is never ended: the operating system lets go of it with the process, even after a kill -9. */
function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(join(path, 'lock.db'));
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch {
    lock.close();
    throw new DataFolderInUse(`Another gateway is running on ${path}.`);
  }
}
