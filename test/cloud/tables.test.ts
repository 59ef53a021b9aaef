import { describe, expect, it } from 'vitest';
import { type TableName, tables } from '../../shared/storage/tables.ts';
import { readable, synthesise } from './synthesise.ts';

const stack = synthesise();

describe('a table', () => {
  const tableOf = (name: TableName) => {
    const start = `Tables${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    return stack.ofType('AWS::DynamoDB::Table').find(({ id }) => id.startsWith(start))!;
  };
  const names = Object.keys(tables) as TableName[];

  it('is built from its definition: keys, indexes, stream, recovery, time to live', () => {
    for (const name of names) {
      const { properties } = tableOf(name);
      const definition = tables[name];
      const key = (HASH: string, RANGE: string) => [
        { AttributeName: HASH, KeyType: 'HASH' },
        { AttributeName: RANGE, KeyType: 'RANGE' },
      ];
      expect(properties['KeySchema']).toEqual(key('pk', 'sk'));
      expect(properties['GlobalSecondaryIndexes'] ?? []).toEqual(
        definition.indexes.map((index) => ({
          IndexName: index.name,
          KeySchema: key(index.partitionKey, index.sortKey),
          Projection: { ProjectionType: index.projection },
        })),
      );
      expect(properties['StreamSpecification']?.StreamViewType).toBe(definition.stream);
      expect(properties['PointInTimeRecoverySpecification'].PointInTimeRecoveryEnabled).toBe(
        definition.pointInTimeRecovery,
      );
      expect(properties['TimeToLiveSpecification']).toEqual({ AttributeName: 'ttl', Enabled: true });
    }
  });

  it('is on demand, encrypted with the customer key, and outlives the stack', () => {
    for (const name of names) {
      const { properties, deletionPolicy } = tableOf(name);
      expect(properties).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        DeletionProtectionEnabled: true,
        SSESpecification: { SSEEnabled: true, SSEType: 'KMS' },
      });
      expect(readable(properties['SSESpecification'].KMSMasterKeyId)).toMatch(/^<TablesKey/);
      expect(deletionPolicy).toBe('Retain');
    }
  });

  it('goes with the stack in a trial', () => {
    const trial = synthesise({ retain: 'false' });
    for (const { properties, deletionPolicy } of trial.ofType('AWS::DynamoDB::Table')) {
      expect(deletionPolicy).toBe('Delete');
      expect(properties['DeletionProtectionEnabled']).toBe(false);
    }
  });
});

describe('the stream of state', () => {
  const [mapping] = stack
    .ofType('AWS::Lambda::EventSourceMapping')
    .map(({ properties }) => properties)
    .filter((properties) => readable(properties['EventSourceArn']).includes('StreamArn'));

  it('wakes the projector for new revisions only, from the oldest record on', () => {
    expect(mapping).toMatchObject({
      StartingPosition: 'TRIM_HORIZON',
      FunctionName: { Ref: expect.any(String) },
    });
    expect(mapping!['FunctionName'].Ref).toMatch(/^ProjectionProjectorFunction/);
    const [filter, ...others] = mapping!['FilterCriteria'].Filters;
    expect(others).toEqual([]);
    expect(JSON.parse(filter.Pattern)).toEqual({
      eventName: ['INSERT'],
      dynamodb: { Keys: { sk: { S: [{ prefix: 'R#' }] } } },
    });
  });

  it('is never blocked by a record: bounded retries and age, bisection, single failures, and word of what is lost', () => {
    expect(mapping).toMatchObject({
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      MaximumRetryAttempts: 10,
    });
    // Records live 24 hours.
    expect(mapping!['MaximumRecordAgeInSeconds']).toBeLessThan(24 * 3600);
    expect(readable(mapping!['DestinationConfig'].OnFailure.Destination)).toMatch(
      /^<ProjectionLostQueue.*\.Arn>$/,
    );
  });
});
