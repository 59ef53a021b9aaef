import {
  type AttributeValue,
  BatchGetItemCommand,
  type BatchGetItemCommandOutput,
  type DynamoDBClient,
  type GetItemCommandOutput,
  type QueryCommandOutput,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import type { VirtualClock } from './clock.ts';
import type { Write } from './ledger.ts';

type Attributes = Record<string, AttributeValue>;

export interface UnfoldingParts {
  /** Of the world itself: its reads are no calls. */
  readonly client: DynamoDBClient;
  readonly nameOf: (table: Write['table']) => string;
  readonly clock: VirtualClock;
  readonly rng: () => number;
  /** Until the last item of a transaction is visible, ms at most; the others take a few. */
  readonly longestMs: number;
}

/**
 * A transaction that is not a snapshot to readers (design §4): it is committed, its items become visible one after
 * another in any order, and its writer has the answer when the last one is. Meanwhile readers see some of its items and
 * of the others what stood there before; a write to an item that is not visible yet is a conflict.
 */
export class Unfolding {
  readonly #parts: UnfoldingParts;
  /** Identity of an item that is not visible yet → what readers see in its place. */
  readonly #hidden = new Map<string, Attributes | undefined>();

  constructor(parts: UnfoldingParts) {
    this.#parts = parts;
  }

  /** Throws the conflict that a write to a hidden item meets. */
  refuse(command: string, writes: readonly Write[]): void {
    const hidden = writes.map(({ table, key }) => this.#hidden.has(identity(this.#parts.nameOf(table), key)));
    if (!hidden.includes(true)) return;
    const told = { message: 'unfolding', $metadata: { httpStatusCode: 400 } };
    if (command !== 'TransactWriteItemsCommand') throw new TransactionConflictException(told);
    throw new TransactionCanceledException({
      ...told,
      CancellationReasons: hidden.map((is) => ({ Code: is ? 'TransactionConflict' : 'None' })),
    });
  }

  /** To be called before the transaction: what stands in the place of its items. */
  async imagesOf(writes: readonly Write[]): Promise<Map<string, Attributes | undefined>> {
    const { client, nameOf } = this.#parts;
    const images = new Map<string, Attributes | undefined>();
    const requests: Record<string, { Keys: Attributes[]; ConsistentRead: boolean }> = {};
    for (const { table, key } of writes) {
      const name = nameOf(table);
      images.set(identity(name, key), undefined);
      requests[name] ??= { Keys: [], ConsistentRead: true };
      requests[name].Keys.push({ pk: { S: key.pk }, sk: { S: key.sk } });
    }
    const { Responses = {} } = await client.send(new BatchGetItemCommand({ RequestItems: requests }));
    for (const [name, items] of Object.entries(Responses))
      for (const item of items) images.set(identity(name, keyOf(item)), item);
    return images;
  }

  /** To be called after the transaction; resolves when the last of its items is visible. */
  unfold(images: Map<string, Attributes | undefined>): Promise<void> {
    const { clock, rng, longestMs } = this.#parts;
    const order = [...images.keys()].sort(() => rng() - 0.5);
    for (const [id, image] of images) this.#hidden.set(id, image);
    return new Promise((resolve) => {
      let at = 0;
      for (const [index, id] of order.entries()) {
        // One that comes long after the others meets what was done since.
        at += 1 + Math.floor(rng() * (index === order.length - 1 ? longestMs : 8));
        clock.after(at, () => this.#hidden.delete(id));
      }
      clock.after(at, resolve);
    });
  }

  /** What a reader is shown; anything but a read of items is answered as it is. */
  shown(command: string, input: unknown, value: unknown): unknown {
    if (this.#hidden.size === 0) return value;
    const { TableName: table = '', IndexName } = input as { TableName?: string; IndexName?: string };
    const answer = value as { output: unknown };
    switch (command) {
      case 'GetItemCommand': {
        const output = answer.output as GetItemCommandOutput;
        return { ...answer, output: { ...output, Item: output.Item && this.#image(table, output.Item) } };
      }
      case 'BatchGetItemCommand': {
        const output = answer.output as BatchGetItemCommandOutput;
        const Responses = Object.fromEntries(
          Object.entries(output.Responses ?? {}).map(([name, items]) => [name, this.#images(name, items)]),
        );
        return { ...answer, output: { ...output, Responses } };
      }
      case 'QueryCommand': {
        const output = answer.output as QueryCommandOutput;
        if (IndexName !== undefined || output.Items === undefined) return value;
        return { ...answer, output: { ...output, Items: this.#images(table, output.Items) } };
      }
      default:
        return value;
    }
  }

  #images(table: string, items: readonly Attributes[]): Attributes[] {
    return items.map((item) => this.#image(table, item)).filter((item) => item !== undefined);
  }

  #image(table: string, item: Attributes): Attributes | undefined {
    const id = identity(table, keyOf(item));
    return this.#hidden.has(id) ? this.#hidden.get(id) : item;
  }
}

function keyOf(item: Attributes): { pk: string; sk: string } {
  return { pk: item['pk']?.S ?? '', sk: item['sk']?.S ?? '' };
}

function identity(table: string, key: { readonly pk: string; readonly sk: string }): string {
  return JSON.stringify([table, key.pk, key.sk]);
}
