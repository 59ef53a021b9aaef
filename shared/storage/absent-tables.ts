import { type Action, type Outcome, type Store, type StoredItem, StoreFault } from './port.ts';
import type { TableName } from './tables.ts';

/**
 * The store of a gateway one of whose roles is switched off: functions know nothing of that role's table and have no
 * right to it. What was there when the role was on stays as it is: reads find nothing, and what other transactions would
 * change of it (fences and jobs of push configs, what a purge removes) is left out. A new dependency or registration
 * cannot be left out without harm: it throws `StoreFault`, and so does a scan.
 */
export function withoutTables(store: Store, absent: readonly TableName[]): Store {
  if (absent.length === 0) return store;
  const isAbsent = (table: TableName) => absent.includes(table);
  const isLeftOut = (action: Action) => {
    if (!isAbsent(action.table)) return false;
    if (action.kind === 'put' && action.table !== 'outbox') throw new StoreFault('put', 'its role is off');
    return true;
  };
  return {
    get: async (table, key, options) => (isAbsent(table) ? undefined : store.get(table, key, options)),
    async getMany(keys, options) {
      const wanted = keys.filter(({ table }) => !isAbsent(table));
      const found = (wanted.length > 0 ? await store.getMany(wanted, options) : []).values();
      return keys.map(({ table }) => (isAbsent(table) ? undefined : found.next().value));
    },
    query: async (input, options) => (isAbsent(input.table) ? { items: [] } : store.query(input, options)),
    count: async (input, atMost, options) =>
      isAbsent(input.table) ? 0 : store.count(input, atMost, options),
    write: async (action, options) => (isLeftOut(action) ? { kind: 'done' } : store.write(action, options)),
    async transact(actions, token, options) {
      const places = actions.flatMap((action, place) => (isLeftOut(action) ? [] : [place]));
      if (places.length === 0) return { kind: 'done' };
      const left = places.map((place) => actions[place]!);
      return inPlace(await store.transact(left, token, options), places, actions.length);
    },
    async scan(table, after, options) {
      if (isAbsent(table)) throw new StoreFault('scan', 'its role is off');
      return store.scan(table, after, options);
    },
  };
}

/** What was refused, by the places that the actions had before some were left out. */
function inPlace(outcome: Outcome, places: readonly number[], length: number): Outcome {
  if (outcome.kind === 'done') return outcome;
  const items: (StoredItem | undefined)[] = Array.from({ length });
  for (const [i, place] of places.entries()) items[place] = outcome.items[i];
  return { kind: 'refused', items, failed: outcome.failed.map((i) => places[i]!) };
}
