import { isDeepStrictEqual } from 'node:util';
import type {
  Action,
  Condition,
  Item,
  Key,
  Outcome,
  Page,
  QueryInput,
  Store,
  StoredItem,
} from '../../shared/storage/port.ts';
import type { TableName } from '../../shared/storage/tables.ts';

/** The registry table in memory, with the port's conditions; updates and indexes, which the registry does not use, throw. */
export interface MemoryStore extends Store {
  readonly items: () => readonly StoredItem[];
  /** Runs before each transaction takes effect: where another administrator's edit comes in between. */
  beforeTransaction: (() => Promise<void> | void) | undefined;
  reads: number;
}

export function createMemoryStore(): MemoryStore {
  const held = new Map<string, StoredItem>();
  const address = (table: TableName, key: Key) => JSON.stringify([table, key.pk, key.sk]);
  const copy = (item: StoredItem | undefined) => (item === undefined ? undefined : structuredClone(item));

  const apply = (actions: readonly Action[]): Outcome => {
    const stood = actions.map((action) => held.get(addressOf(action)));
    const failed = actions.flatMap((action, index) =>
      (action.when ?? []).every((condition) => holds(condition, stood[index])) ? [] : [index],
    );
    if (failed.length > 0)
      return {
        kind: 'refused',
        failed,
        items: stood.map((item, index) => (failed.includes(index) ? copy(item) : undefined)),
      };
    for (const action of actions) {
      if (action.kind === 'put') held.set(addressOf(action), structuredClone(action.item));
      else if (action.kind === 'delete') held.delete(addressOf(action));
      else if (action.kind === 'update') throw new Error('the registry does not update in place');
    }
    return { kind: 'done' };
  };
  const addressOf = (action: Action) =>
    action.kind === 'put' ? address(action.table, action.item) : address(action.table, action.key);

  const store: MemoryStore = {
    items: () => [...held.values()],
    beforeTransaction: undefined,
    reads: 0,
    async get(table, key, options) {
      if (options?.consistent === false) throw new Error('a stale read lets a disabled client in');
      store.reads += 1;
      return copy(held.get(address(table, key)));
    },
    async getMany(wanted) {
      return wanted.map(({ table, key }) => copy(held.get(address(table, key))));
    },
    async query(input: QueryInput): Promise<Page> {
      store.reads += 1;
      if (input.index || input.filter || input.sort)
        throw new Error('the registry asks for whole partitions');
      const rows = [...held.values()]
        .filter((item) => item.pk === input.partition)
        .sort((a, b) => (a.sk < b.sk === !input.descending ? -1 : 1))
        .filter(
          ({ sk }) => !input.after || (input.descending ? sk < input.after['sk']! : sk > input.after['sk']!),
        );
      // Small pages, so that whoever forgets the next one is found out.
      const page = rows.slice(0, Math.min(3, input.limit ?? 3)).map((item) => copy(item)!);
      const last = page.at(-1);
      return rows.length > page.length && last
        ? { items: page, next: { pk: last.pk, sk: last.sk } }
        : { items: page };
    },
    async count() {
      throw new Error('the registry does not count');
    },
    async write(action) {
      return apply([action]);
    },
    async transact(actions) {
      const between = store.beforeTransaction;
      store.beforeTransaction = undefined;
      await between?.();
      return apply(actions);
    },
    async scan() {
      return { items: [...held.values()].map((item) => copy(item)!) };
    },
  };
  return store;
}

function holds(condition: Condition, item: Item | undefined): boolean {
  if ('any' in condition) return condition.any.some((one) => holds(one, item));
  if ('all' in condition) return condition.all.every((one) => holds(one, item));
  const value = item?.[condition.attribute];
  if (condition.is === 'absent') return value === undefined;
  if (value === undefined) return false;
  if (condition.is === 'present') return true;
  if (condition.is === 'in') return condition.values.some((one) => isDeepStrictEqual(one, value));
  if (condition.is === '=') return isDeepStrictEqual(condition.value, value);
  throw new Error('the registry compares for equality only');
}
