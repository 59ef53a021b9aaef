/** Bytes of r and of s on P-256. */
const HALF = 32;

/** Thrown when a signature is not the DER form of an ECDSA signature on P-256. */
export class MalformedSignature extends Error {
  readonly tag = 'MalformedSignature';
  constructor() {
    super('not a DER-encoded ECDSA signature on P-256');
  }
}

/**
 * DER (`SEQUENCE { INTEGER r, INTEGER s }`), as signing services answer, to the 64 bytes `r || s` that JWS wants for
 * ES256 (RFC 7518 §3.4). DER writes integers as short as they can be, with a zero byte before a set top bit; JWS wants
 * each at its full width. Throws `MalformedSignature`.
 */
export function derToRaw(der: Uint8Array): Uint8Array {
  // At most 72 bytes, so every length is a single byte.
  if (der.length > 72 || der[0] !== 0x30 || der[1] !== der.length - 2) throw new MalformedSignature();
  const r = integerAt(der, 2);
  const s = integerAt(der, r.end);
  if (s.end !== der.length) throw new MalformedSignature();
  const raw = new Uint8Array(2 * HALF);
  raw.set(r.digits, HALF - r.digits.length);
  raw.set(s.digits, 2 * HALF - s.digits.length);
  return raw;
}

function integerAt(der: Uint8Array, at: number): { readonly digits: Uint8Array; readonly end: number } {
  const length = der[at + 1];
  if (der[at] !== 0x02 || length === undefined || length === 0) throw new MalformedSignature();
  const start = at + 2;
  const end = start + length;
  if (end > der.length) throw new MalformedSignature();
  const digits = der.subarray(der[start] === 0 ? start + 1 : start, end);
  if (digits.length > HALF) throw new MalformedSignature();
  return { digits, end };
}
