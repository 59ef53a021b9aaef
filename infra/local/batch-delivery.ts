import { failuresOf } from './invoker.ts';

export interface Delivery<Item> {
  readonly id: (item: Item) => string;
  /** Calls the function; resolves with what it returned, rejects with what it threw. */
  readonly invoke: (batch: readonly Item[]) => Promise<unknown>;
  /** Everything up to here is dealt with and is not delivered again. */
  readonly checkpoint: (item: Item) => void;
  /** A record that failed too often is left behind, so that those after it are not held up. */
  readonly discard: (item: Item, error: unknown) => void;
  readonly onError: (error: unknown) => void;
  /** Repeats of one batch, the first attempt not counted. */
  readonly retryAttempts: number;
  /** Waits before the n-th repeat, n from 1; rejects to give up, when the host stops. */
  readonly backoff: (attempt: number) => Promise<void>;
}

/**
 * Delivers records in order as a stream's event source mapping does, with `reportBatchItemFailures` and
 * `bisectBatchOnError`: after a reported failure the rest is delivered from the lowest failed record on; a batch that
 * threw is split, which uses up no repeat, until the record at fault stands alone; that one is repeated and at last
 * discarded.
 */
export async function deliver<Item>(
  items: readonly Item[],
  delivery: Delivery<Item>,
  attempt = 0,
): Promise<void> {
  const last = items.at(-1);
  if (last === undefined) return;
  let failed: number;
  let cause: unknown;
  try {
    failed = lowestFailure(items, await delivery.invoke(items), delivery.id);
    if (failed === items.length) return delivery.checkpoint(last);
    cause = new Error(`reported as failed: record ${delivery.id(items[failed] as Item)}`);
    if (failed > 0) delivery.checkpoint(items[failed - 1] as Item);
  } catch (error) {
    failed = 0;
    cause = error;
  }
  delivery.onError(cause);
  const rest = items.slice(failed);
  if (rest.length > 1) {
    const middle = Math.ceil(rest.length / 2);
    await deliver(rest.slice(0, middle), delivery);
    return deliver(rest.slice(middle), delivery);
  }
  const repeats = failed > 0 ? 0 : attempt;
  if (repeats >= delivery.retryAttempts) {
    delivery.discard(last, cause);
    return delivery.checkpoint(last);
  }
  await delivery.backoff(repeats + 1);
  return deliver(rest, delivery, repeats + 1);
}

function lowestFailure<Item>(items: readonly Item[], answer: unknown, id: (item: Item) => string): number {
  const failures = failuresOf(answer, new Set(items.map(id)));
  // What cannot be read counts as the failure of everything.
  if (!failures) return 0;
  const index = items.findIndex((item) => failures.includes(id(item)));
  return index === -1 ? items.length : index;
}
