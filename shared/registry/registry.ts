import { LRUCache } from 'lru-cache';
import type { Clock, Log } from '../runtime/ports.ts';
import type { Store, StoredItem } from '../storage/port.ts';
import { agentOfProfileId, profileOfAgent, providerOfAgent } from './agents.ts';
import { type Floor, readFloors } from './floors.ts';
import {
  type Edition,
  effectiveSettings,
  fromItem,
  partitionOf,
  type RecordKind,
  type Records,
  RecordUnreadable,
  recordKey,
} from './records.ts';
import type { Client, Profile, Provider, RemoteAgent, Settings } from './types.ts';

/** How long a change of settings, profiles or providers may go unseen (design §7). Clients are never cached. */
export const CACHE_MS = 5_000;
const MOST_CACHED = 1_000;

/**
 * The registry as requests read it (design §2). Values may be `CACHE_MS` old, those of clients are always fresh: a
 * disabled client or a dropped token fails at once. Ids may be anything a remote party sent. Every call may reject
 * with `StoreUnavailable`; those for one record also with `RecordUnreadable`.
 */
export interface Registry {
  client(id: string): Promise<Client | undefined>;
  /** Also `agent:<id>`, which hands everything on to a registered remote agent; it is never published (design §8). */
  profile(id: string): Promise<Profile | undefined>;
  /** All of them, published or not, by id; unreadable ones are left out and logged. */
  profiles(): Promise<readonly Profile[]>;
  /** Also `agent:<id>`, of kind `remote`. */
  provider(id: string): Promise<Provider | undefined>;
  agent(id: string): Promise<RemoteAgent | undefined>;
  /** Complete: what was never set has its default. */
  settings(): Promise<Settings>;
  /** Tightenings that are still being applied to the tasks that were there. */
  floors(): Promise<readonly Floor[]>;
}

export interface RegistryParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly log?: Log;
  /** `false`: no remote agent is known, nor what stands for one; nothing is read of them. Default true. */
  readonly agents?: boolean;
}

export function createRegistry(parts: RegistryParts): Registry {
  const { store, clock, log, agents: hasAgents = true } = parts;
  const cached = createCache(clock);
  const fresh = async <K extends RecordKind>(kind: K, id: string) =>
    (await readRecord(store, kind, id))?.value;
  // An id that no record can have must not take room in the cache: it may be as long as a request.
  const agent = async (id: string) =>
    hasAgents && recordKey('agent', id) ? cached(`agent#${id}`, () => fresh('agent', id)) : undefined;
  /** What stands for a registered agent under a name that no record can have; undefined: it is no such name. */
  const ofAgent = async <T>(id: string, make: (agent: RemoteAgent) => T): Promise<T | undefined> => {
    const named = agentOfProfileId(id);
    const found = named === undefined ? undefined : await agent(named);
    return found && make(found);
  };
  return {
    client: (id) => fresh('client', id),
    profile: async (id) =>
      recordKey('profile', id)
        ? cached(`profile#${id}`, () => fresh('profile', id))
        : ofAgent(id, profileOfAgent),
    profiles: () =>
      cached('profiles', async () => (await readRecords(store, 'profile', log)).map(({ value }) => value)),
    provider: async (id) =>
      recordKey('provider', id)
        ? cached(`provider#${id}`, () => fresh('provider', id))
        : ofAgent(id, providerOfAgent),
    agent,
    settings: () => cached('settings', async () => effectiveSettings((await fresh('settings', '')) ?? {})),
    floors: () => cached('floors', () => readFloors(store)),
  };
}

/** One record, read fresh and consistently. */
export async function readRecord<K extends RecordKind>(
  store: Store,
  kind: K,
  id: string,
): Promise<Edition<Records[K]> | undefined> {
  const key = recordKey(kind, id);
  const item = key && (await store.get('registry', key, { consistent: true }));
  return item && fromItem(kind, item);
}

/** Every record of a kind, read fresh and consistently. One that cannot be read does not hide the others. */
export async function readRecords<K extends Exclude<RecordKind, 'settings'>>(
  store: Store,
  kind: K,
  log?: Log,
): Promise<readonly Edition<Records[K]>[]> {
  const records: Edition<Records[K]>[] = [];
  let after: Readonly<Record<string, string>> | undefined;
  do {
    const page = await store.query({
      table: 'registry',
      partition: partitionOf(kind),
      consistent: true,
      ...(after && { after }),
    });
    records.push(...page.items.flatMap((item) => readable(kind, item, log)));
    after = page.next;
  } while (after);
  return records;
}

function readable<K extends RecordKind>(kind: K, item: StoredItem, log?: Log): Edition<Records[K]>[] {
  try {
    return [fromItem(kind, item)];
  } catch (error) {
    if (!(error instanceof RecordUnreadable)) throw error;
    log?.error('a registry record cannot be read', { kind, id: item.sk });
    return [];
  }
}

/** Callers that ask at once share one read. What is not there is asked for again, and takes no room. */
function createCache(clock: Pick<Clock, 'now'>) {
  const entries = new LRUCache<string, { readonly at: number; readonly value: Promise<unknown> }>({
    max: MOST_CACHED,
  });
  return async <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const held = entries.get(key);
    if (held && clock.now() - held.at < CACHE_MS) return held.value as Promise<T>;
    const entry = { at: clock.now(), value: read() };
    entries.set(key, entry);
    const forget = () => {
      if (entries.get(key) === entry) entries.delete(key);
    };
    entry.value.then((value) => value === undefined && forget(), forget);
    return entry.value;
  };
}
