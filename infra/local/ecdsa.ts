import { createECDH, createSign, type KeyObject, randomBytes } from 'node:crypto';

/** ECDSA over P-256 with SHA-256 of the message, DER-encoded as KMS answers it. */
export function signMessage(key: KeyObject, message: Uint8Array): Buffer {
  return createSign('sha256').update(message).sign(key);
}

/**
 * The same for a digest that the caller computed (`MessageType: DIGEST`), which Node's crypto cannot sign with. Not in
 * constant time: good enough for keys that protect nothing but a machine's own tests, and for nothing else.
 */
export function signDigest(key: KeyObject, digest: Uint8Array): Buffer {
  const d = bytesToInteger(Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url'));
  const z = bytesToInteger(digest.subarray(0, 32));
  for (;;) {
    const k = bytesToInteger(randomBytes(32));
    if (k === 0n || k >= order) continue;
    const curve = createECDH('prime256v1');
    curve.setPrivateKey(Buffer.from(k.toString(16).padStart(64, '0'), 'hex'));
    const r = bytesToInteger(curve.getPublicKey().subarray(1, 33)) % order;
    const s = (inverse(k) * (z + r * d)) % order;
    if (r !== 0n && s !== 0n) return derSequence(derInteger(r), derInteger(s));
  }
}

/** Order of the group P-256. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

function bytesToInteger(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);
}

/** By Fermat: the order is prime. */
function inverse(value: bigint): bigint {
  let [result, base, exponent] = [1n, value % order, order - 2n];
  for (; exponent > 0n; exponent >>= 1n, base = (base * base) % order) {
    if (exponent & 1n) result = (result * base) % order;
  }
  return result;
}

function derInteger(value: bigint): Buffer {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  const positive = (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
  return Buffer.concat([Buffer.from([0x02, positive.length]), positive]);
}

function derSequence(...items: readonly Buffer[]): Buffer {
  const content = Buffer.concat(items);
  return Buffer.concat([Buffer.from([0x30, content.length]), content]);
}
