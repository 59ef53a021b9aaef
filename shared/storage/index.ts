/**
 * The store as domain code uses it. The DynamoDB adapter (`store-dynamodb.ts`, `client-dynamodb.ts`) is not exported
 * here: only composition roots and tests import it, so that no domain file pulls in an AWS client.
 */
export { keys, month, taskOfKey, timeKey } from './keys.ts';
export type {
  Action,
  Changes,
  Condition,
  Item,
  Key,
  Outcome,
  Page,
  QueryInput,
  Scalar,
  Store,
  StoredItem,
  StoreOptions,
  Value,
} from './port.ts';
export { StoreFault, StoreUnavailable } from './port.ts';
export type { IndexDefinition, TableDefinition, TableName } from './tables.ts';
export { DUE_SHARDS, tables } from './tables.ts';
