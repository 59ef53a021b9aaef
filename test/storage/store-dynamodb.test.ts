import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Condition, Key, Store, StoredItem } from '../../shared/storage/index.ts';
import { type StoreRig, startStore } from './rig.ts';

let rig: StoreRig;
let store: Store;
beforeAll(async () => {
  rig = await startStore();
  store = rig.store;
});
afterAll(() => rig[Symbol.asyncDispose]());

let serial = 0;
const freshKey = (): Key => ({ pk: `p${++serial}`, sk: '-' });
const absent: readonly Condition[] = [{ attribute: 'pk', is: 'absent' }];
const present: readonly Condition[] = [{ attribute: 'pk', is: 'present' }];
const put = (item: StoredItem, when?: readonly Condition[]) =>
  store.write({ kind: 'put', table: 'state', item, ...(when === undefined ? {} : { when }) });

describe('items', () => {
  it('come back as they were stored, of every kind', async () => {
    const item = {
      ...freshKey(),
      text: 'grüße \u{1f600}',
      empty: '',
      number: 0.1,
      large: Number.MAX_SAFE_INTEGER,
      yes: true,
      no: false,
      nothing: null,
      bytes: Uint8Array.of(0, 255, 128),
      list: [1, 'a', null, [Uint8Array.of(7)], { deep: { deeper: [] } }],
      map: { 'with.dot': 1, ['__proto__']: 2, constructor: 3 },
    };
    await put(item);
    const read = await store.get('state', item);
    expect(read).toEqual(item);
    expect(read?.['bytes']).toBeInstanceOf(Uint8Array);
    expect(Buffer.isBuffer(read?.['bytes'])).toBe(false);
  });

  it('take a Buffer and give plain bytes', async () => {
    const key = freshKey();
    await put({ ...key, bytes: Buffer.from('sealed') });
    expect(await store.get('state', key)).toEqual({
      ...key,
      bytes: new Uint8Array(Buffer.from('sealed')),
    });
  });

  it('that are not there are undefined', async () => {
    expect(await store.get('state', freshKey())).toBeUndefined();
  });

  it('that are too large are a fault, and nothing is written', async () => {
    const key = freshKey();
    await expect(put({ ...key, bytes: new Uint8Array(410_000) })).rejects.toMatchObject({
      tag: 'StoreFault',
    });
    expect(await store.get('state', key)).toBeUndefined();
  });
});

describe('a single write', () => {
  it('is refused when its condition fails, and tells what stood there', async () => {
    const item = { ...freshKey(), n: 1, bytes: Uint8Array.of(1) };
    expect(await put(item, absent)).toEqual({ kind: 'done' });
    expect(await put({ ...item, n: 2 }, absent)).toEqual({ kind: 'refused', items: [item], failed: [0] });
    expect(await store.get('state', item)).toEqual(item);
  });

  it('updates: set, add, append, remove, and answers the item after it', async () => {
    const key = freshKey();
    await put({ ...key, n: 1, old: true, list: ['a'], map: { x: 1 } });
    const outcome = await store.write({
      kind: 'update',
      table: 'state',
      key,
      changes: {
        set: { name: 'b', ignored: undefined, 'map.y': 2 },
        add: { n: 2, fresh: -1 },
        append: { list: ['b', 'c'], begun: [1] },
        remove: ['old'],
      },
      when: present,
    });
    const after = {
      ...key,
      n: 3,
      fresh: -1,
      list: ['a', 'b', 'c'],
      begun: [1],
      map: { x: 1, y: 2 },
      name: 'b',
    };
    expect(outcome).toEqual({ kind: 'done', item: after });
    expect(await store.get('state', key)).toEqual(after);
  });

  it('brings no purged item back', async () => {
    const key = freshKey();
    const update = { kind: 'update', table: 'state', key, changes: { set: { n: 1 } } } as const;
    expect(await store.write({ ...update, when: present })).toEqual({
      kind: 'refused',
      items: [undefined],
      failed: [0],
    });
    await expect(store.write({ ...update, when: [] })).rejects.toThrow(RangeError);
    await expect(store.transact([{ ...update, when: [] }], 'no-condition')).rejects.toThrow(RangeError);
    expect(await store.get('state', key)).toBeUndefined();
  });

  it('deletes under a condition', async () => {
    const item = { ...freshKey(), n: 1 };
    await put(item);
    const remove = { kind: 'delete', table: 'state', key: item } as const;
    expect(await store.write({ ...remove, when: [{ attribute: 'n', is: '=', value: 2 }] })).toEqual({
      kind: 'refused',
      items: [item],
      failed: [0],
    });
    expect(await store.write({ ...remove, when: [{ attribute: 'n', is: '=', value: 1 }] })).toEqual({
      kind: 'done',
    });
    expect(await store.get('state', item)).toBeUndefined();
  });
});

describe('a transaction', () => {
  it('does all of its actions', async () => {
    const [a, b, c, d] = [freshKey(), freshKey(), freshKey(), freshKey()];
    await put({ ...b, n: 1 });
    await put({ ...c, n: 1 });
    await put({ ...d, n: 1 });
    const outcome = await store.transact(
      [
        { kind: 'put', table: 'view', item: { ...a, n: 1 }, when: absent },
        { kind: 'update', table: 'state', key: b, changes: { add: { n: 1 } }, when: present },
        { kind: 'delete', table: 'state', key: c, when: present },
        { kind: 'check', table: 'state', key: d, when: [{ attribute: 'n', is: '<=', value: 1 }] },
      ],
      'all-of-them',
    );
    expect(outcome).toEqual({ kind: 'done' });
    const read = await store.getMany([
      { table: 'view', key: a },
      { table: 'state', key: b },
      { table: 'state', key: c },
    ]);
    expect(read).toEqual([{ ...a, n: 1 }, { ...b, n: 2 }, undefined]);
  });

  it('does nothing when one condition fails, and tells which and what stood there', async () => {
    const [a, b, c] = [freshKey(), freshKey(), freshKey()];
    await put({ ...b, n: 1, bytes: Uint8Array.of(9) });
    const outcome = await store.transact(
      [
        { kind: 'put', table: 'state', item: { ...a }, when: absent },
        {
          kind: 'update',
          table: 'state',
          key: b,
          changes: { set: { n: 5 } },
          when: [{ attribute: 'n', is: '=', value: 2 }],
        },
        { kind: 'check', table: 'state', key: c, when: present },
      ],
      'refused',
    );
    expect(outcome).toEqual({
      kind: 'refused',
      items: [undefined, { ...b, n: 1, bytes: Uint8Array.of(9) }, undefined],
      failed: [1, 2],
    });
    expect(await store.get('state', a)).toBeUndefined();
  });

  it('repeated under its token is done once', async () => {
    const key = freshKey();
    await put({ ...key, n: 0 });
    const actions = [
      { kind: 'update', table: 'state', key, changes: { add: { n: 1 } }, when: present },
    ] as const;
    await store.transact(actions, 'once');
    await store.transact(actions, 'once');
    expect(await store.get('state', key)).toMatchObject({ n: 1 });
  });

  it('under a token that was used for another one is a fault', async () => {
    const action = (n: number) =>
      ({ kind: 'put', table: 'state', item: { pk: 'token', sk: '-', n } }) as const;
    await store.transact([action(1)], 'used');
    await expect(store.transact([action(2)], 'used')).rejects.toMatchObject({ tag: 'StoreFault' });
  });

  it('whose update changes nothing still holds its condition', async () => {
    const key = freshKey();
    const idle = { kind: 'update', table: 'state', key, changes: { set: { a: undefined } } } as const;
    expect(await store.transact([{ ...idle, when: present }], 'idle-1')).toMatchObject({ kind: 'refused' });
    expect(await store.transact([{ ...idle, when: absent }], 'idle-2')).toEqual({ kind: 'done' });
    expect(await store.get('state', key)).toBeUndefined();
  });

  it('has 1 to 100 actions and a token of 1 to 36 characters', async () => {
    const actions = Array.from({ length: 101 }, () => ({
      kind: 'put' as const,
      table: 'state' as const,
      item: freshKey() as StoredItem,
    }));
    await expect(store.transact(actions, 't')).rejects.toThrow(RangeError);
    await expect(store.transact([], 't')).rejects.toThrow(RangeError);
    await expect(store.transact(actions.slice(1), '')).rejects.toThrow(RangeError);
    await expect(store.transact(actions.slice(1), 'x'.repeat(37))).rejects.toThrow(RangeError);
    expect(await store.transact(actions.slice(1), 'a hundred')).toEqual({ kind: 'done' });
  });
});
