import { LRUCache } from 'lru-cache';
import type { Clock, KeyContext, KeyService } from '../runtime/ports.ts';
import { keys, month } from '../storage/keys.ts';
import type { Store, StoredItem } from '../storage/port.ts';
import { KEY_BYTES, SealBroken } from './seal.ts';

/**
 * What a data key may seal. `content`: messages and results; `working`: a run's working state; `push`: credentials of
 * webhooks; `secret`: credentials in the registry; `dedup`: the key of the message hash.
 */
export type Purpose = 'content' | 'working' | 'push' | 'secret' | 'dedup';

export interface DataKey {
  /** Month, `YYYYMM`, UTC. */
  readonly epoch: string;
  /** 32 bytes, plaintext: never stored, never logged. */
  readonly key: Uint8Array;
}

/**
 * Thrown when a data key cannot be had now: the key service or the store does not answer, or the key is disabled. What
 * it seals is not lost, the same call may succeed later.
 */
export class KeyUnavailable extends Error {
  readonly tag = 'KeyUnavailable';
  readonly retryable = true;
  /** `reason` is a name for operators: an error's class, never its message. */
  constructor(reason: string) {
    super(`a data key is not available: ${reason}`);
  }
}

export interface Keyring {
  /** This month's key, made and stored on first use. Throws `KeyUnavailable`, or `SealBroken` as `get` does. */
  current(client: string, purpose: Purpose): Promise<DataKey>;
  /**
   * The key of a month. Throws `SealBroken` if there is none or what is stored was not wrapped for this client,
   * purpose and epoch; `KeyUnavailable` if it cannot be told now.
   */
  get(client: string, purpose: Purpose, epoch: string): Promise<Uint8Array>;
}

export interface KeyringParts {
  readonly store: Pick<Store, 'get' | 'write'>;
  readonly keyService: KeyService;
  readonly clock: Clock;
  /** Plaintext keys held in memory, default 500. */
  readonly maxKeys?: number;
}

const DEFAULT_MAX_KEYS = 500;
/** A key that was disabled at the key service goes on being used for at most this long. */
const KEPT_MS = 15 * 60_000;

/**
 * Data keys per client, purpose and month (design §4). Warm, neither method makes a request. Each plaintext key is
 * fetched once for all who wait for it, and kept for 15 minutes in a bounded cache; failures are not kept.
 */
export function createKeyring(parts: KeyringParts): Keyring {
  const { store, keyService, clock } = parts;
  const known = new LRUCache<string, Uint8Array>({
    max: parts.maxKeys ?? DEFAULT_MAX_KEYS,
    ttl: KEPT_MS,
    ttlResolution: 0,
    perf: clock,
  });
  const reading = new Map<string, Promise<Uint8Array>>();
  const making = new Map<string, Promise<Uint8Array>>();

  const read = async (context: KeyContext): Promise<StoredItem | undefined> => {
    try {
      return await store.get('registry', itemKey(context));
    } catch (error) {
      throw unavailable(error);
    }
  };

  const unwrap = async (item: StoredItem | undefined, context: KeyContext): Promise<Uint8Array> => {
    const wrapped = item?.['wrapped'];
    if (!(wrapped instanceof Uint8Array)) throw new SealBroken();
    try {
      return checked(await keyService.unwrap(wrapped, context));
    } catch (error) {
      throw unavailable(error);
    }
  };

  /** What stands in the store first is the key of the month; whoever comes second uses that one. */
  const make = async (context: KeyContext): Promise<Uint8Array> => {
    const stored = await read(context);
    if (stored !== undefined) return unwrap(stored, context);
    try {
      const { plaintext, wrapped } = await keyService.generate(context);
      // Before it is stored: a key of another size would stand there for the whole month.
      checked(plaintext);
      const outcome = await store.write({
        kind: 'put',
        table: 'registry',
        item: { ...itemKey(context), v: 1, wrapped, createdMs: clock.now() },
        when: [{ attribute: 'pk', is: 'absent' }],
      });
      if (outcome.kind === 'refused') return await unwrap(outcome.items[0] ?? (await read(context)), context);
      return plaintext;
    } catch (error) {
      throw unavailable(error);
    }
  };

  /** Single flight: the first caller fetches, the others wait for it. */
  const once = (
    flights: Map<string, Promise<Uint8Array>>,
    context: KeyContext,
    fetch: (context: KeyContext) => Promise<Uint8Array>,
  ): Promise<Uint8Array> => {
    const id = identity(context);
    const flight = flights.get(id) ?? fetch(context).finally(() => flights.delete(id));
    flights.set(id, flight);
    return flight.then((key) => {
      known.set(id, key);
      return key;
    });
  };

  return {
    async current(client, purpose) {
      const context = { client, purpose, epoch: month(clock.now()) };
      // Not joined to a flight of `get`: that one fails where there is no key yet.
      const key = known.get(identity(context)) ?? (await once(making, context, make));
      return { epoch: context.epoch, key };
    },
    async get(client, purpose, epoch) {
      const context = { client, purpose, epoch };
      return (
        known.get(identity(context)) ??
        making.get(identity(context)) ??
        once(reading, context, async () => unwrap(await read(context), context))
      );
    },
  };
}

const identity = ({ client, purpose, epoch }: KeyContext): string => JSON.stringify([client, purpose, epoch]);

const itemKey = ({ client, purpose, epoch }: KeyContext) => keys.dataKey(client, purpose, epoch);

function checked(key: Uint8Array): Uint8Array {
  if (key.length !== KEY_BYTES) throw new SealBroken();
  return key;
}

/** The two failures of a keyring as they are; anything else is a reason to try again. */
function unavailable(error: unknown): Error {
  if (error instanceof SealBroken || error instanceof KeyUnavailable) return error;
  return new KeyUnavailable(error instanceof Error ? error.constructor.name : 'unknown');
}
