import { foldText } from './fold.ts';
import type { Span } from './spans.ts';

/**
 * A detector for a profile's own words and phrases: whole words, in any case, composed or decomposed. The words
 * of a phrase may be parted by any white space, hyphens and underscores, or be joined if neither is short. In scripts that write without spaces a word is found wherever it stands.
 */
export function wordDetector(words: readonly string[]): (text: string) => Iterable<Span> {
  const all = [...new Set(words.flatMap(spellings))].sort((a, b) => b.length - a.length);
  // One look at what stands before and after for all words alike: for each of 500 it would take a second to compile.
  const alike = Object.groupBy(
    all,
    (spelling) => `${JOINS_AT_START.test(spelling)} ${JOINS_AT_END.test(spelling)}` as const,
  );
  const choices = Object.entries(alike).map(([joins, group]) => {
    const [start, end] = joins.split(' ');
    const choice = `(?:${group.map(literal).join('|')})`;
    return (start === 'true' ? `(?<!${JOINED})` : '') + choice + (end === 'true' ? `(?!${JOINED})` : '');
  });
  if (choices.length === 0) return () => [];
  const pattern = new RegExp(choices.join('|'), 'giv');
  return function* (text) {
    for (const { 0: found, index } of text.matchAll(pattern)) {
      yield { start: index, end: index + found.length, label: 'WORD' };
    }
  };
}

/** Case folding of regular expressions keeps lengths, so that `ß` and `SS` need a spelling each. */
function spellings(word: string): string[] {
  const plain = foldText(word).trim();
  const cases = [plain, plain.toUpperCase(), plain.toLowerCase()].filter(
    (spelling, index) => index === 0 || spelling.length !== plain.length,
  );
  return cases.flatMap((spelling) => [spelling.normalize('NFC'), spelling.normalize('NFD')]).filter(Boolean);
}

const UNSPACED = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}`;
const JOINED = String.raw`[[\p{L}\p{N}\p{M}]--[${UNSPACED}]]`;
const JOINS_AT_START = new RegExp(`^${JOINED}`, 'v');
const JOINS_AT_END = new RegExp(`${JOINED}$`, 'v');

function literal(spelling: string): string {
  const parts = spelling.split(/(?<=[^\s_-])[\s_-]+(?=[^\s_-])/);
  const escaped = parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return escaped.reduce((phrase, part, index) => {
    const joins = [parts[index - 1]!, parts[index]!].every((side) => side.length >= MIN_JOINED);
    return phrase + (joins ? `${BETWEEN}?` : BETWEEN) + part;
  });
}

const BETWEEN = String.raw`(?:[\s_\-]{1,16}|[.+\/])`;
/** `ProjectFalcon` is a name as well, but `inform` is not `in form`. */
const MIN_JOINED = 4;
