import { decodeAgentCard, decodeResponse, isStreaming, type Method } from '../../shared/protocol/index.ts';
import type { DescribedField } from '../protocol/build-descriptor.ts';
import { descriptor } from '../protocol/samples.ts';

/**
 * Throws unless `result` is an answer to this method exactly as the proto has it: it passes the schemas, and holds
 * nothing that the proto does not know, no null outside free JSON, camelCase names, enum names, all REQUIRED fields and
 * one member of each oneof that is there.
 */
export function checkResult(method: Method, result: unknown): void {
  const decoded = decodeResponse(method, result);
  if (!decoded.ok) throw new Error(`${method}: ${JSON.stringify(decoded.error.violations)}`);
  if (decoded.notices.length > 0) throw new Error(`${method}: ${JSON.stringify(decoded.notices)}`);
  checkMessage(descriptor.service[method]!.response, result, method);
  if (isStreaming(method) && Object.keys(result as object).length !== 1) {
    throw new Error(`${method}: an event holds one thing`);
  }
}

/** The same for an agent card as it is published. */
export function checkCard(card: unknown): void {
  const decoded = decodeAgentCard(card);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.error.violations));
  checkMessage('AgentCard', card, 'card');
}

/** Likewise for what a webhook gets. */
export function checkPushed(body: unknown): void {
  checkResult('SubscribeToTask', body);
}

const free = new Set(['google.protobuf.Struct', 'google.protobuf.Value']);

function checkMessage(name: string, value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(path, `is no ${name}`);
  const fields: readonly DescribedField[] =
    name === 'google.protobuf.Empty' ? [] : (descriptor.messages[name as never] ?? fail(path, name));
  const members = value as Record<string, unknown>;
  const known = new Map(fields.map((field) => [field.json, field]));
  const chosen = new Set<string>();
  for (const [member, content] of Object.entries(members)) {
    const field = known.get(member) ?? fail(`${path}.${member}`, `is unknown to ${name}`);
    if (field.oneof !== undefined && chosen.has(field.oneof)) fail(path, `has two of ${field.oneof}`);
    if (field.oneof !== undefined) chosen.add(field.oneof);
    checkField(field, content, `${path}.${member}`);
  }
  for (const field of fields) {
    if (field.required && !(field.json in members)) fail(`${path}.${field.json}`, 'is REQUIRED and missing');
  }
}

function checkField(field: DescribedField, value: unknown, path: string): void {
  if (field.map) {
    if (typeof value !== 'object' || value === null) fail(path, 'is no map');
    for (const [key, each] of Object.entries(value as object)) {
      checkValue(field.map.value, each, `${path}.${key}`);
    }
  } else if (field.repeated) {
    if (!Array.isArray(value)) fail(path, 'is no list');
    for (const [i, each] of (value as unknown[]).entries())
      checkValue(field.type ?? '', each, `${path}[${i}]`);
  } else checkValue(field.type ?? '', value, path);
}

function checkValue(type: string, value: unknown, path: string): void {
  if (free.has(type)) return;
  const names = descriptor.enums[type as never] as Record<string, number> | undefined;
  if (names) {
    if (typeof value !== 'string' || !names[value]) fail(path, `is no ${type}: ${JSON.stringify(value)}`);
  } else if (type === 'google.protobuf.Timestamp') {
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(String(value))) fail(path, 'is no timestamp');
  } else if (type === 'bytes') {
    if (typeof value !== 'string' || Buffer.from(value, 'base64').toString('base64') !== value) {
      fail(path, 'is no base64');
    }
  } else if (type === 'int32') {
    if (!Number.isInteger(value)) fail(path, 'is no integer');
  } else if (type === 'bool' || type === 'string') {
    if (typeof value !== (type === 'bool' ? 'boolean' : 'string')) fail(path, `is no ${type}`);
  } else checkMessage(type, value, path);
}

function fail(path: string, why: string): never {
  throw new Error(`${path} ${why}`);
}
