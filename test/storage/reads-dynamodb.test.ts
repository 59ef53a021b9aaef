import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store, StoredItem } from '../../shared/storage/index.ts';
import { type StoreRig, startStore } from './rig.ts';

let rig: StoreRig;
let store: Store;
beforeAll(async () => {
  rig = await startStore();
  store = rig.store;
});
afterAll(() => rig[Symbol.asyncDispose]());

const put = (item: StoredItem) => store.write({ kind: 'put', table: 'state', item });

describe('reading many', () => {
  it('keeps the order, allows duplicates and missing items, and spans tables and pages', async () => {
    const list = Array.from({ length: 250 }, (_, n) => ({ pk: 'many', sk: String(n) }));
    for (let at = 0; at < 250; at += 50) {
      const page = list.slice(at, at + 50).filter((_, n) => n % 5 !== 0);
      await store.transact(
        page.map((item) => ({ kind: 'put', table: 'state', item: { ...item, n: Number(item.sk) } })),
        `many-${at}`,
      );
    }
    const wanted = [...list, ...list.slice(0, 30).reverse()];
    const read = await store.getMany(wanted.map((key) => ({ table: 'state', key })));
    expect(read).toEqual(
      wanted.map((key) => (Number(key.sk) % 5 === 0 ? undefined : { ...key, n: Number(key.sk) })),
    );
  });

  it('reads nothing for no keys', async () => {
    expect(await store.getMany([])).toEqual([]);
  });

  it('reads more than the 16 MB that fit into one answer', async () => {
    const list = Array.from({ length: 46 }, (_, n) => ({ pk: `large${n}`, sk: '-' }));
    for (const key of list) await put({ ...key, bytes: new Uint8Array(370_000) });
    const read = await store.getMany(list.map((key) => ({ table: 'state', key })));
    expect(read.map((item) => item?.pk)).toEqual(list.map((key) => key.pk));
  });
});

describe('a query', () => {
  const partition = 'query';
  beforeAll(async () => {
    await store.transact(
      Array.from({ length: 20 }, (_, n) => ({
        kind: 'put',
        table: 'state',
        item: {
          pk: partition,
          sk: `${n < 10 ? 'a' : 'b'}#${String(n).padStart(2, '0')}`,
          n,
          ...(n % 2 === 0 ? { ds: 'due#0', da: String(n).padStart(2, '0') } : {}),
        },
      })),
      'query',
    );
  });
  const numbers = (items: readonly StoredItem[]) => items.map((item) => item['n']);

  it('reads a prefix or a range, in both directions', async () => {
    const all = { table: 'state', partition } as const;
    expect(numbers((await store.query({ ...all, sort: { prefix: 'b#' } })).items)).toEqual([
      10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
    ]);
    const range = { ...all, sort: { from: 'a#08', to: 'b#11' } };
    expect(numbers((await store.query(range)).items)).toEqual([8, 9, 10, 11]);
    expect(numbers((await store.query({ ...range, descending: true })).items)).toEqual([11, 10, 9, 8]);
    expect(numbers((await store.query({ ...all, sort: { from: 'b#18' } })).items)).toEqual([18, 19]);
    expect(numbers((await store.query({ ...all, sort: { to: 'a#01' } })).items)).toEqual([0, 1]);
    expect((await store.query({ ...all, sort: { prefix: '' } })).items).toHaveLength(20);
    expect(await store.query({ ...all, sort: { from: 'b', to: 'a' } })).toEqual({ items: [] });
  });

  it('goes on where its last page ended', async () => {
    const read: unknown[] = [];
    let after: Readonly<Record<string, string>> | undefined;
    do {
      const page = await store.query({
        table: 'state',
        partition,
        limit: 7,
        ...(after === undefined ? {} : { after }),
      });
      expect(page.items.length).toBeLessThanOrEqual(7);
      read.push(...numbers(page.items));
      after = page.next;
    } while (after !== undefined);
    expect(read).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  it('goes on in an index, whose position holds all key attributes', async () => {
    const input = { table: 'state', index: 'due', partition: 'due#0', limit: 4 } as const;
    const first = await store.query(input);
    expect(first.items.map((item) => item['da'])).toEqual(['00', '02', '04', '06']);
    expect(Object.keys(first.next ?? {}).toSorted()).toEqual(['da', 'ds', 'pk', 'sk']);
    const second = await store.query({ ...input, ...(first.next ? { after: first.next } : {}) });
    expect(second.items.map((item) => item['da'])).toEqual(['08', '10', '12', '14']);
  });

  it('filters what it read', async () => {
    const page = await store.query({
      table: 'state',
      partition,
      filter: [{ attribute: 'n', is: 'in', values: [3, 4, 99] }],
    });
    expect(numbers(page.items)).toEqual([3, 4]);
  });

  it('counts over all pages, and stops at the bound', async () => {
    const input = { table: 'state', partition } as const;
    const odd = { ...input, filter: [{ attribute: 'ds', is: 'absent' }] } as const;
    expect(await store.count(input)).toBe(20);
    const { store: counted, faults } = rig.another();
    expect(await counted.count({ ...input, limit: 3 })).toBe(20);
    expect(faults.calls).toHaveLength(1);
    expect(await store.count(odd)).toBe(10);
    expect(await store.count(input, 7)).toBe(7);
    expect(await store.count(odd, 7)).toBe(7);
    expect(await store.count({ ...input, sort: { from: 'b', to: 'a' } })).toBe(0);
  });

  it('counts what does not fit into one page of 1 MB', async () => {
    for (let n = 0; n < 8; n++) await put({ pk: 'wide', sk: String(n), bytes: new Uint8Array(300_000) });
    expect((await store.query({ table: 'state', partition: 'wide' })).items.length).toBeLessThan(8);
    expect(await store.count({ table: 'state', partition: 'wide' })).toBe(8);
  });

  it('scans a whole table page by page', async () => {
    const seen = new Set<string>();
    let after: Readonly<Record<string, string>> | undefined;
    let pages = 0;
    do {
      const page = await store.scan('state', after);
      for (const item of page.items)
        if (item.pk === 'wide' || item.pk === partition) seen.add(item.pk + item.sk);
      after = page.next;
      pages++;
    } while (after !== undefined);
    expect(seen.size).toBe(28);
    expect(pages).toBeGreaterThan(1);
  });
});
