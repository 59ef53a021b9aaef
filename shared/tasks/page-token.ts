import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { open, SealBroken, seal } from '../sealing/seal.ts';
import { deriveSubkey } from '../sealing/subkey.ts';
import type { TaskServices } from './services.ts';

/** Where a listing stands. */
export interface PagePosition {
  /** Sort key of the last task answered. */
  readonly order: string;
  readonly task: string;
  /** Counted once a listing, carried from page to page (design §10). */
  readonly total: number;
}

/** Of the caller and what was asked for; a token opens for nothing else (P11). */
export interface TokenScope {
  readonly client: string;
  readonly filters: { readonly [name: string]: string | number | boolean | undefined };
}

const NONCE_BYTES = 12;

/** Opaque to the caller: sealed under a key of its own, bound to caller and filters. */
export async function writePageToken(
  services: TaskServices,
  scope: TokenScope,
  position: PagePosition,
): Promise<string> {
  const { epoch, key } = await services.keyring.current(scope.client, 'content');
  const plaintext = Buffer.from(JSON.stringify([position.order, position.task, position.total]));
  const sealed = seal(subkey(key, scope), plaintext, binding(scope), services.random.bytes(NONCE_BYTES));
  return `${epoch}.${Buffer.from(sealed).toString('base64url')}`;
}

/** `undefined`: not a token of this caller for these filters. */
export async function readPageToken(
  services: TaskServices,
  scope: TokenScope,
  token: string,
): Promise<PagePosition | undefined> {
  const match = /^(\d{6})\.([A-Za-z0-9_-]{20,1000})$/.exec(token);
  // One spelling only: bits behind the last byte would be dropped.
  if (!match || Buffer.from(match[2]!, 'base64url').toString('base64url') !== match[2]) return undefined;
  try {
    const key = await services.keyring.get(scope.client, 'content', match[1]!);
    const plaintext = open(subkey(key, scope), Buffer.from(match[2]!, 'base64url'), binding(scope));
    const [order, task, total] = JSON.parse(Buffer.from(plaintext).toString()) as [string, string, number];
    return { order, task, total };
  } catch (error) {
    if (error instanceof SealBroken) return undefined;
    throw error;
  }
}

function subkey(key: Uint8Array, scope: TokenScope): Uint8Array {
  return deriveSubkey(key, { salt: digest(scope), purpose: 'page', task: scope.client });
}

function binding(scope: TokenScope) {
  return { table: 'view', key: { pk: scope.client, sk: 'page' }, attribute: 'token' } as const;
}

function digest(scope: TokenScope): Uint8Array {
  return createHash('sha256')
    .update(String(canonicalize(scope.filters)))
    .digest();
}
