import type { AttributeValue, TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { Key, StoredItem, TableName } from '../../../shared/storage/index.ts';
import { fromItem } from '../../../shared/storage/values-dynamodb.ts';
import { type Revision, revisionOf } from '../../../shared/tasks/formats.ts';

type Attributes = Record<string, AttributeValue>;

export interface Write {
  readonly kind: 'put' | 'update' | 'delete';
  readonly table: TableName;
  readonly key: Key;
  /** Of a put. */
  readonly item?: StoredItem;
  /** Of an update: what it sets. */
  readonly sets?: Readonly<Record<string, unknown>>;
}

/** Something that took effect, in the order in which it did. */
export type Effect =
  | { readonly kind: 'write'; readonly at: number; readonly by: string; readonly writes: readonly Write[] }
  | {
      readonly kind: 'provider';
      readonly at: number;
      readonly task: string;
      readonly attempt: number;
      /** Made by an instance that had been frozen: it may not know what happened meanwhile. */
      readonly late: boolean;
      /** It was told what became of the steps that it had handed on. */
      readonly resumed: boolean;
    }
  /** A message for a queue. */
  | { readonly kind: 'queued'; readonly at: number; readonly queue: string; readonly body: string }
  | { readonly kind: 'webhook'; readonly at: number; readonly body: string };

/** What took effect, whoever learned of it. Its length is the order of things: what stands later happened later. */
export class Ledger {
  readonly effects: Effect[] = [];
  readonly #written = new Set<TableName>();
  readonly #tokens = new Set<string>();

  note(effect: Effect): void {
    this.effects.push(effect);
    if (effect.kind === 'write') for (const { table } of effect.writes) this.#written.add(table);
  }

  isWritten(table: TableName): boolean {
    return this.#written.has(table);
  }

  /** Of a transaction: whether it took effect now, and not by an earlier call under the same token. */
  isFirst(token: string | undefined): boolean {
    if (token === undefined) return true;
    if (this.#tokens.has(token)) return false;
    this.#tokens.add(token);
    return true;
  }

  /** Puts of items of one table, with their place in the order of effects. */
  puts(
    table: TableName,
  ): { readonly place: number; readonly item: StoredItem; readonly with: readonly Write[] }[] {
    return this.effects.flatMap((effect, place) =>
      effect.kind !== 'write'
        ? []
        : effect.writes.flatMap((write) =>
            write.item && write.table === table ? [{ place, item: write.item, with: effect.writes }] : [],
          ),
    );
  }

  /** Committed revisions in the order of their commits. */
  revisions(): { readonly place: number; readonly revision: Revision; readonly with: readonly Write[] }[] {
    return this.puts('state')
      .filter(({ item }) => isRevision(item))
      .map(({ place, item, with: writes }) => ({ place, revision: revisionOf(item), with: writes }));
  }
}

export function isRevision(key: Key): boolean {
  return key.pk.startsWith('T#') && key.sk.startsWith('R#');
}

/** The writes that a DynamoDB command asks for; empty for a read. */
export function writesOf(command: string, input: unknown, tableOf: (name: string) => TableName): Write[] {
  const request = input as {
    TransactItems?: readonly TransactWriteItem[];
    TableName?: string;
    Item?: Attributes;
    Key?: Attributes;
  } & Partial<Changing>;
  switch (command) {
    case 'TransactWriteItemsCommand':
      return (request.TransactItems ?? []).flatMap(({ Put, Update, Delete }) => [
        ...(Put ? [put(tableOf(Put.TableName!), Put.Item!)] : []),
        ...(Update ? [update(tableOf(Update.TableName!), Update)] : []),
        ...(Delete ? [other('delete', tableOf(Delete.TableName!), Delete.Key!)] : []),
      ]);
    case 'PutItemCommand':
      return [put(tableOf(request.TableName!), request.Item!)];
    case 'UpdateItemCommand':
      return [update(tableOf(request.TableName!), request)];
    case 'DeleteItemCommand':
      return [other('delete', tableOf(request.TableName!), request.Key!)];
    default:
      return [];
  }
}

function put(table: TableName, attributes: Attributes): Write {
  const item = fromItem(attributes);
  return { kind: 'put', table, key: { pk: item.pk, sk: item.sk }, item };
}

interface Changing {
  readonly Key?: Attributes | undefined;
  readonly UpdateExpression?: string | undefined;
  readonly ExpressionAttributeNames?: Record<string, string> | undefined;
  readonly ExpressionAttributeValues?: Attributes | undefined;
}

/** What an update sets to a value that its call holds: the attributes themselves, no path into them. */
function update(table: TableName, changing: Changing): Write {
  const { UpdateExpression = '', ExpressionAttributeNames: names, ExpressionAttributeValues } = changing;
  const values = fromItem({ pk: { S: '' }, sk: { S: '' }, ...ExpressionAttributeValues });
  const sets = [...UpdateExpression.matchAll(/(#\w+) = (:\w+)/g)].map(([, name, value]) => [
    names?.[name!],
    values[value!],
  ]);
  return { ...other('update', table, changing.Key!), sets: Object.fromEntries(sets) };
}

function other(kind: 'update' | 'delete', table: TableName, attributes: Attributes): Write {
  return { kind, table, key: { pk: String(attributes['pk']?.S), sk: String(attributes['sk']?.S) } };
}
