import { createHash, timingSafeEqual } from 'node:crypto';
import type { Random } from '../runtime/ports.ts';
import type { Client } from './types.ts';

const SECRET_BYTES = 32;
const bearer = /^bearer +([^ ]+) *$/i;
/** A client id, then 32 bytes in base64url; the id has no `_`, so the parts are unambiguous. */
const shape = /^sp_([a-z0-9]{4,32})_([A-Za-z0-9_-]{43})$/;
/** The longest header that can hold a token; a longer one is not even matched. */
const MAX_HEADER = 256;
/** Stands in for the hash that an unknown client does not have. No secret is known to hash to it. */
const NO_HASH = '-'.repeat(43);

export type Authentication =
  | { readonly kind: 'client'; readonly client: Client }
  | { readonly kind: 'unauthenticated' };

/** A new token; the token itself is shown once and never stored. */
export function mintToken(client: string, random: Pick<Random, 'bytes'>): { token: string; hash: string } {
  const secret = Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url');
  return { token: `sp_${client}_${secret}`, hash: hashSecret(secret) };
}

/** SHA-256, base64url. The secret has 256 random bits, so a slow hash would add nothing. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

/**
 * Who sent a request (design §5, P11). `header` is the value of `Authorization`; `lookup` must read the client fresh,
 * so that a disabled client fails at once. Every failure is the same answer, and an unknown client takes the same
 * comparisons as a known one. Rejects only if `lookup` does.
 */
export async function authenticate(
  header: string | undefined,
  lookup: (client: string) => Promise<Client | undefined>,
): Promise<Authentication> {
  const token = parseCredential(header);
  if (!token) return { kind: 'unauthenticated' };
  const client = await lookup(token.client);
  const matches = matchesOneOf(hashSecret(token.secret), client?.tokens ?? []);
  return client && matches && !client.disabled ? { kind: 'client', client } : { kind: 'unauthenticated' };
}

function parseCredential(header: string | undefined): { client: string; secret: string } | undefined {
  if (header === undefined || header.length > MAX_HEADER) return undefined;
  const [, client, secret] = shape.exec(bearer.exec(header)?.[1] ?? '') ?? [];
  return client && secret ? { client, secret } : undefined;
}

/** Always two comparisons, whatever the client has, so that time tells neither a token count nor a client's existence. */
function matchesOneOf(hash: string, tokens: Client['tokens']): boolean {
  const presented = Buffer.from(hash);
  let matched = false;
  for (const slot of [0, 1]) {
    const stored = Buffer.from(tokens[slot]?.hash ?? NO_HASH);
    if (timingSafeEqual(presented, stored.length === presented.length ? stored : Buffer.from(NO_HASH)))
      matched = true;
  }
  return matched;
}
