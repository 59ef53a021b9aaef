import { describe, expect, it } from 'vitest';
import { type AnswerLevel, isRetainable, resolveLevel, tighter } from '../../shared/registry/index.ts';

const words: Record<string, AnswerLevel | undefined> = {
  f: 'full',
  r: 'redacted',
  m: 'metadata',
  n: 'none',
  '-': undefined,
};
const columns = ['-', 'f', 'r', 'm', 'n'];

/** One table per global setting; rows: the profile's own level, columns: the provider's. `-` stands for none of its own. */
const tables: Record<AnswerLevel, Record<string, string>> = {
  full: { '-': 'f f r m n', f: 'f f r m n', r: 'r r r m n', m: 'm m m m n', n: 'n n n n n' },
  // The default of the installation: alone it keeps a full answer, so this is the table of `full`.
  metadata: { '-': 'f f r m n', f: 'f f r m n', r: 'r r r m n', m: 'm m m m n', n: 'n n n n n' },
  redacted: { '-': 'r r r m n', f: 'r r r m n', r: 'r r r m n', m: 'm m m m n', n: 'n n n n n' },
  none: { '-': 'n n n n n', f: 'n n n n n', r: 'n n n n n', m: 'n n n n n', n: 'n n n n n' },
};

describe('the answer level', () => {
  const rows = Object.entries(tables).flatMap(([global, table]) =>
    Object.entries(table).flatMap(([profile, cells]) =>
      cells.split(' ').map((cell, column) => ({
        global: global as AnswerLevel,
        profile: words[profile],
        provider: words[columns[column]!],
        level: words[cell]!,
      })),
    ),
  );

  it('has a row for every combination', () => {
    expect(rows).toHaveLength(4 * 5 * 5);
  });

  it.each(rows)('global $global, profile $profile, provider $provider gives $level', (row) => {
    expect(resolveLevel(row.global, row.profile, row.provider)).toBe(row.level);
  });

  it('keeps a result at full and redacted only', () => {
    expect((['full', 'redacted', 'metadata', 'none'] as const).filter(isRetainable)).toEqual([
      'full',
      'redacted',
    ]);
  });

  it('is never loosened by a further provider', () => {
    expect(tighter('redacted', 'full')).toBe('redacted');
    expect(tighter('full', 'none')).toBe('none');
    expect(tighter('none', 'metadata')).toBe('none');
  });
});
