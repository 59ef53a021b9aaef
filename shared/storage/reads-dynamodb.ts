import type {
  BatchGetItemCommandInput,
  BatchGetItemCommandOutput,
  QueryCommandInput,
  QueryCommandOutput,
  ScanCommandOutput,
} from '@aws-sdk/client-dynamodb';
import { conditionExpression, createTerms, keyExpression } from './expressions-dynamodb.ts';
import type { Key, Page, QueryInput, StoredItem } from './port.ts';
import type { TableName } from './tables.ts';
import { fromItem, fromPosition, toAttributes, toKey } from './values-dynamodb.ts';

type Names = Readonly<Record<TableName, string>>;

/** Undefined if the range is empty: there is nothing to ask. */
export function queryRequest(tables: Names, input: QueryInput): QueryCommandInput | undefined {
  const terms = createTerms();
  const keys = keyExpression(terms, input);
  if (keys === undefined) return undefined;
  const filter = conditionExpression(terms, input.filter ?? []);
  return {
    TableName: tables[input.table],
    KeyConditionExpression: keys,
    ScanIndexForward: input.descending !== true,
    ConsistentRead: input.consistent ?? input.index === undefined,
    ...(input.index === undefined ? {} : { IndexName: input.index }),
    ...(filter === undefined ? {} : { FilterExpression: filter }),
    ...(input.limit === undefined ? {} : { Limit: input.limit }),
    ...(input.after === undefined ? {} : { ExclusiveStartKey: toAttributes(input.after) }),
    ...terms.placeholders(),
  };
}

export function pageOf(answer: QueryCommandOutput | ScanCommandOutput): Page {
  const items = (answer.Items ?? []).map(fromItem);
  return answer.LastEvaluatedKey === undefined
    ? { items }
    : { items, next: fromPosition(answer.LastEvaluatedKey) };
}

export interface Wanted {
  readonly table: TableName;
  readonly key: Key;
}

/** One string per item, whatever stands in its key. */
export const identity = (table: TableName, key: Key): string => JSON.stringify([table, key.pk, key.sk]);

export function batchRequest(
  tables: Names,
  page: readonly Wanted[],
  consistent: boolean,
): BatchGetItemCommandInput {
  const byTable = Map.groupBy(page, ({ table }) => tables[table]);
  return {
    RequestItems: Object.fromEntries(
      [...byTable].map(([name, wanted]) => [
        name,
        { Keys: wanted.map(({ key }) => toKey(key)), ConsistentRead: consistent },
      ]),
    ),
  };
}

/** What came, and the identities that DynamoDB left for another call (throttled, or beyond 16 MB in one answer). */
export function readBatch(tables: Names, page: readonly Wanted[], answer: BatchGetItemCommandOutput) {
  const found = new Map<string, StoredItem>();
  const left = new Set<string>();
  for (const table of new Set(page.map((wanted) => wanted.table))) {
    for (const attributes of answer.Responses?.[tables[table]] ?? []) {
      const item = fromItem(attributes);
      found.set(identity(table, item), item);
    }
    for (const { pk, sk } of answer.UnprocessedKeys?.[tables[table]]?.Keys ?? []) {
      left.add(identity(table, { pk: pk?.S ?? '', sk: sk?.S ?? '' }));
    }
  }
  return { found, left };
}
