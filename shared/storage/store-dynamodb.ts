import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Clock, Random } from '../runtime/ports.ts';
import type { Store } from './port.ts';
import type { TableName } from './tables.ts';

export interface DynamoStoreParts {
  readonly client: DynamoDBClient;
  readonly tables: Readonly<Record<TableName, string>>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
}

export function createDynamoStore(_parts: DynamoStoreParts): Store {
  throw new Error('not built yet');
}
