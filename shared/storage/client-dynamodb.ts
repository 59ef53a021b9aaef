import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Environment } from '../runtime/environment.ts';
import type { TableName } from './tables.ts';

/**
 * One attempt per call: the store retries by itself, because only it knows the caller's deadline, keeps the token, and
 * tells a conflict from a domain answer. The timeouts make a call that hangs fail early enough to be repeated.
 * Credentials come from the SDK's default chain.
 */
export function createDynamoClient(
  environment: Pick<Environment, 'AWS_REGION' | 'AWS_ENDPOINT_URL_DYNAMODB'>,
): DynamoDBClient {
  const endpoint = environment.AWS_ENDPOINT_URL_DYNAMODB;
  return new DynamoDBClient({
    region: environment.AWS_REGION,
    ...(endpoint === undefined ? {} : { endpoint }),
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
  });
}

/** The deployed names of the five tables; that of a role which is switched off is empty, and no call may use it. */
export function tableNames(
  environment: Pick<
    Environment,
    | 'SEALPOST_STATE_TABLE'
    | 'SEALPOST_VIEW_TABLE'
    | 'SEALPOST_OUTBOX_TABLE'
    | 'SEALPOST_DELEGATION_TABLE'
    | 'SEALPOST_REGISTRY_TABLE'
  >,
): Readonly<Record<TableName, string>> {
  return {
    state: environment.SEALPOST_STATE_TABLE,
    view: environment.SEALPOST_VIEW_TABLE,
    outbox: environment.SEALPOST_OUTBOX_TABLE ?? '',
    delegation: environment.SEALPOST_DELEGATION_TABLE ?? '',
    registry: environment.SEALPOST_REGISTRY_TABLE,
  };
}
