import * as z from 'zod';
import { ENUMS, type EnumName, type Field, type Scalar } from './fields.ts';
import { Unread } from './notices.ts';

/**
 * `request`: what a client sends us, checked strictly. `response`: what a peer answers, read so that a newer peer's
 * additions do no harm.
 */
export type Mode = 'request' | 'response';

/** Levels of arrays and objects that `data` and `metadata` may nest. Deeper is refused, so that no walk overflows. */
export const MAX_JSON_DEPTH = 64;
/** Characters of an id. Ids become parts of store keys. */
export const MAX_ID_LENGTH = 256;

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

/** The schema of one value of a scalar or enum field; what it refuses is described in fixed words. */
export function leafSchema(type: Scalar | EnumName, field: Field, mode: Mode): z.ZodType {
  switch (type) {
    case 'string':
      return stringSchema(field, mode);
    case 'bytes':
      return z
        .string(orRequired('must be a base64 string'))
        .transform(readWith(canonicalBase64, 'is not base64'));
    case 'int32':
      return int32Schema(field, mode);
    case 'bool':
      return z.boolean(orRequired('must be true or false'));
    case 'timestamp':
      return timestampSchema(field, mode);
    case 'struct':
      return jsonSchema(isStruct, 'must be an object', mode);
    case 'value':
      return jsonSchema((value) => value !== undefined, 'must be a JSON value', mode);
    case 'TaskState':
      return enumSchema('TaskState', 'unknown-state', mode);
    case 'Role':
      return enumSchema('Role', 'unknown-role', mode);
  }
}

/** Words for a value of the wrong type; a value that is not there at all is "required". */
export function orRequired(message: string) {
  return { error: (issue: { input?: unknown }) => (issue.input === undefined ? 'is required' : message) };
}

export function isStruct(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function stringSchema(field: Field, mode: Mode): z.ZodType {
  const string = z.string(orRequired('must be a string'));
  const filled =
    mode === 'request' ? (field.required && !field.mayBeEmpty) || field.id || field.noBlanks : field.needed;
  const schema = filled ? string.refine((text) => text.trim() !== '', 'must not be blank') : string;
  if (mode === 'response' && !field.kept) return schema;
  // Half of a surrogate pair is JSON, but no UTF-8, which is what the proto's strings are.
  const wellFormed = schema.refine((text) => text.isWellFormed(), 'must be well-formed Unicode');
  if (!field.id) return wellFormed;
  return wellFormed.refine(
    (text) => text.length <= MAX_ID_LENGTH,
    `must have at most ${MAX_ID_LENGTH} characters`,
  );
}

function int32Schema(field: Field, mode: Mode): z.ZodType {
  const [min, max] =
    mode === 'request' ? [field.min ?? INT32_MIN, field.max ?? INT32_MAX] : [INT32_MIN, INT32_MAX];
  const message = `must be an integer from ${min} to ${max}`;
  return z.preprocess(
    readNumber,
    z
      .number(orRequired(message))
      .refine((value) => Number.isInteger(value) && value >= min && value <= max, message),
  );
}

function readNumber(value: unknown): unknown {
  if (typeof value === 'number') return value + 0; // -0 is 0
  if (typeof value !== 'string' || !/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value)) return value;
  return Number(value) + 0;
}

/** A timestamp that cannot be read is left out of a peer's answer: nothing depends on it. */
function timestampSchema(field: Field, mode: Mode): z.ZodType {
  const message = 'must be an RFC 3339 timestamp';
  if (mode === 'response') {
    return z.unknown().transform((value) => {
      const text = typeof value === 'string' ? canonicalTimestamp(value, false) : undefined;
      return text ?? new Unread('unreadable-timestamp', typeof value);
    });
  }
  const read = (text: string) => canonicalTimestamp(text, field.roundUp === true);
  return z.string(orRequired(message)).transform(readWith(read, message));
}

function enumSchema(name: EnumName, kind: 'unknown-state' | 'unknown-role', mode: Mode): z.ZodType {
  const names: readonly string[] = ENUMS[name];
  const known: readonly string[] = names.slice(1);
  const toName = (value: unknown) => (typeof value === 'number' ? (names[value] ?? value) : value);
  if (mode === 'response') {
    return z.unknown().transform((value) => {
      const read = toName(value);
      return typeof read === 'string' && known.includes(read) ? read : new Unread(kind, read);
    });
  }
  return z.preprocess(
    toName,
    z.enum(known as [string, ...string[]], orRequired(`must be a ${name} of A2A 1.0`)),
  );
}

function jsonSchema(isRightType: (value: unknown) => boolean, message: string, mode: Mode): z.ZodType {
  const schema = z
    .unknown()
    .refine(isRightType, { ...orRequired(message), abort: true })
    .refine((value) => nestsWithin(value, MAX_JSON_DEPTH), {
      error: `must not nest deeper than ${MAX_JSON_DEPTH} levels`,
      abort: true,
    });
  return mode === 'response'
    ? schema
    : schema.refine(isWellFormed, 'must hold well-formed Unicode and finite numbers only');
}

/** JSON text can write numbers beyond a double, which are no values of the proto's. Of a value that nests within bounds. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

function nestsWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  const members = Array.isArray(value) ? value : Object.values(value);
  return members.every((member) => nestsWithin(member, levels - 1));
}

function readWith(read: (text: string) => string | undefined, message: string) {
  return (text: string, ctx: z.RefinementCtx): string => {
    const value = read(text);
    if (value !== undefined) return value;
    ctx.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
}

/** Standard or URL-safe alphabet, padded or not, to padded standard base64; undefined if it is neither. */
export function canonicalBase64(text: string): string | undefined {
  const unpadded = text.endsWith('==') ? text.slice(0, -2) : text.endsWith('=') ? text.slice(0, -1) : text;
  const isPaddedRight = unpadded.length === text.length || text.length % 4 === 0;
  if (!isPaddedRight || unpadded.length % 4 === 1 || !/^[A-Za-z0-9+/_-]*$/.test(unpadded)) return undefined;
  return Buffer.from(unpadded, 'base64').toString('base64');
}

const RFC3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/**
 * RFC 3339 with any offset and 0 to 9 fraction digits, years 0001 to 9999, to UTC with milliseconds; undefined if
 * it is no such instant. Digits beyond the millisecond are cut, or rounded up on request.
 */
export function canonicalTimestamp(text: string, roundUp: boolean): string | undefined {
  const match = RFC3339.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const nanos = Number((match[7] ?? '').padEnd(9, '0'));
  const millis = roundUp ? Math.ceil(nanos / 1e6) : Math.floor(nanos / 1e6);
  date.setUTCHours(hour, minute, second, millis);
  const offsetMinutes = Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0);
  date.setTime(date.getTime() - (match[8] === '-' ? -1 : 1) * offsetMinutes * 60_000);
  const utcYear = date.getUTCFullYear();
  return utcYear >= 1 && utcYear <= 9999 ? date.toISOString() : undefined;
}
