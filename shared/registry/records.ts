import * as z from 'zod';
import { keys } from '../storage/keys.ts';
import type { Item, Key, StoredItem, Value } from '../storage/port.ts';
import { profileFields, providerKinds, settingsDefaults, settingsFields } from './schemas.ts';
import type { Client, Profile, Provider, RemoteAgent, Settings } from './types.ts';

/** What the registry keeps, by kind. Of settings only what an administrator set: the rest are defaults. */
export interface Records {
  readonly client: Client;
  readonly profile: Profile;
  readonly provider: Provider;
  readonly agent: RemoteAgent;
  readonly settings: Partial<Settings>;
}
export type RecordKind = keyof Records;

/** A record with its edition, counted from 1: what a conditional write is conditioned on. */
export interface Edition<T> {
  readonly value: T;
  readonly edition: number;
}

/** Thrown when a stored record cannot be understood: written by a later version, or by hand. Names the record only. */
export class RecordUnreadable extends Error {
  readonly tag = 'RecordUnreadable';
  constructor(kind: RecordKind, id: string) {
    super(`the stored ${kind} ${id} cannot be read`);
  }
}

const FORMAT = 1;

/** Where a record stands; undefined for an id that no record can have, which is then not even looked up. */
export function recordKey(kind: RecordKind, id: string): Key | undefined {
  switch (kind) {
    case 'client':
      return /^[a-z0-9]{4,32}$/.test(id) ? keys.client(id) : undefined;
    case 'profile':
      return isId(id) ? keys.profile(id) : undefined;
    case 'provider':
      return isId(id) ? keys.provider(id) : undefined;
    case 'agent':
      return isId(id) ? keys.agent(id) : undefined;
    case 'settings':
      return keys.settings();
  }
}

/** The partition that holds every record of a kind, in the order of their ids. */
export function partitionOf(kind: Exclude<RecordKind, 'settings'>): string {
  return keys[kind]('').pk;
}

export function toItem<K extends RecordKind>(key: Key, { value, edition }: Edition<Records[K]>): StoredItem {
  return { ...key, v: FORMAT, edition, data: value as unknown as Value };
}

/** Throws `RecordUnreadable`. */
export function fromItem<K extends RecordKind>(kind: K, item: StoredItem): Edition<Records[K]> {
  const { v, edition, data } = item as Item & { readonly data?: unknown };
  const read = readers[kind](data);
  if (v !== FORMAT || typeof edition !== 'number' || read === undefined)
    throw new RecordUnreadable(kind, item.sk);
  return { value: read, edition };
}

function isId(text: string): boolean {
  return profileFields.id.safeParse(text).success;
}

const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array);

const clientRecord = z.object({
  id: z.string(),
  name: z.string(),
  disabled: z.boolean(),
  tokens: z.array(z.object({ hash: z.string(), createdAt: z.number() })).max(2),
  profiles: z.array(z.string()),
  webhookPorts: z.exactOptional(z.array(z.number())),
  webhookHosts: z.exactOptional(z.array(z.string())),
  createdAt: z.number(),
}) satisfies z.ZodType<Client>;

const profileRecord = z.object({ ...profileFields, published: z.boolean() }) satisfies z.ZodType<Profile>;

const sealedSecret = z.object({ sealed: bytes, salt: bytes, epoch: z.string() });

const providerRecord = providerKinds(sealedSecret) satisfies z.ZodType<Provider>;

const agentRecord = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  cardUrl: z.string(),
  credential: z.exactOptional(sealedSecret),
  disabled: z.boolean(),
  push: z.enum(['embedded', 'separate', 'off']),
  allowedOrigins: z.array(z.string()),
  trustedHosts: z.array(z.string()),
  allowedPorts: z.array(z.number()),
  cardKey: z.exactOptional(
    z.object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: z.string(), y: z.string() }),
  ),
  interface: z.object({ url: z.string(), protocolVersion: z.string(), tenant: z.exactOptional(z.string()) }),
  cardEtag: z.exactOptional(z.string()),
  cardReadAt: z.number(),
  waitSeconds: z.number(),
}) satisfies z.ZodType<RemoteAgent>;

const readers: { readonly [K in RecordKind]: (data: unknown) => Records[K] | undefined } = {
  client: (data) => clientRecord.safeParse(data).data,
  profile: (data) => profileRecord.safeParse(data).data,
  provider: (data) => providerRecord.safeParse(data).data,
  agent: (data) => agentRecord.safeParse(data).data,
  settings: (data) => (typeof data === 'object' && data !== null ? readSettings(data) : undefined),
};

/**
 * Field by field: settings serve every request, so one value that a later version's bounds refuse must not stop them
 * all. It falls back to its default.
 */
function readSettings(data: object): Partial<Settings> {
  const known = Object.entries(settingsFields).flatMap(([name, field]) => {
    const read = field.safeParse((data as Record<string, unknown>)[name]);
    return read.success ? [[name, read.data]] : [];
  });
  return Object.fromEntries(known);
}

/** What was set, over the defaults. */
export function effectiveSettings(set: Partial<Settings>): Settings {
  return { ...settingsDefaults, ...set };
}
