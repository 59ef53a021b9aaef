import type { Random } from '../runtime/ports.ts';
import type { Keyring, Purpose } from './keyring.ts';
import { type Binding, NONCE_BYTES, open, SealBroken, seal } from './seal.ts';
import { joinSlices, sliceSealed } from './sliced.ts';
import { deriveSubkey, LEAST_SALT_BYTES, SALT_BYTES } from './subkey.ts';

/** Epoch and salt are kept with the owner (the head, say); whoever has both and the data key can open. */
export interface SealOwner {
  readonly client: string;
  /** The task, or the id of whatever else owns what is sealed (a registry entry, a push config). */
  readonly task: string;
  readonly purpose: Purpose;
  readonly epoch: string;
  readonly salt: Uint8Array;
}

/**
 * Seals and opens JSON values, split into slices of at most 350 KB. `open` throws `SealBroken` for whatever does not
 * open, `KeyUnavailable` if the data key cannot be had now. A binding names the first slice's place.
 */
export interface TaskSealer {
  readonly owner: SealOwner;
  seal(binding: Binding, value: unknown): Promise<Uint8Array[]>;
  open(binding: Binding, slices: readonly Uint8Array[]): Promise<unknown>;
}

export interface Sealer {
  /** For an owner that has epoch and salt. */
  forTask(owner: SealOwner): TaskSealer;
  /** For a new owner, or a new salt of an old one: this month's epoch and a random salt, to be kept from `owner`. */
  begin(owner: Pick<SealOwner, 'client' | 'task' | 'purpose'>): Promise<TaskSealer>;
}

export function createSealer(parts: { readonly keyring: Keyring; readonly random: Random }): Sealer {
  const { keyring, random } = parts;

  const forTask = (owner: SealOwner): TaskSealer => {
    const subkey = async () =>
      deriveSubkey(await keyring.get(owner.client, owner.purpose, owner.epoch), owner);
    return {
      owner,
      async seal(binding, value) {
        const json = JSON.stringify(value);
        if (json === undefined) throw new TypeError('only a JSON value can be sealed');
        const sealed = seal(await subkey(), Buffer.from(json, 'utf8'), binding, random.bytes(NONCE_BYTES));
        return sliceSealed(sealed);
      },
      async open(binding, slices) {
        // No salt, or not even the shape of one: dropped with the head's content (P12).
        if (owner.salt.length < LEAST_SALT_BYTES) throw new SealBroken();
        return parseJson(open(await subkey(), joinSlices(slices), binding));
      },
    };
  };

  return {
    forTask,
    async begin(owner) {
      const { epoch } = await keyring.current(owner.client, owner.purpose);
      return forTask({ ...owner, epoch, salt: random.bytes(SALT_BYTES) });
    },
  };
}

function parseJson(plaintext: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(plaintext.buffer, plaintext.byteOffset, plaintext.length).toString('utf8'));
  } catch {
    // Its message would quote the plaintext (P10).
    throw new SealBroken();
  }
}
