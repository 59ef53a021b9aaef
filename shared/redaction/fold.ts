import type { Span } from './spans.ts';

/** A text as detectors read it. */
export interface Reading {
  readonly text: string;
  /** A span of `text` as a span of the original. */
  readonly unfold: (span: Span) => Span;
}

/**
 * The ways to read a text, so that one pattern finds the many ways to write the same characters. In each, full-width
 * letters and digits of other scripts are ASCII, every space a space, every hyphen a hyphen, every quote a quote. Where
 * escapes stand (`&#64;`, `\u0040`, `%40`, `\n`), it is read with and without them; where invisible characters stand
 * (soft hyphen, zero width), as if they were not there, and as if they were spaces.
 */
export function readings(original: string): Reading[] {
  const read: Reading[] = [];
  let reading: Reading | undefined = { text: original, unfold: (span) => span };
  for (let layer = 0; reading && layer <= MAX_LAYERS; layer++) {
    read.push(...foldings(reading));
    reading = rewrite(reading, ESCAPED, decode);
  }
  return read;
}

/** A text in the first of its readings: for names and words, which are compared whole. */
export function foldText(text: string): string {
  return readings(text)[0]!.text;
}

/** Escapes inside escapes, as in JSON that quotes HTML. */
const MAX_LAYERS = 2;

function foldings(reading: Reading): Reading[] {
  const folded = rewrite(reading, UNUSUAL, plain);
  if (!folded) return [reading];
  return INVISIBLE.test(reading.text)
    ? [folded, rewrite(reading, UNUSUAL, (character) => plain(character) || ' ')!]
    : [folded];
}

/** The text with every match replaced; undefined: there was none. What stands in place of a match spans all of it. */
function rewrite(
  { text, unfold }: Reading,
  pattern: RegExp,
  replace: (match: string) => string,
): Reading | undefined {
  const pieces: string[] = [];
  /** Where each piece begins in the result and in `text`, and how long its source was. */
  const starts: number[] = [];
  const sources: number[] = [];
  const lengths: number[] = [];
  let length = 0;
  let changed = false;
  const add = (piece: string, source: number, sourceLength: number) => {
    if (piece === '') return;
    pieces.push(piece);
    starts.push(length);
    sources.push(source);
    lengths.push(sourceLength);
    length += piece.length;
  };
  let at = 0;
  for (const { 0: found, index } of text.matchAll(pattern)) {
    const replacement = replace(found);
    if (replacement === found) continue;
    changed = true;
    add(text.slice(at, index), at, index - at);
    add(replacement, index, found.length);
    at = index + found.length;
  }
  if (!changed) return undefined;
  add(text.slice(at), at, text.length - at);

  /** The source of one unit of the result: itself in what was copied, the whole match in what was replaced. */
  const sourceOf = (unit: number): readonly [start: number, end: number] => {
    const index = lastUpTo(starts, unit);
    const source = sources[index]!;
    const copied = pieces[index]!.length === lengths[index];
    const offset = unit - starts[index]!;
    return copied ? [source + offset, source + offset + 1] : [source, source + lengths[index]!];
  };
  return {
    text: pieces.join(''),
    unfold: ({ start, end, label }) =>
      unfold({ start: sourceOf(start)[0], end: sourceOf(end - 1)[1], label }),
  };
}

/** Index of the last number that is not above the given one; the first is 0. */
function lastUpTo(ascending: readonly number[], limit: number): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ascending[middle]! <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}

const UNSEEN = String.raw`\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f`;
const INVISIBLE = new RegExp(`[${UNSEEN}]`, 'v');
const DASHES = '\u058a\u2010-\u2015\u2043\u2212\ufe58\ufe63';
/** `·` groups the digits of telephone numbers; the ideographic full stop stands in domains (UTS 46). */
const DOTS = '\u00b7\u2024\u2027\u2219\u22c5\u3002\uff61';
const QUOTES = '\u00ab\u00bb\u201c-\u201f\u2039\u203a\u2018-\u201b';
const LINES = '\u0085\u2028\u2029';
const COMPATIBLE = '\ufe50-\ufe6b\uff01-\uff5e\u{1d400}-\u{1d7ff}';
const UNUSUAL = new RegExp(
  `[${UNSEEN}${DASHES}${DOTS}${QUOTES}${LINES}${COMPATIBLE}[\\p{Nd}--[0-9]][\\p{Zs}--[ ]]]`,
  'gv',
);
const PLAIN: readonly (readonly [of: RegExp, stands: string])[] = [
  [INVISIBLE, ''],
  [new RegExp(`[${DASHES}]`), '-'],
  [new RegExp(`[${DOTS}]`), '.'],
  [/[\u2018-\u201b\u2039\u203a]/, "'"],
  [new RegExp(`[${QUOTES}]`), '"'],
  [new RegExp(`[${LINES}]`), '\n'],
  [/\p{Zs}/u, ' '],
];

function plain(character: string): string {
  const known = PLAIN_OF.get(character);
  if (known !== undefined) return known;
  const class_ = PLAIN.find(([of]) => of.test(character))?.[1];
  const stands = class_ ?? digitOf(character.normalize('NFKC'));
  PLAIN_OF.set(character, stands);
  return stands;
}
/** Bounded by the characters that UNUSUAL knows. */
const PLAIN_OF = new Map<string, string>();

/** Decimal digits of a script stand in order, tens of them in a row. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80 || !/^\p{Nd}$/u.test(character)) return character;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return String((code - zero) % 10);
}

/** Escapes of HTML, JSON and program code, and of URLs; each of the first two may itself be escaped. */
const ESCAPED =
  /&(?:amp;){0,3}(?:#x[\da-f]{1,6};?|#\d{1,7};?|[a-z]{2,8};)|\\{1,8}(?:u[\da-f]{4}|u\{[\da-f]{1,6}\}|x[\da-f]{2}|[nrt/])|%(?:25){0,3}(?:[2-7][\da-f]|0[9ad])/gi;

function decode(written: string): string {
  if (written.startsWith('&')) {
    const name = written.slice(written.lastIndexOf('&') + 1).replace(/^(?:amp;)+(?=.)|;$/g, '');
    if (!name.startsWith('#')) return ENTITIES[name.toLowerCase()] ?? written;
    const hex = /^#x/i.test(name);
    return characterOf(Number.parseInt(name.slice(hex ? 2 : 1), hex ? 16 : 10)) ?? written;
  }
  if (written.startsWith('%')) return String.fromCharCode(Number.parseInt(written.slice(-2), 16));
  const letter = written.replace(/^\\+/, '');
  switch (letter) {
    case 'n':
    case 'r':
      return '\n';
    case 't':
      return '\t';
    case '/':
      return '/';
    default:
      return characterOf(Number.parseInt(letter.replace(/^[ux]\{?/i, ''), 16)) ?? written;
  }
}

/** `\ue000` stands for markers (pattern.ts). */
function characterOf(code: number): string | undefined {
  return code > 0 && code <= 0x10ffff && code !== 0xe000 ? String.fromCodePoint(code) : undefined;
}

const ENTITIES: Readonly<Record<string, string>> = {
  commat: '@',
  period: '.',
  num: '#',
  plus: '+',
  hyphen: '-',
  dash: '-',
  ndash: '-',
  mdash: '-',
  minus: '-',
  lowbar: '_',
  colon: ':',
  semi: ';',
  comma: ',',
  sol: '/',
  equals: '=',
  lpar: '(',
  rpar: ')',
  percnt: '%',
  nbsp: ' ',
  ensp: ' ',
  emsp: ' ',
  thinsp: ' ',
  tab: '\t',
  newline: '\n',
  shy: '\u00ad',
  zwj: '\u200d',
  zwnj: '\u200c',
  quot: '"',
  apos: "'",
  lt: '<',
  gt: '>',
  amp: '&',
};
