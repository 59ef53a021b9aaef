import { describe, expect, it } from 'vitest';
import { withoutTables } from '../../shared/storage/absent-tables.ts';
import { type Action, type Outcome, type Store, StoreFault } from '../../shared/storage/port.ts';
import type { TableName } from '../../shared/storage/tables.ts';

const key = { pk: 'P#1', sk: 'C#1' };
const other = { pk: 'T#1', sk: 'H' };
const item = { ...other, v: 1 };

/** Answers what it is told to, and keeps which tables were touched. */
function recording(outcome: Outcome = { kind: 'done' }) {
  const touched: TableName[] = [];
  const touch = <T>(table: TableName, answer: T): T => {
    touched.push(table);
    return answer;
  };
  const store: Store = {
    get: async (table) => touch(table, item),
    getMany: async (keys) => keys.map(({ table }) => touch(table, item)),
    query: async ({ table }) => touch(table, { items: [item] }),
    count: async ({ table }) => touch(table, 1),
    write: async ({ table }) => touch(table, { kind: 'done' }),
    transact: async (actions) => {
      for (const { table } of actions) touch(table, undefined);
      return outcome;
    },
    scan: async (table) => touch(table, { items: [] }),
  };
  return { store, touched };
}
const update = (table: TableName): Action => ({
  kind: 'update',
  table,
  key: table === 'state' ? other : key,
  changes: { set: { a: 1 } },
  when: [{ attribute: 'pk', is: 'present' }],
});
const put = (table: TableName): Action => ({ kind: 'put', table, item: { ...key, v: 1 } });

describe('a store without the table of a role that is off', () => {
  it('is the store itself where no role is off', () => {
    const { store } = recording();
    expect(withoutTables(store, [])).toBe(store);
  });

  it('finds nothing in the table, and everything else in its place', async () => {
    const { store, touched } = recording();
    const without = withoutTables(store, ['outbox', 'delegation']);
    expect(await without.get('outbox', key)).toBeUndefined();
    expect(await without.query({ table: 'delegation', partition: 'D#1' })).toEqual({ items: [] });
    expect(await without.count({ table: 'outbox', partition: 'due#0' })).toBe(0);
    const keys = (['outbox', 'state', 'delegation', 'view'] as const).map((table) => ({ table, key }));
    expect(await without.getMany(keys)).toEqual([undefined, item, undefined, item]);
    expect(await without.getMany([{ table: 'outbox', key }])).toEqual([undefined]);
    expect(touched).toEqual(['state', 'view']);
  });

  it('leaves out of a transaction what it would change there, and tells refusals by the places of all', async () => {
    const refused = recording({ kind: 'refused', items: [undefined, item], failed: [1] });
    const without = withoutTables(refused.store, ['outbox']);
    const actions = [update('outbox'), update('state'), put('outbox'), update('view')];
    expect(await without.transact(actions, 't')).toEqual({
      kind: 'refused',
      items: [undefined, undefined, undefined, item],
      failed: [3],
    });
    expect(refused.touched).toEqual(['state', 'view']);
    expect(await without.transact([update('outbox')], 't')).toEqual({ kind: 'done' });
    expect(await without.write({ kind: 'delete', table: 'outbox', key })).toEqual({ kind: 'done' });
    expect(refused.touched).toEqual(['state', 'view']);
  });

  it('refuses what would be lost: a new dependency or registration, and a dump', async () => {
    const { store, touched } = recording();
    const without = withoutTables(store, ['delegation']);
    await expect(without.transact([update('state'), put('delegation')], 't')).rejects.toThrow(StoreFault);
    await expect(without.write({ kind: 'put', table: 'delegation', item })).rejects.toThrow(StoreFault);
    await expect(without.scan('delegation')).rejects.toThrow(StoreFault);
    expect(touched).toEqual([]);
  });
});
