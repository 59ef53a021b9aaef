import canonicalize from 'canonicalize';
import type { JsonObject, JsonValue } from '../protocol/index.ts';

/**
 * The payload of a card's signature (A2A 1.0 §8.4.1): the card as ProtoJSON, that is REQUIRED fields and `optional`
 * fields that are set always there, other defaults left out, without `signatures`, in the form of RFC 8785.
 */
export function canonicalCard(card: JsonObject): string {
  const { signatures: _, ...content } = card;
  return text(withoutEmptyLists(content) as JsonObject);
}

/**
 * A `StringList` without entries is written as `{list: []}` in a card (decisions, line 6); `list` is not REQUIRED, so in
 * the signed form it is the default that is left out.
 */
function withoutEmptyLists(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutEmptyLists);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value);
  if (members.length === 1 && Array.isArray(value['list']) && value['list'].length === 0) return {};
  return Object.fromEntries(members.map(([name, member]) => [name, withoutEmptyLists(member)]));
}

/**
 * The payload that the stock SDKs (JavaScript and Python) rebuild when they verify: they also drop every empty string,
 * list and object, REQUIRED or not, and so `securityRequirements: [{schemes: {bearer: {}}}]` as a whole. For a card of
 * ours the two differ, and a signature over the form of the specification alone would fail there.
 */
export function collapsedCard(card: JsonObject): string {
  const { signatures: _, ...content } = card;
  return text(withoutEmpty(content) ?? {});
}

function withoutEmpty(value: JsonValue): JsonValue | undefined {
  if (value === null || value === '') return undefined;
  if (Array.isArray(value)) {
    const kept = value.map(withoutEmpty).filter((member) => member !== undefined);
    return kept.length === 0 ? undefined : kept;
  }
  if (typeof value === 'object') {
    const kept: JsonObject = {};
    for (const [name, member] of Object.entries(value)) {
      const left = withoutEmpty(member);
      if (left !== undefined) kept[name] = left;
    }
    return Object.keys(kept).length === 0 ? undefined : kept;
  }
  return value;
}

function text(value: JsonValue): string {
  const written = canonicalize(value);
  if (written === undefined) throw new TypeError('a card is a JSON object');
  return written;
}
