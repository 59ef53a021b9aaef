import * as z from 'zod';
import { answerLevels } from './levels.ts';

/**
 * The field types that the registry's schemas are made of. Every message says what is wanted and never what was given:
 * a value in the wrong place may be a secret.
 */
const idPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;
const clientIdPattern = /^[a-z0-9]{4,32}$/;
const mediaType = /^(\*\/\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/(\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,126}))$/i;
const functionPattern = /^[A-Za-z0-9:_.$/-]{1,256}$/;
const regionPattern = /^[a-z]{2,}(-[a-z]+)+-\d$/;
const hostPattern = /^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/i;
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

export const level = z.enum(answerLevels);

/** An id of a profile or provider; checked before it becomes part of a key. */
export const id = z.string().regex(idPattern, {
  error: 'must be 1 to 63 lower-case letters, digits and hyphens, and start with a letter or digit',
});

export const clientId = z
  .string()
  .regex(clientIdPattern, { error: 'must be 4 to 32 lower-case letters and digits' });

/** A grant: a profile's id, or `*` for all published ones. */
export const grant = z.string().refine((text) => text === '*' || idPattern.test(text), {
  error: 'must be the id of a profile, or *',
});

/** One line without control characters. */
export const line = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .refine((text) => !/\p{Cc}/u.test(text), { error: 'must be one line without control characters' });

export const text = (longest: number) =>
  z
    .string()
    .max(longest)
    // Tab and line ends are the only control characters of prose.
    .refine((value) => !/[^\P{Cc}\t\n\r]/u.test(value), { error: 'must not have control characters' });

export const whole = (least: number, most: number) => z.int().min(least).max(most);

export const mediaTypes = z
  .array(z.string().regex(mediaType, { error: 'must be a media type such as text/plain, text/* or */*' }))
  .min(1)
  .max(30);

export const functionName = z
  .string()
  .regex(functionPattern, { error: 'must be the name or ARN of a function' });
export const region = z.string().regex(regionPattern, { error: 'must be a region such as us-east-1' });
export const host = z.string().max(253).regex(hostPattern, { error: 'must be a host name' });

export const webUrl = z.string().max(2048).refine(isWebUrl, { error: 'must be an http or https URL' });

/**
 * Where a provider's requests go. Text only: the guard decides at each request whether the address may be called, and
 * refuses loopback unless the local host allowed it (design §9).
 */
export const baseUrl = z.string().max(2048).refine(isBaseUrl, {
  error: 'must be an https URL (http for loopback only) without user name, query or fragment',
});

/** Where another server's requests may go besides: scheme, host and port, nothing else. */
export const origin = z.string().max(2048).refine(isOrigin, {
  error: 'must be an origin such as https://agent.example.com (http for loopback only)',
});

/** A coordinate of a point on P-256, base64url. */
const coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/, { error: 'must be 43 characters of base64url' });

/** A public key as a JWK; what else stands in it (`kid`, `alg`, `use`) is left out, and a private one is refused. */
export const publicKey = z
  .looseObject({ kty: z.literal('EC'), crv: z.literal('P-256'), x: coordinate, y: coordinate })
  .refine((key) => !('d' in key), { error: 'is a private key; give the public one only' })
  .transform(({ kty, crv, x, y }) => ({ kty, crv, x, y }));

/** Sent as a header, byte for byte, so it must be one that a header can carry. */
export const secret = z
  .string()
  .regex(/^[\x21-\x7e]{1,4096}$/, { error: 'must be 1 to 4096 printable ASCII characters without spaces' });

/** Refuses a list that names something twice, at the second mention. */
export function distinct<T>(list: z.ZodType<T[]>) {
  return list.superRefine((entries, context) => {
    entries.forEach((entry, index) => {
      if (entries.indexOf(entry) < index)
        context.addIssue({ code: 'custom', path: [index], message: 'is listed twice' });
    });
  });
}

function isWebUrl(text: string): boolean {
  return /^https?:\/\/[\x21-\x7e]+$/i.test(text) && URL.canParse(text);
}

function isOrigin(text: string): boolean {
  return isBaseUrl(text) && new URL(text).origin === text.toLowerCase();
}

function isBaseUrl(text: string): boolean {
  if (!isWebUrl(text) || /[\\#?]/.test(text)) return false;
  const url = new URL(text);
  if (url.username || url.password || text.includes('@')) return false;
  return url.protocol === 'https:' || loopback.has(url.hostname);
}
