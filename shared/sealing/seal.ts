import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Key } from '../storage/port.ts';
import type { TableName } from '../storage/tables.ts';

/** Where a sealed value stands: sealed for one place, it opens in no other (design §4, P10). */
export interface Binding {
  readonly table: TableName;
  /** Of the item; of the first slice's item if the value is split. */
  readonly key: Key;
  readonly attribute: string;
}

/** Thrown for every failure to open a sealed value, whatever the cause, which it does not tell. */
export class SealBroken extends Error {
  readonly tag = 'SealBroken';
  constructor() {
    super('a sealed value could not be opened');
  }
}

const VERSION = 1;
const CIPHER = 'aes-256-gcm';
export const KEY_BYTES = 32;
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** What sealing adds: version, nonce, tag. */
export const SEAL_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/**
 * AES-256-GCM: version byte, nonce, ciphertext, tag. The nonce is 12 random bytes, never used twice under one key.
 * Throws RangeError for a key or a nonce of another length.
 */
export function seal(
  key: Uint8Array,
  plaintext: Uint8Array,
  binding: Binding,
  nonce: Uint8Array,
): Uint8Array {
  if (key.length !== KEY_BYTES) throw new RangeError('a sealing key has 32 bytes');
  if (nonce.length !== NONCE_BYTES) throw new RangeError('a nonce has 12 bytes');
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundTo(binding));
  const sealed = new Uint8Array(SEAL_BYTES + plaintext.length);
  sealed[0] = VERSION;
  sealed.set(nonce, 1);
  sealed.set(cipher.update(plaintext), 1 + NONCE_BYTES);
  cipher.final();
  sealed.set(cipher.getAuthTag(), sealed.length - TAG_BYTES);
  return sealed;
}

/** The plaintext, or `SealBroken`: wrong key, other place, other version, or any changed, missing or added byte. */
export function open(key: Uint8Array, sealed: Uint8Array, binding: Binding): Uint8Array {
  if (sealed.length < SEAL_BYTES || sealed[0] !== VERSION || key.length !== KEY_BYTES) throw new SealBroken();
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(binding));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  try {
    const plaintext = decipher.update(sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES));
    decipher.final();
    return new Uint8Array(plaintext.buffer, plaintext.byteOffset, plaintext.length);
  } catch {
    throw new SealBroken();
  }
}

function boundTo(binding: Binding): Uint8Array {
  return lengthPrefixed([
    `sealpost/${VERSION}`,
    binding.table,
    binding.key.pk,
    binding.key.sk,
    binding.attribute,
  ]);
}

/** Each field with its length in bytes before it, so that no two lists of fields share an encoding. */
export function lengthPrefixed(fields: readonly string[]): Uint8Array {
  const parts = fields.map((field) => Buffer.from(field, 'utf8'));
  const encoded = Buffer.alloc(parts.reduce((size, part) => size + 4 + part.length, 0));
  let at = 0;
  for (const part of parts) {
    at = encoded.writeUInt32BE(part.length, at);
    at += part.copy(encoded, at);
  }
  return encoded;
}
