import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Changes, Condition, QueryInput, Value } from './port.ts';
import { tables } from './tables.ts';
import { toAttribute } from './values-dynamodb.ts';

/**
 * Conditions and changes of the port as DynamoDB expressions. Every name and value is a placeholder, so neither
 * reserved words nor what a client wrote can be read as syntax. A dot in a name steps into a map: `push.abc` is member
 * `abc` of the map `push`.
 */
export interface Terms {
  name(path: string): string;
  value(value: Value): string;
  /** To be spread into a command's input; absent members stay absent, an empty map is refused by DynamoDB. */
  placeholders(): {
    ExpressionAttributeNames?: Record<string, string>;
    ExpressionAttributeValues?: Record<string, AttributeValue>;
  };
}

export function createTerms(): Terms {
  const names = new Map<string, string>();
  const values: Record<string, AttributeValue> = {};
  const placeholderOf = (segment: string): string => {
    const known = names.get(segment);
    if (known !== undefined) return known;
    const placeholder = `#n${names.size}`;
    names.set(segment, placeholder);
    return placeholder;
  };
  return {
    name: (path) => path.split('.').map(placeholderOf).join('.'),
    value(value) {
      const placeholder = `:v${Object.keys(values).length}`;
      values[placeholder] = toAttribute(value);
      return placeholder;
    },
    placeholders: () => ({
      ...(names.size === 0
        ? {}
        : { ExpressionAttributeNames: Object.fromEntries([...names].map(([name, mark]) => [mark, name])) }),
      ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: values }),
    }),
  };
}

/** All must hold; undefined if there is nothing to hold. */
export function conditionExpression(terms: Terms, conditions: readonly Condition[]): string | undefined {
  if (conditions.length === 0) return undefined;
  return group(terms, conditions, 'AND').text;
}

/** DynamoDB's bound on the operands of IN. */
const MOST_OPERANDS = 100;

/** `word` joins the parts of a compound. DynamoDB refuses redundant parentheses, so it is known where some are due. */
interface Phrase {
  readonly text: string;
  readonly word?: 'AND' | 'OR';
}

function phrase(terms: Terms, condition: Condition): Phrase {
  if ('any' in condition) return group(terms, condition.any, 'OR');
  if ('all' in condition) return group(terms, condition.all, 'AND');
  const name = terms.name(condition.attribute);
  switch (condition.is) {
    case 'present':
      return exists(name);
    case 'absent':
      return missing(name);
    case 'in': {
      if (condition.values.length === 0) return join([exists(name), missing(name)], 'AND');
      const lists: Phrase[] = [];
      for (let at = 0; at < condition.values.length; at += MOST_OPERANDS) {
        const operands = condition.values.slice(at, at + MOST_OPERANDS).map((value) => terms.value(value));
        lists.push({ text: `${name} IN (${operands.join(', ')})` });
      }
      return join(lists, 'OR');
    }
    default:
      return { text: `${name} ${condition.is} ${terms.value(condition.value)}` };
  }
}

function group(terms: Terms, conditions: readonly Condition[], word: 'AND' | 'OR'): Phrase {
  if (conditions.length > 0) {
    return join(
      conditions.map((condition) => phrase(terms, condition)),
      word,
    );
  }
  // No alternative holds, no demand fails. Any attribute but a key will do (filters must not name a key).
  const name = terms.name('v');
  return join([exists(name), missing(name)], word === 'OR' ? 'AND' : 'OR');
}

const exists = (name: string): Phrase => ({ text: `attribute_exists(${name})` });
const missing = (name: string): Phrase => ({ text: `attribute_not_exists(${name})` });

function join(phrases: readonly Phrase[], word: 'AND' | 'OR'): Phrase {
  const [only] = phrases;
  if (phrases.length === 1 && only !== undefined) return only;
  const parts = phrases.map((one) =>
    one.word === undefined || one.word === word ? one.text : `(${one.text})`,
  );
  return { text: parts.join(` ${word} `), word };
}

/** Undefined values in `set` are ignored; undefined if no change is left. */
export function updateExpression(terms: Terms, changes: Changes): string | undefined {
  const sets: string[] = [];
  for (const [attribute, value] of Object.entries(changes.set ?? {})) {
    if (value !== undefined) sets.push(`${terms.name(attribute)} = ${terms.value(value)}`);
  }
  for (const [attribute, values] of Object.entries(changes.append ?? {})) {
    const name = terms.name(attribute);
    sets.push(`${name} = list_append(if_not_exists(${name}, ${terms.value([])}), ${terms.value(values)})`);
  }
  for (const [attribute, amount] of Object.entries(changes.add ?? {})) {
    const name = terms.name(attribute);
    // Not ADD: it takes no nested map in all engines, and this says the same.
    sets.push(`${name} = if_not_exists(${name}, ${terms.value(0)}) + ${terms.value(amount)}`);
  }
  const removals = (changes.remove ?? []).map((attribute) => terms.name(attribute));
  const clauses = [
    ...(sets.length === 0 ? [] : [`SET ${sets.join(', ')}`]),
    ...(removals.length === 0 ? [] : [`REMOVE ${removals.join(', ')}`]),
  ];
  return clauses.length === 0 ? undefined : clauses.join(' ');
}

/** Partition and range of a query; undefined if the range is empty, which DynamoDB would refuse. */
export function keyExpression(terms: Terms, input: QueryInput): string | undefined {
  const { partitionKey, sortKey } = keyNames(input);
  const partition = `${terms.name(partitionKey)} = ${terms.value(input.partition)}`;
  const { sort } = input;
  if (sort === undefined) return partition;
  if ('prefix' in sort) {
    if (sort.prefix === '') return partition;
    return `${partition} AND begins_with(${terms.name(sortKey)}, ${terms.value(sort.prefix)})`;
  }
  const { from, to } = sort;
  if (from !== undefined && to !== undefined) {
    if (Buffer.compare(Buffer.from(from), Buffer.from(to)) > 0) return undefined;
    return `${partition} AND ${terms.name(sortKey)} BETWEEN ${terms.value(from)} AND ${terms.value(to)}`;
  }
  if (from !== undefined) return `${partition} AND ${terms.name(sortKey)} >= ${terms.value(from)}`;
  if (to !== undefined) return `${partition} AND ${terms.name(sortKey)} <= ${terms.value(to)}`;
  return partition;
}

function keyNames(input: QueryInput): { readonly partitionKey: string; readonly sortKey: string } {
  if (input.index === undefined) return { partitionKey: 'pk', sortKey: 'sk' };
  const index = tables[input.table].indexes.find(({ name }) => name === input.index);
  if (index === undefined) throw new RangeError(`table ${input.table} has no index ${input.index}`);
  return index;
}
