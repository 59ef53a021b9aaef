import {
  BatchGetItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandInput,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { Clock, Random } from '../runtime/ports.ts';
import { createRequests } from './actions-dynamodb.ts';
import { judge } from './failures-dynamodb.ts';
import type { Outcome, Store, StoredItem, StoreOptions } from './port.ts';
import { batchRequest, identity, pageOf, queryRequest, readBatch } from './reads-dynamodb.ts';
import { type Attempt, deadlineOf, untilDone } from './retry.ts';
import type { TableName } from './tables.ts';
import { fromItem, toAttributes, toKey } from './values-dynamodb.ts';

export interface DynamoStoreParts {
  /** Made by `createDynamoClient`: a client that retries by itself would outlive the deadline. */
  readonly client: DynamoDBClient;
  readonly tables: Readonly<Record<TableName, string>>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
}

/** DynamoDB's bounds. */
const MOST_KEYS = 100;
const MOST_ACTIONS = 100;
const LONGEST_TOKEN = 36;

/**
 * The store on DynamoDB (design §4, transactions).
 *
 * - Reads are consistent by default, but for those of an index, which cannot be.
 * - A query reads at most `limit` items (or 1 MB) and then filters: a page may be empty and still have a `next`.
 * - Conflicts, throttles, 5xx and lost answers are repeated until the deadline (default 5 s from the call), then
 *   `StoreUnavailable`. What a repeat cannot mend throws `StoreFault`.
 * - `transact` repeats under its token: a lost answer is given again, and nothing is done twice.
 * - `write` has no token. If a first try took effect and its answer was lost, the repeat may be refused by the very
 *   write it repeats: the caller recognises its own write by an id of its own (commit id, lease token) in the item that
 *   stood there. `add` and `append` without such a condition may count twice.
 */
export function createDynamoStore(parts: DynamoStoreParts): Store {
  const { client, tables } = parts;
  const requests = createRequests(tables);

  /** One call, repeated; a refusal is an answer only to the writes. */
  const call = <T>(
    operation: string,
    options: StoreOptions | undefined,
    send: (signal: AbortSignal) => Promise<Attempt<T>>,
    refused?: (outcome: Outcome) => T,
  ): Promise<T> =>
    untilDone(parts, operation, deadlineOf(parts.clock, options), async (signal): Promise<Attempt<T>> => {
      try {
        return await send(signal);
      } catch (error) {
        const verdict = judge(operation, error);
        if (verdict.kind === 'again') return verdict;
        if (verdict.kind === 'refused' && refused !== undefined) return done(refused(verdict.outcome));
        throw verdict.kind === 'fault' ? verdict.fault : error;
      }
    });

  const query = (request: QueryCommandInput, options: StoreOptions | undefined) =>
    call('a query', options, async (abortSignal) =>
      done(await client.send(new QueryCommand(request), { abortSignal })),
    );

  return {
    get: (table, key, options) =>
      call('a read', options, async (abortSignal) => {
        const command = new GetItemCommand({
          TableName: tables[table],
          Key: toKey(key),
          ConsistentRead: options?.consistent ?? true,
        });
        const { Item } = await client.send(command, { abortSignal });
        return done(Item === undefined ? undefined : fromItem(Item));
      }),

    async getMany(wanted, options) {
      const deadline = deadlineOf(parts.clock, options);
      const consistent = options?.consistent ?? true;
      const found = new Map<string, StoredItem>();
      // DynamoDB refuses a key that is named twice.
      const missing = new Map(wanted.map((one) => [identity(one.table, one.key), one]));
      while (missing.size > 0) {
        await call('a batch read', { deadline }, async (abortSignal): Promise<Attempt<void>> => {
          const page = [...missing.values()].slice(0, MOST_KEYS);
          const command = new BatchGetItemCommand(batchRequest(tables, page, consistent));
          const answer = readBatch(tables, page, await client.send(command, { abortSignal }));
          for (const [id, item] of answer.found) found.set(id, item);
          for (const { table, key } of page) {
            const id = identity(table, key);
            if (!answer.left.has(id)) missing.delete(id);
          }
          return answer.left.size === 0 ? done(undefined) : { kind: 'again', why: 'unprocessed keys' };
        });
      }
      return wanted.map(({ table, key }) => found.get(identity(table, key)));
    },

    async query(input, options) {
      const request = queryRequest(tables, input);
      if (request === undefined) return { items: [] };
      return pageOf(await query(request, options));
    },

    async count({ limit: _, ...input }, atMost = Number.POSITIVE_INFINITY, options) {
      const deadline = deadlineOf(parts.clock, options);
      let total = 0;
      let request = queryRequest(tables, input);
      while (request !== undefined && total < atMost) {
        const left = atMost - total;
        // With a filter the limit would bound what is read, not what matches.
        const bound = input.filter === undefined && Number.isFinite(left) ? { Limit: left } : {};
        const answer = await query({ ...request, Select: 'COUNT', ...bound }, { deadline });
        total += answer.Count ?? 0;
        const { LastEvaluatedKey: last } = answer;
        request = last === undefined ? undefined : { ...request, ExclusiveStartKey: last };
      }
      return Math.min(total, atMost);
    },

    write: (action, options) =>
      call<Outcome>(
        `a ${action.kind}`,
        options,
        async (abortSignal) => {
          switch (action.kind) {
            case 'put':
              await client.send(new PutItemCommand(requests.put(action)), { abortSignal });
              return done({ kind: 'done' });
            case 'delete':
              await client.send(new DeleteItemCommand(requests.delete(action)), { abortSignal });
              return done({ kind: 'done' });
            case 'update': {
              const command = new UpdateItemCommand({ ...requests.update(action), ReturnValues: 'ALL_NEW' });
              const { Attributes } = await client.send(command, { abortSignal });
              return done(
                Attributes === undefined ? { kind: 'done' } : { kind: 'done', item: fromItem(Attributes) },
              );
            }
          }
        },
        (outcome) => outcome,
      ),

    async transact(actions, token, options) {
      if (actions.length === 0 || actions.length > MOST_ACTIONS) {
        throw new RangeError('a transaction has 1 to 100 actions');
      }
      if (token.length === 0 || token.length > LONGEST_TOKEN) {
        throw new RangeError('a transaction token has 1 to 36 characters');
      }
      const input = { TransactItems: actions.map(requests.inTransaction), ClientRequestToken: token };
      return call<Outcome>(
        'a transaction',
        options,
        async (abortSignal) => {
          await client.send(new TransactWriteItemsCommand(input), { abortSignal });
          return done({ kind: 'done' });
        },
        (outcome) => outcome,
      );
    },

    scan: (table, after, options) =>
      call('a scan', options, async (abortSignal) => {
        const command = new ScanCommand({
          TableName: tables[table],
          ConsistentRead: true,
          ...(after === undefined ? {} : { ExclusiveStartKey: toAttributes(after) }),
        });
        return done(pageOf(await client.send(command, { abortSignal })));
      }),
  };
}

const done = <T>(value: T): Attempt<T> => ({ kind: 'done', value });
