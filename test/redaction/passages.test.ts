import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locate, packPassages } from '../../shared/redaction/passages.ts';

describe('texts packed into passages', () => {
  it('share one while they fit, and none is larger than the limit', () => {
    expect(packPassages(['one', '', '--', 'two', 'three'], 100).map(({ content }) => content)).toEqual([
      'one\n\ntwo\n\nthree',
    ]);
    expect(packPassages(['one', 'two', 'four'], 12).map(({ content }) => content)).toEqual([
      'one\n\ntwo',
      'four',
    ]);
  });

  it('stay within the limit and are covered without a gap, whatever characters they hold', () => {
    const texts = fc.array(
      fc.oneof(fc.string({ unit: 'binary', maxLength: 120 }), fc.lorem({ maxCount: 30 })),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(texts, fc.integer({ min: 24, max: 200 }), (given, maxBytes) => {
        const passages = packPassages(given, maxBytes);
        const covered = given.map((text) =>
          new Array<boolean>(text.length).fill(!/[\p{L}\p{N}]/u.test(text)),
        );
        for (const { content, pieces } of passages) {
          expect(Buffer.byteLength(content)).toBeLessThanOrEqual(maxBytes);
          expect(content.isWellFormed()).toBe(true);
          for (const { text, offset, at, length } of pieces) {
            const source = given[text]!.toWellFormed();
            expect(content.slice(at, at + length)).toBe(source.slice(offset, offset + length));
            covered[text]!.fill(true, offset, offset + length);
          }
        }
        expect(covered.flat().every(Boolean)).toBe(true);
      }),
    );
  });

  it('that are cut have their borders at white space, and each piece repeats the end of the last', () => {
    const text = 'Ann Example lives in a town. '.repeat(400);
    const passages = packPassages([text], 6_000);
    const pieces = passages.flatMap((passage) => passage.pieces);
    expect(pieces.length).toBeGreaterThan(5);
    for (const [index, { offset, length }] of pieces.entries()) {
      const next = pieces[index + 1];
      if (!next) continue;
      expect(text.slice(offset, offset + length)).toMatch(/^\S.* $/);
      expect(offset + length - next.offset).toBeGreaterThanOrEqual(300);
    }
  });
});

describe('a finding', () => {
  it('is counted in code points and placed in UTF-16 units', () => {
    const [passage] = packPassages(['😀😀 Ann', 'Bob 👩‍👧'], 1_000);
    const places = locate(passage!);
    expect(places(3, 6)).toEqual([{ text: 0, start: 5, end: 8 }]);
    expect(places(8, 11)).toEqual([{ text: 1, start: 0, end: 3 }]);
    // Over the border: a place in each.
    expect(places(3, 11)).toEqual([
      { text: 0, start: 5, end: 8 },
      { text: 1, start: 0, end: 3 },
    ]);
    // Between the texts: none.
    expect(places(6, 8)).toEqual([]);
  });

  it('that is no stretch of the passage is refused', () => {
    const [passage] = packPassages(['Ann'], 1_000);
    const places = locate(passage!);
    for (const [start, end] of [
      [0, 4],
      [2, 2],
      [2, 1],
      [-1, 2],
      [0.5, 2],
      [undefined, 2],
      ['0', 2],
      [0, NaN],
    ]) {
      expect(places(start, end)).toBeUndefined();
    }
    expect(places(0, 3)).toEqual([{ text: 0, start: 0, end: 3 }]);
  });
});
