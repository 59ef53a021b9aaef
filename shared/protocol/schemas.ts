import * as z from 'zod';
import { ENUMS, type Field, fieldsOf, hasImplicitPresence, isEnum, isMessage, protoName } from './fields.ts';
import { isStruct, leafSchema, type Mode, orRequired } from './leaf-schemas.ts';
import type { MessageName, Messages } from './messages.ts';
import { Unread } from './notices.ts';

export type { Mode } from './leaf-schemas.ts';

/**
 * The zod schema of one of the 44 messages. Input is ProtoJSON as JSON.parse returns it: JSON or proto names, null
 * for absent, unknown fields ignored. Output is the in-memory form of `types.ts`; in `response` mode it may still
 * hold `Unread` values, which `settle` takes out. Built once per message and mode, when first asked for.
 */
export function schemaOf<M extends MessageName>(name: M, mode: Mode): z.ZodType<Messages[M]> {
  const key = `${mode}:${name}`;
  let schema = built.get(key);
  if (!schema) {
    schema = buildMessage(name, mode);
    built.set(key, schema);
  }
  return schema as z.ZodType<Messages[M]>;
}

const built = new Map<string, z.ZodType>();

/**
 * Elements of one list. A body of 2 MB has room for 700,000 empty parts, and telling what is wrong with each would take
 * seconds: a longer list is refused before its elements are looked at.
 */
export const MAX_LIST_LENGTH = 10_000;

/** Where an unknown kind of part stands until `settle` drops it; no peer can set it, only known names are read. */
export const UNREAD_PART = '$unread';

function buildMessage(name: MessageName, mode: Mode): z.ZodType {
  const shape: Record<string, z.ZodType> = {};
  for (const [json, field] of fieldsOf(name)) {
    const schema = buildField(field, mode);
    shape[json] = field.required ? schema : schema.optional();
  }
  if (name === 'Part') shape[UNREAD_PART] = z.instanceof(Unread).optional();
  return z.preprocess(
    (raw, ctx) => (isStruct(raw) ? readFields(name, mode, raw, ctx) : raw),
    z.object(shape, orRequired('must be an object')),
  );
}

function buildField(field: Field, mode: Mode): z.ZodType {
  const { type } = field;
  const value = isMessage(type) ? schemaOf(type, mode) : leafSchema(type, field, mode);
  if (field.map) return z.record(z.string(), value, orRequired('must be an object'));
  if (!field.repeated) return value;
  const list = z.array(value, orRequired('must be a list'));
  const isFilled = field.filled === 'always' || (field.filled === 'request' && mode === 'request');
  return isFilled ? list.check(mode === 'request' ? refuseEmpty : refuseNone) : list;
}

function refuseEmpty(payload: z.core.ParsePayload<unknown[]>): void {
  refuseNone(payload);
  const { value, issues } = payload;
  if (value.length > 0 && value.every(isUnreadPart))
    issues.push({ code: 'custom', message: NO_KNOWN_PART, input: value });
}

/** Whether a message of a peer's may do without a part of a known kind depends on where it stands: see `settle`. */
function refuseNone({ value, issues }: z.core.ParsePayload<unknown[]>): void {
  if (value.length === 0) issues.push({ code: 'custom', message: 'must not be empty', input: value });
}

export const NO_KNOWN_PART = 'has no part of a known kind';

export function isUnreadPart(part: unknown): boolean {
  return isStruct(part) && part[UNREAD_PART] !== undefined;
}

/** The known fields of a message under their JSON names, without nulls and without defaults that mean "absent". */
function readFields(
  name: MessageName,
  mode: Mode,
  raw: Record<string, unknown>,
  ctx: z.RefinementCtx,
): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  const members = new Map<string, string[]>();
  for (const [json, field] of fieldsOf(name)) {
    if (field.oneof && !members.has(field.oneof)) members.set(field.oneof, []);
    const value = readField(raw, json, field, mode, ctx);
    if (value === undefined) continue;
    read[json] = value;
    if (field.oneof) members.get(field.oneof)?.push(json);
  }
  for (const [oneof, set] of members) {
    if (set.length === 1) continue;
    if (set.length > 1) {
      ctx.addIssue({ code: 'custom', message: `has more than one ${oneof}` });
      continue;
    }
    const unknown = firstUnknownName(name, raw);
    if (name === 'Part' && unknown !== undefined) {
      read[UNREAD_PART] = new Unread('unknown-part', unknown);
    } else if (mode === 'request' || name === 'Part' || oneof === 'payload') {
      ctx.addIssue({ code: 'custom', message: `has no ${oneof}` });
    }
  }
  return read;
}

function readField(
  raw: Record<string, unknown>,
  json: string,
  field: Field,
  mode: Mode,
  ctx: z.RefinementCtx,
): unknown {
  const named = presentValue(raw, json, field);
  const proto = protoName(json);
  const other = proto === json ? undefined : presentValue(raw, proto, field);
  if (named !== undefined && other !== undefined && mode === 'request') {
    ctx.addIssue({ code: 'custom', message: 'is given twice', path: [json] });
  }
  const value = named !== undefined ? named : other;
  if (field.repeated && Array.isArray(value) && value.length > MAX_LIST_LENGTH) {
    const message = `must have at most ${MAX_LIST_LENGTH} elements`;
    ctx.addIssue({ code: 'custom', message, path: [json] });
  }
  if (value !== undefined && !isAbsentByDefault(field, value)) return value;
  return mode === 'response' ? peerDefault(field) : undefined;
}

function presentValue(raw: Record<string, unknown>, name: string, field: Field): unknown {
  if (!Object.hasOwn(raw, name)) return undefined;
  const value = raw[name];
  return value === null && field.type !== 'value' ? undefined : value;
}

function isAbsentByDefault(field: Field, value: unknown): boolean {
  if (isEnum(field.type)) return value === 0 || value === ENUMS[field.type][0];
  if (!hasImplicitPresence(field)) return false;
  if (field.repeated) return Array.isArray(value) && value.length === 0;
  if (field.map) return isStruct(value) && Object.keys(value).length === 0;
  if (field.type === 'int32') return value === 0 || value === '0';
  return value === (field.type === 'bool' ? false : '');
}

/** Peers leave defaults out, as ProtoJSON lets them, also of fields that are REQUIRED but not needed here. */
function peerDefault(field: Field): unknown {
  if (isEnum(field.type)) return field.required ? ENUMS[field.type][0] : undefined;
  if (!field.required || field.needed) return undefined;
  if (field.repeated) return [];
  if (field.map || isMessage(field.type)) return {};
  return field.type === 'int32' ? 0 : field.type === 'bool' ? false : '';
}

/** The name of a member that this version does not know; `kind` of the 0.3 shape only if there is no other. */
export function firstUnknownName(name: MessageName, raw: Record<string, unknown>): string | undefined {
  const known = new Set(fieldsOf(name).flatMap(([json]) => [json, protoName(json)]));
  const unknown = Object.keys(raw).filter(
    (key) => !known.has(key) && raw[key] !== null && raw[key] !== undefined,
  );
  return unknown.find((key) => key !== 'kind') ?? unknown[0];
}
