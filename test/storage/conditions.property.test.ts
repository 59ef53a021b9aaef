import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Condition, Scalar, StoredItem } from '../../shared/storage/index.ts';
import { type StoreRig, startStore } from './rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await startStore();
});
afterAll(() => rig[Symbol.asyncDispose]());

const attribute = fc.constantFrom('status', 'n', 'name', 'size');
const scalar = fc.oneof(fc.integer({ min: -2, max: 2 }), fc.constantFrom('a', 'b', ''), fc.boolean());
const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ attribute, is: fc.constantFrom('present', 'absent') }),
    fc.record({ attribute, is: fc.constantFrom('=', '<>', '<', '<=', '>', '>='), value: scalar }),
    fc.record({ attribute, is: fc.constant('in'), values: fc.array(scalar, { maxLength: 4 }) }),
    fc.record({ any: fc.array(tie('condition'), { maxLength: 3 }) }),
    fc.record({ all: fc.array(tie('condition'), { maxLength: 3 }) }),
  ) as fc.Arbitrary<Condition>,
}));

/** What the port promises, in plain words: a comparison with something absent or of another kind fails; `<>` holds. */
function holds(item: Readonly<Record<string, unknown>>, condition: Condition): boolean {
  if ('any' in condition) return condition.any.some((one) => holds(item, one));
  if ('all' in condition) return condition.all.every((one) => holds(item, one));
  const value = item[condition.attribute] as Scalar | undefined;
  switch (condition.is) {
    case 'present':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case '=':
      return value === condition.value;
    case '<>':
      return value !== condition.value;
    case 'in':
      return value !== undefined && condition.values.includes(value);
    default: {
      if (value === undefined || typeof value !== typeof condition.value || typeof value === 'boolean')
        return false;
      const order = value < condition.value ? -1 : value > condition.value ? 1 : 0;
      return { '<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0 }[condition.is];
    }
  }
}

/** Booleans have no order: the platform refuses to compare them, whatever the item. */
function comparable(condition: Condition): boolean {
  if ('any' in condition) return condition.any.every(comparable);
  if ('all' in condition) return condition.all.every(comparable);
  return !('value' in condition) || typeof condition.value !== 'boolean' || '=<>'.includes(condition.is);
}

describe('conditions', () => {
  it('mean the same to the engine as to the port', async () => {
    const item = fc.record({ status: scalar, n: scalar, name: scalar, size: scalar }, { requiredKeys: [] });
    let serial = 0;
    await fc.assert(
      fc.asyncProperty(
        item,
        fc.array(condition.filter(comparable), { maxLength: 3 }),
        async (attributes, when) => {
          const stored: StoredItem = { pk: `c${++serial}`, sk: '-', ...attributes };
          await rig.store.write({ kind: 'put', table: 'registry', item: stored });
          const outcome = await rig.store.write({
            kind: 'put',
            table: 'registry',
            item: { ...stored },
            when,
          });
          const expected = when.every((one) => holds(stored, one));
          expect(outcome.kind).toBe(expected ? 'done' : 'refused');
        },
      ),
      { numRuns: 300 },
    );
  });
});
