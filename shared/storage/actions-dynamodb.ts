import type {
  ConditionCheck,
  DeleteItemCommandInput,
  PutItemCommandInput,
  TransactWriteItem,
  UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { conditionExpression, createTerms, type Terms, updateExpression } from './expressions-dynamodb.ts';
import type { Action, Condition } from './port.ts';
import type { TableName } from './tables.ts';
import { toAttributes, toKey } from './values-dynamodb.ts';

type Put = Extract<Action, { kind: 'put' }>;
type Update = Extract<Action, { kind: 'update' }>;
type Delete = Extract<Action, { kind: 'delete' }>;
type Check = Extract<Action, { kind: 'check' }>;

/** Whoever is refused reads what stood there from the refusal, without another read. */
const TELL = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;

/** Actions of the port as DynamoDB requests. Updates and checks without a condition throw RangeError. */
export function createRequests(tables: Readonly<Record<TableName, string>>) {
  const put = (action: Put): PutItemCommandInput => {
    const terms = createTerms();
    const condition = when(terms, action.when);
    const Item = toAttributes(action.item);
    return { TableName: tables[action.table], Item, ...condition, ...terms.placeholders(), ...TELL };
  };

  const update = (action: Update): UpdateItemCommandInput => {
    const terms = createTerms();
    const condition = when(terms, stated(action));
    const changes = updateExpression(terms, action.changes);
    return {
      TableName: tables[action.table],
      Key: toKey(action.key),
      ...(changes === undefined ? {} : { UpdateExpression: changes }),
      ...condition,
      ...terms.placeholders(),
      ...TELL,
    };
  };

  const remove = (action: Delete): DeleteItemCommandInput => {
    const terms = createTerms();
    const condition = when(terms, action.when);
    const Key = toKey(action.key);
    return { TableName: tables[action.table], Key, ...condition, ...terms.placeholders(), ...TELL };
  };

  const check = (action: Check | Update): ConditionCheck => {
    const terms = createTerms();
    const ConditionExpression = conditionExpression(terms, stated(action));
    const Key = toKey(action.key);
    return {
      TableName: tables[action.table],
      Key,
      ConditionExpression,
      ...terms.placeholders(),
      ...TELL,
    };
  };

  const inTransaction = (action: Action): TransactWriteItem => {
    switch (action.kind) {
      case 'put':
        return { Put: put(action) };
      case 'delete':
        return { Delete: remove(action) };
      case 'check':
        return { ConditionCheck: check(action) };
      case 'update': {
        const { UpdateExpression, ...rest } = update(action);
        // A transaction refuses an update without changes; its condition must hold all the same.
        if (UpdateExpression === undefined) return { ConditionCheck: check(action) };
        return { Update: { ...rest, UpdateExpression } };
      }
    }
  };

  return { put, update, delete: remove, inTransaction };
}

/** An update or a check of nothing is a mistake: the first would bring purged items back (design §4). */
function stated(action: Check | Update): readonly Condition[] {
  if (action.when.length === 0) throw new RangeError(`a ${action.kind} states a condition`);
  return action.when;
}

function when(terms: Terms, conditions: readonly Condition[] | undefined): { ConditionExpression?: string } {
  const expression = conditionExpression(terms, conditions ?? []);
  return expression === undefined ? {} : { ConditionExpression: expression };
}
