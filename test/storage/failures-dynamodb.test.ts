import {
  type CancellationReason,
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { judge } from '../../shared/storage/failures-dynamodb.ts';
import { StoreFault } from '../../shared/storage/index.ts';

const held = { pk: { S: 'T#1' }, sk: { S: 'H' }, salt: { S: 'the salt' } };
const refused: CancellationReason = { Code: 'ConditionalCheckFailed', Item: held };
const none: CancellationReason = { Code: 'None' };

const cancelled = (...CancellationReasons: CancellationReason[]) =>
  judge(
    'a transaction',
    new TransactionCanceledException({ message: 'cancelled', $metadata: {}, CancellationReasons }),
  );
const answered = (name: string, httpStatusCode: number) =>
  judge(
    'a put',
    new DynamoDBServiceException({
      name,
      $fault: httpStatusCode < 500 ? 'client' : 'server',
      $metadata: { httpStatusCode },
      message: 'as said',
    }),
  );

describe('what a failed call means', () => {
  it.each([
    'TransactionConflict',
    'ThrottlingError',
    'ProvisionedThroughputExceeded',
    'TransactionInProgress',
  ])('a transaction cancelled for %s alone is repeated', (Code) => {
    expect(cancelled(none, { Code }, none)).toEqual({ kind: 'again', why: Code });
  });

  it('a failed condition is a domain answer that tells which action and what stood there', () => {
    expect(cancelled(none, refused, { Code: 'ConditionalCheckFailed' })).toEqual({
      kind: 'refused',
      outcome: {
        kind: 'refused',
        items: [undefined, { pk: 'T#1', sk: 'H', salt: 'the salt' }, undefined],
        failed: [1, 2],
      },
    });
  });

  it.each(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'])(
    'a failed condition beside %s is not believed but repeated',
    (Code) => {
      expect(cancelled(refused, { Code })).toMatchObject({ kind: 'again' });
      expect(cancelled({ Code }, refused)).toMatchObject({ kind: 'again' });
    },
  );

  it.each(['ValidationError', 'ItemCollectionSizeLimitExceeded', 'SomethingNew'])(
    'a reason %s is a fault, whatever stands beside it',
    (Code) => {
      const verdict = cancelled(refused, { Code: 'TransactionConflict' }, { Code, Message: 'too large' });
      expect(verdict).toMatchObject({ kind: 'fault', fault: expect.any(StoreFault) });
    },
  );

  it('a single refused write tells what stood there', () => {
    const error = new ConditionalCheckFailedException({ message: '', $metadata: {}, Item: held });
    expect(judge('a put', error)).toMatchObject({
      kind: 'refused',
      outcome: { items: [{ pk: 'T#1', salt: 'the salt' }], failed: [0] },
    });
  });

  it.each([
    ['ProvisionedThroughputExceededException', 400],
    ['ThrottlingException', 400],
    ['RequestLimitExceeded', 400],
    ['TransactionConflictException', 400],
    ['TransactionInProgressException', 400],
    ['InternalServerError', 500],
    ['ServiceUnavailable', 503],
    ['AnythingElse', 502],
  ])('%s (%i) is repeated', (name, status) => {
    expect(answered(name, status)).toEqual({ kind: 'again', why: name });
  });

  it.each(['ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT'])('a call that ends in %s is repeated', (code) => {
    expect(judge('a put', Object.assign(new Error(code), { code }))).toMatchObject({ kind: 'again' });
  });

  it.each([
    ['ValidationException', 400],
    ['ResourceNotFoundException', 400],
    ['AccessDeniedException', 400],
    ['IdempotentParameterMismatchException', 400],
  ])('%s is a fault of ours and not repeated', (name, status) => {
    expect(answered(name, status)).toMatchObject({ kind: 'fault', fault: { tag: 'StoreFault' } });
  });

  it('nothing that is passed on holds the stored item (P10)', () => {
    const verdicts = [
      cancelled(refused, { Code: 'TransactionConflict' }),
      cancelled(refused, { Code: 'New' }),
    ];
    for (const verdict of verdicts) {
      const told = verdict.kind === 'fault' ? { ...verdict.fault, message: verdict.fault.message } : verdict;
      expect(JSON.stringify(told)).not.toContain('the salt');
    }
  });
});
