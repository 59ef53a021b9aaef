import * as z from 'zod';
import type { JsonObject, JsonValue, Part } from '../protocol/index.ts';
import type { ProviderArtifact } from './types.ts';

/** As deep as clients may nest, so that they can send a result back; readers of the binary form refuse 100. */
const MAX_DEPTH = 64;

const optionalText = z.string().nullish();
/** Plain JSON of bounded depth. */
export const jsonValueSchema = z.custom<JsonValue>((value) => isJson(value, MAX_DEPTH));
const jsonObject = z.custom<JsonObject>((value) => isObject(value) && isJson(value, MAX_DEPTH));

/**
 * A part as a provider may write it: exactly one of `text`, `raw` (base64, standard or URL-safe, padded or not), `url`
 * and `data`. `null` is absent, but for a `data` that stands alone. Read into the protocol's form: raw as padded
 * standard base64, no empty file name or media type, unknown keys dropped.
 */
export const partSchema = z
  .object({
    text: optionalText,
    raw: optionalText,
    url: optionalText,
    data: jsonValueSchema.optional(),
    metadata: jsonObject.nullish(),
    filename: optionalText,
    mediaType: optionalText,
  })
  .transform((read, context): Part => {
    const content = onlyContent(read);
    if (content === undefined) {
      context.issues.push({ code: 'custom', message: 'a part has exactly one content', input: read });
      return z.NEVER;
    }
    return {
      ...content,
      ...(read.metadata ? { metadata: read.metadata } : {}),
      ...(read.filename ? { filename: read.filename } : {}),
      ...(read.mediaType ? { mediaType: read.mediaType } : {}),
    };
  });

export const partsSchema = z.array(partSchema).min(1);

/** An artifact in the protocol's form, `artifactId` optional. Unknown keys are dropped. */
export const artifactSchema = z
  .object({
    artifactId: optionalText,
    name: optionalText,
    description: optionalText,
    parts: partsSchema,
    metadata: jsonObject.nullish(),
    extensions: z.array(z.string()).nullish(),
  })
  .transform(
    (read): ProviderArtifact => ({
      ...(read.artifactId ? { artifactId: read.artifactId } : {}),
      ...(read.name ? { name: read.name } : {}),
      ...(read.description ? { description: read.description } : {}),
      parts: read.parts,
      ...(read.metadata ? { metadata: read.metadata } : {}),
      ...(read.extensions?.length ? { extensions: read.extensions } : {}),
    }),
  );

interface Contents {
  readonly text?: string | null | undefined;
  readonly raw?: string | null | undefined;
  readonly url?: string | null | undefined;
  readonly data?: JsonValue | undefined;
}

function onlyContent({ text, raw, url, data }: Contents): Part | undefined {
  const found: Part[] = [];
  if (typeof text === 'string') found.push({ text });
  // An empty one is a set member, as an empty text is, and what a client sent may be repeated.
  if (typeof url === 'string' && (url === '' || url.trim() !== '')) found.push({ url });
  if (typeof raw === 'string') {
    const bytes = standardBase64(raw);
    if (bytes === undefined) return undefined;
    found.push({ raw: bytes });
  }
  if (data !== undefined && (data !== null || found.length === 0)) found.push({ data });
  return found.length === 1 ? found[0] : undefined;
}

function standardBase64(text: string): string | undefined {
  const bare = text.replace(/={1,2}$/, '');
  if (!/^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)$/.test(bare) || bare.length % 4 === 1) return undefined;
  return Buffer.from(bare, 'base64').toString('base64');
}

function isObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether JSON can say the value as it stands: no Date, Map, undefined, function or number without a JSON form. */
function isJson(value: unknown, depth: number): value is JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.every((member) => isJson(member, depth - 1));
  return isObject(value) && Object.values(value).every((member) => isJson(member, depth - 1));
}
