import { describe, expect, it } from 'vitest';
import {
  conditionExpression,
  createTerms,
  keyExpression,
  updateExpression,
} from '../../shared/storage/expressions-dynamodb.ts';
import type { Condition } from '../../shared/storage/index.ts';

describe('expressions', () => {
  it('put no name and no value into the text', () => {
    const terms = createTerms();
    const text = conditionExpression(terms, [
      { attribute: 'status OR attribute_exists(pk)', is: '=', value: ') OR (1 = 1' },
      {
        any: [
          { attribute: 'n', is: '<', value: 3 },
          { attribute: 'n', is: 'absent' },
        ],
      },
    ]);
    expect(text).toBe('#n0 = :v0 AND (#n1 < :v1 OR attribute_not_exists(#n1))');
    expect(terms.placeholders()).toEqual({
      ExpressionAttributeNames: { '#n0': 'status OR attribute_exists(pk)', '#n1': 'n' },
      ExpressionAttributeValues: { ':v0': { S: ') OR (1 = 1' }, ':v1': { N: '3' } },
    });
  });

  it('have parentheses where they are due and nowhere else, for the platform refuses redundant ones', () => {
    const a = { attribute: 'a', is: 'present' } as const;
    const text = (...conditions: Condition[]) => conditionExpression(createTerms(), conditions);
    expect(text({ any: [{ all: [{ any: [a] }] }] })).toBe('attribute_exists(#n0)');
    expect(text({ all: [a, { all: [a, a] }] })).toBe(
      'E AND E AND E'.replaceAll('E', 'attribute_exists(#n0)'),
    );
    expect(text(a, { any: [a, { all: [a, { any: [a, a] }] }] })).toBe(
      'E AND (E OR (E AND (E OR E)))'.replaceAll('E', 'attribute_exists(#n0)'),
    );
  });

  it('step into a map at each dot', () => {
    const terms = createTerms();
    const text = updateExpression(terms, { set: { 'push.a-b': 1 }, remove: ['push.c'] });
    expect(text).toBe('SET #n0.#n1 = :v0 REMOVE #n0.#n2');
    expect(terms.placeholders().ExpressionAttributeNames).toEqual({
      '#n0': 'push',
      '#n1': 'a-b',
      '#n2': 'c',
    });
  });

  it('ignore undefined values, and are absent when no change is left', () => {
    expect(updateExpression(createTerms(), { set: { a: undefined }, add: {}, remove: [] })).toBeUndefined();
    const terms = createTerms();
    expect(updateExpression(terms, { set: { a: undefined, b: { c: undefined, d: 1 } as never } })).toBe(
      'SET #n0 = :v0',
    );
    expect(terms.placeholders().ExpressionAttributeValues).toEqual({ ':v0': { M: { d: { N: '1' } } } });
  });

  it('split a long list at the bound of the platform', () => {
    const values = Array.from({ length: 101 }, (_, n) => n);
    const text = conditionExpression(createTerms(), [{ attribute: 'n', is: 'in', values }]);
    expect(text).toMatch(/^#n0 IN \((:v\d+(, )?){100}\) OR #n0 IN \(:v100\)$/);
  });

  it('refuse a number that cannot be stored', () => {
    expect(() => createTerms().value(Number.NaN)).toThrow(RangeError);
  });

  it('know an empty range before the platform refuses it', () => {
    const range = (from: string, to: string) =>
      keyExpression(createTerms(), { table: 'state', partition: 'p', sort: { from, to } });
    expect(range('b', 'a')).toBeUndefined();
    expect(range('a', 'a')).toBeDefined();
    // Ordered by UTF-8 bytes, as the platform orders, not by UTF-16 units.
    expect(range('\uffee', '\u{1f600}')).toBeDefined();
  });

  it('name the keys of the index that is asked, and know no other index', () => {
    const terms = createTerms();
    keyExpression(terms, { table: 'state', index: 'due', partition: 'p', sort: { to: '9' } });
    expect(terms.placeholders().ExpressionAttributeNames).toEqual({ '#n0': 'ds', '#n1': 'da' });
    expect(() => keyExpression(createTerms(), { table: 'view', index: 'due', partition: 'p' })).toThrow(
      RangeError,
    );
  });
});
