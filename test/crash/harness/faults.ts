import {
  InternalServerError,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import { type Call, type Fate, GO, type Plan } from './calls.ts';

const told = (status = 400) => ({ message: 'injected', $metadata: { httpStatusCode: status } });

/** A transaction that is cancelled for that reason, its other actions as they may. */
function cancelled(call: Call, code: string): Error {
  const { TransactItems = [] } = call.input as { TransactItems?: readonly unknown[] };
  const CancellationReasons = TransactItems.map((_, i) => ({ Code: i === 0 ? code : 'None' }));
  return new TransactionCanceledException({ ...told(), CancellationReasons });
}

function command(call: Call): string | undefined {
  return /^dynamodb (.*)Command$/.exec(call.name)?.[1];
}

function isWrite(call: Call): boolean {
  return /^(TransactWriteItems|PutItem|UpdateItem|DeleteItem)$/.test(command(call) ?? '');
}

/** What a call may meet without anybody dying; `rng` in [0, 1) decides between its kinds. */
export type Fault = (call: Call, rng: () => number) => Fate;

/** Another transaction is under way on the same item: nothing is done. */
export const conflict: Fault = (call) => {
  if (!isWrite(call)) return GO;
  const error =
    command(call) === 'TransactWriteItems'
      ? cancelled(call, 'TransactionConflict')
      : new TransactionConflictException(told());
  return { kind: 'fail', when: 'before', error };
};

/** The table gives no more for the moment: nothing is done. Queues, keys and providers are not of the database. */
export const throttle: Fault = (call, rng) => {
  const name = command(call);
  if (name === undefined) return GO;
  const error =
    rng() < 0.5
      ? new ProvisionedThroughputExceededException(told())
      : name === 'TransactWriteItems'
        ? cancelled(call, rng() < 0.5 ? 'ThrottlingError' : 'ProvisionedThroughputExceeded')
        : new InternalServerError(told(500));
  return { kind: 'fail', when: 'before', error };
};

/** The connection breaks: before the call arrived, or after it was done. */
export const broken: Fault = (call, rng) => {
  const error = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
  // A provider's answer that is lost is the provider's adapter's business.
  if (call.name.startsWith('provider')) return GO;
  return { kind: 'fail', when: rng() < 0.5 ? 'before' : 'after', error };
};

/** Any of them. */
export const anything: Fault = (call, rng) => {
  const faults = [conflict, throttle, broken];
  return faults[Math.floor(rng() * faults.length)]!(call, rng);
};

/** One call in so many meets the fault; a call that is repeated may meet it again. */
export function nowAndThen(fault: Fault, rng: () => number, share: number): Plan {
  return (call) => (rng() < share ? fault(call, rng) : GO);
}
