import type { TableName } from './tables.ts';

/**
 * The store as the domain sees it. Conditions and updates are plain data, so domain code builds them without an AWS
 * client and tests can read them.
 */
export type Scalar = string | number | boolean | Uint8Array;
export type Value = Scalar | null | readonly Value[] | { readonly [name: string]: Value };
export type Item = { readonly [name: string]: Value };
export interface Key {
  readonly pk: string;
  readonly sk: string;
}
export type StoredItem = Item & Key;

export type Condition =
  | { readonly attribute: string; readonly is: 'present' | 'absent' }
  | { readonly attribute: string; readonly is: '=' | '<>' | '<' | '<=' | '>' | '>='; readonly value: Scalar }
  | { readonly attribute: string; readonly is: 'in'; readonly values: readonly Scalar[] }
  | { readonly any: readonly Condition[] }
  | { readonly all: readonly Condition[] };

export interface Changes {
  readonly set?: { readonly [attribute: string]: Value | undefined };
  readonly add?: { readonly [attribute: string]: number };
  readonly append?: { readonly [attribute: string]: readonly Value[] };
  readonly remove?: readonly string[];
}

export type Action =
  | {
      readonly kind: 'put';
      readonly table: TableName;
      readonly item: StoredItem;
      readonly when?: readonly Condition[];
    }
  | {
      readonly kind: 'update';
      readonly table: TableName;
      readonly key: Key;
      readonly changes: Changes;
      /** All must hold. An update without a condition on existence would bring a purged item back: state one. */
      readonly when: readonly Condition[];
    }
  | {
      readonly kind: 'delete';
      readonly table: TableName;
      readonly key: Key;
      readonly when?: readonly Condition[];
    }
  | {
      readonly kind: 'check';
      readonly table: TableName;
      readonly key: Key;
      readonly when: readonly Condition[];
    };

/** `refused`: a condition did not hold; `items` has, per action, the item that stood there (absent: none, or its condition held). */
export type Outcome =
  | { readonly kind: 'done'; readonly item?: StoredItem }
  | {
      readonly kind: 'refused';
      readonly items: readonly (StoredItem | undefined)[];
      readonly failed: readonly number[];
    };

export interface QueryInput {
  readonly table: TableName;
  readonly index?: string;
  readonly partition: string;
  readonly sort?: { readonly prefix: string } | { readonly from?: string; readonly to?: string };
  /** Exclusive start: the last key read, all key attributes of table and index. */
  readonly after?: Readonly<Record<string, string>>;
  readonly limit?: number;
  readonly descending?: boolean;
  readonly consistent?: boolean;
  readonly filter?: readonly Condition[];
}
export interface Page {
  readonly items: readonly StoredItem[];
  readonly next?: Readonly<Record<string, string>>;
}

export interface StoreOptions {
  /** Absolute, epoch ms on the store's clock: retries stop there. */
  readonly deadline?: number;
}

/**
 * Throttling and transaction conflicts are retried inside, with full jitter, until the deadline; a lost answer is
 * settled by repeating the same call under the same token. What is left throws `StoreUnavailable`.
 */
export interface Store {
  get(
    table: TableName,
    key: Key,
    options?: StoreOptions & { readonly consistent?: boolean },
  ): Promise<StoredItem | undefined>;
  /** Consistent reads by default; duplicates are allowed; the answer has the order of the keys. */
  getMany(
    keys: readonly { readonly table: TableName; readonly key: Key }[],
    options?: StoreOptions & { readonly consistent?: boolean },
  ): Promise<readonly (StoredItem | undefined)[]>;
  query(input: QueryInput, options?: StoreOptions): Promise<Page>;
  /** Counts matches over all pages; stops at `atMost`. */
  count(input: QueryInput, atMost?: number, options?: StoreOptions): Promise<number>;
  /** One item; for an update, `item` in the outcome is the item after it. */
  write(action: Exclude<Action, { kind: 'check' }>, options?: StoreOptions): Promise<Outcome>;
  /** All or nothing; at most 100 actions and 4 MB. `token` makes a repeat harmless (10 minutes). */
  transact(actions: readonly Action[], token: string, options?: StoreOptions): Promise<Outcome>;
  /** Every item of a table, page by page; for repair, rebuild and dumps only. */
  scan(table: TableName, after?: Readonly<Record<string, string>>, options?: StoreOptions): Promise<Page>;
}

/** Thrown when the store did not answer within the deadline; the outcome of a write is then unknown. */
export class StoreUnavailable extends Error {
  readonly tag = 'StoreUnavailable';
  constructor(operation: string, options?: ErrorOptions) {
    super(`the store did not complete ${operation} in time`, options);
  }
}

/**
 * Thrown when the store rejects the call itself (malformed, item too large, missing table, no permission, a token used
 * for another transaction): a fault of ours, nothing was written, a repeat would be rejected again.
 */
export class StoreFault extends Error {
  readonly tag = 'StoreFault';
  constructor(operation: string, reason: string) {
    super(`the store rejected ${operation}: ${reason}`);
  }
}
