import { hkdfSync } from 'node:crypto';
import { KEY_BYTES, lengthPrefixed } from './seal.ts';

/** Length of a new salt. It lives in the head only: deleting it makes what it sealed unreadable (P12). */
export const SALT_BYTES = 32;
export const LEAST_SALT_BYTES = 16;

export interface SubkeyInput {
  /** Random, at least 16 bytes. */
  readonly salt: Uint8Array;
  readonly purpose: string;
  /** The task, or whatever else owns what is sealed. */
  readonly task: string;
}

/**
 * HKDF-SHA-256 (RFC 5869), 32 bytes. Never cached: whoever opens reads the salt anew, so a dropped salt counts at
 * once (design §4). Throws RangeError for a salt that is too short.
 */
export function deriveSubkey(dataKey: Uint8Array, input: SubkeyInput): Uint8Array {
  if (input.salt.length < LEAST_SALT_BYTES) throw new RangeError('a salt has at least 16 bytes');
  const info = lengthPrefixed(['sealpost/1', input.purpose, input.task]);
  return new Uint8Array(hkdfSync('sha256', dataKey, input.salt, info, KEY_BYTES));
}
