import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Key, StoredItem, Value } from './port.ts';

type Attributes = Record<string, AttributeValue>;

/** Undefined members of maps are left out, as in JSON. Throws RangeError for a number that is not finite. */
export function toAttribute(value: Value): AttributeValue {
  if (value === null) return { NULL: true };
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'boolean') return { BOOL: value };
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new RangeError('only finite numbers can be stored');
    return { N: String(value) };
  }
  if (value instanceof Uint8Array) return { B: value };
  if (isList(value)) return { L: value.map(toAttribute) };
  return { M: toAttributes(value) };
}

export function toAttributes(item: { readonly [name: string]: Value | undefined }): Attributes {
  return Object.fromEntries(
    Object.entries(item).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, toAttribute(value)]],
    ),
  );
}

export const toKey = (key: Key): Attributes => ({ pk: { S: key.pk }, sk: { S: key.sk } });

/** Binary values are plain `Uint8Array`s, whatever subclass the client made of them. */
export function fromAttribute(attribute: AttributeValue): Value {
  if (attribute.S !== undefined) return attribute.S;
  if (attribute.N !== undefined) return Number(attribute.N);
  if (attribute.BOOL !== undefined) return attribute.BOOL;
  if (attribute.NULL !== undefined) return null;
  if (attribute.B !== undefined) {
    return Buffer.isBuffer(attribute.B) ? new Uint8Array(attribute.B) : attribute.B;
  }
  if (attribute.L !== undefined) return attribute.L.map(fromAttribute);
  if (attribute.M !== undefined) return fromAttributes(attribute.M);
  throw new TypeError('a stored attribute has a type that this gateway never writes');
}

export function fromItem(attributes: Attributes): StoredItem {
  const { pk, sk } = attributes;
  if (pk?.S === undefined || sk?.S === undefined) throw new TypeError('a stored item has no key');
  return { ...fromAttributes(attributes), pk: pk.S, sk: sk.S };
}

/** Where a query or a scan goes on: strings only, the keys of table and index. */
export function fromPosition(attributes: Attributes): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, { S }]) => (S === undefined ? [] : [[name, S]])),
  );
}

function fromAttributes(attributes: Attributes): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [name, fromAttribute(attribute)]),
  );
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}
