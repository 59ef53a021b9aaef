import {
  type CancellationReason,
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import { type Outcome, StoreFault } from './port.ts';
import { fromItem } from './values-dynamodb.ts';

/**
 * What a failed call means. `refused`: a condition did not hold, a domain answer. `again`: repeat it (conflict,
 * throttle, lost answer); `why` is for people and holds names only. `fault`: the call itself is wrong.
 */
export type Verdict =
  | { readonly kind: 'refused'; readonly outcome: Outcome }
  | { readonly kind: 'again'; readonly why: string }
  | { readonly kind: 'fault'; readonly fault: Error };

/** Reasons in a cancelled transaction, and names of errors, after which the same call may succeed. */
const PASSING = new Set([
  'TransactionConflict',
  'TransactionConflictException',
  'TransactionInProgress',
  'TransactionInProgressException',
  'ThrottlingError',
  'ThrottlingException',
  'ProvisionedThroughputExceeded',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'ReplicatedWriteConflictException',
  'InternalServerError',
]);

/**
 * The SDK's errors hold items (salts, hashes) in their fields, so none of them is passed on, not even as a cause (P10).
 */
export function judge(operation: string, error: unknown): Verdict {
  if (error instanceof TransactionCanceledException) {
    return judgeCancellation(operation, error.CancellationReasons ?? []);
  }
  if (error instanceof ConditionalCheckFailedException) {
    const item = error.Item === undefined ? undefined : fromItem(error.Item);
    return { kind: 'refused', outcome: { kind: 'refused', items: [item], failed: [0] } };
  }
  if (error instanceof DynamoDBServiceException) {
    const status = error.$metadata.httpStatusCode ?? 0;
    if (PASSING.has(error.name) || status >= 500 || status === 429) return { kind: 'again', why: error.name };
    return { kind: 'fault', fault: new StoreFault(operation, `${error.name}: ${error.message}`) };
  }
  // Of our own making: a condition that was not stated, a number that is not finite, an item without a key.
  if (error instanceof TypeError || error instanceof RangeError) return { kind: 'fault', fault: error };
  // Not an answer of the service: no connection, a reset, a timeout, an answer cut short. It may have taken effect.
  return { kind: 'again', why: error instanceof Error ? error.name : 'unknown' };
}

/**
 * A failed condition beside a conflict or a throttle is not believed: the other transaction may be about to make the
 * condition true, and the item that would be returned may be the one from before it. The repeat settles it, at the
 * price of one more round trip; an answer acted upon wrongly could not be taken back.
 */
function judgeCancellation(operation: string, reasons: readonly CancellationReason[]): Verdict {
  const codes = reasons.map((reason) => reason.Code ?? 'None');
  const foreign = codes.find(
    (code) => code !== 'None' && code !== 'ConditionalCheckFailed' && !PASSING.has(code),
  );
  if (foreign !== undefined) {
    const message = reasons[codes.indexOf(foreign)]?.Message;
    return { kind: 'fault', fault: new StoreFault(operation, [foreign, message].join(': ')) };
  }
  const passing = codes.find((code) => PASSING.has(code));
  if (passing !== undefined) return { kind: 'again', why: passing };
  const failed = codes.flatMap((code, at) => (code === 'ConditionalCheckFailed' ? [at] : []));
  if (failed.length === 0) return { kind: 'again', why: 'cancelled without a reason' };
  const items = reasons.map(({ Item }) =>
    Item === undefined || Object.keys(Item).length === 0 ? undefined : fromItem(Item),
  );
  return { kind: 'refused', outcome: { kind: 'refused', items, failed } };
}
