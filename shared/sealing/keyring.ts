import type { Clock, KeyService } from '../runtime/ports.ts';
import type { Store } from '../storage/port.ts';

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
  constructor() {
    super('a data key is not available');
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
  readonly store: Store;
  readonly keyService: KeyService;
  readonly clock: Clock;
  /** Plaintext keys held in memory, default 500. */
  readonly maxKeys?: number;
}

export function createKeyring(_parts: KeyringParts): Keyring {
  throw new Error('not built yet');
}
