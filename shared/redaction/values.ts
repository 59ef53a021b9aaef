/**
 * How far a value without quotes reaches: to the end of its `line` (a header), of its `cell` (a table), of its JSON
 * `literal`, of its `token` (no white space in it), or of its `phrase`: several words, up to the end of the sentence.
 */
export type Reach = 'line' | 'cell' | 'literal' | 'token' | 'phrase';

interface Stretch {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the value lies that begins at a place. One in quotes goes to its closing quote (the start is after the opening
 * one then), an object or list to its closing bracket, another as far as `reach` says. `isList`: commas part values.
 */
export function readValue(
  text: string,
  at: number,
  lineEnd: (at: number) => number,
  { reach, isList }: { readonly reach: Reach; readonly isList: boolean },
): Stretch {
  OPENING.lastIndex = at;
  const opening = OPENING.exec(text)?.[0];
  if (opening !== undefined) {
    const start = at + opening.length;
    const close = closingQuote(text, opening, start);
    // Without an end on its line the quote was none, or the value was cut off.
    return { start, end: close !== -1 && close <= lineEnd(start) ? close : lineEnd(start) };
  }
  if (reach === 'line') return { start: at, end: lineEnd(at) };
  if (text[at] === '{' || text[at] === '[') return { start: at, end: closingBracket(text, at) };
  const pattern = { cell: CELL, literal: JSON_LITERAL, token: TOKEN, phrase: TOKEN }[reach];
  pattern.lastIndex = at;
  const end = at + (pattern.exec(text)?.[0].length ?? 0);
  return { start: at, end: reach === 'phrase' && end > at ? endOfPhrase(text, at, end, isList) : end };
}

const OPENING = /\\{0,3}["'`]/y;
const TOKEN = /(?:[^\s"`<\\]|\\(?!\\{0,7}[nr]))+/y;
const JSON_LITERAL = /[^\s"`<,}\]]+/y;
const CELL = /[^|\n]*[^|\s]/y;

/** What begins another thing on the same line: a pair, an option, a bracket, a comment, an operator. */
const ANOTHER =
  /[ \t]+(?:[("`<{[|]|--?\p{L}|[\p{L}_][\p{L}\p{N}_.-]{0,40}["']?[:=]|&&|#|\/\/|[=-]>)|[ \t]*(?:$|[\r\n"`<]|\\{1,8}[nr])/uy;
const SPACES = /[ \t]+/y;
/** `user: bob`, `user=bob`: not the value of what stands before it. */
export const PAIR = /^[\p{L}_][\p{L}\p{N}_. -]{0,40}["']?(?:[:=]\s*$|:\s|=\S)/u;

/**
 * The end of a value of several words, without the mark that ends it: left where it is, the mark ends what is left of
 * the value as well, so that a second redaction changes nothing.
 */
function endOfPhrase(text: string, start: number, firstEnd: number, isList: boolean): number {
  let token = start;
  let end = firstEnd;
  for (;;) {
    const mark = endMark(text, start, token, end, isList);
    if (mark !== undefined) return mark;
    ANOTHER.lastIndex = end;
    if (end >= text.length || ANOTHER.test(text)) return end;
    SPACES.lastIndex = end;
    TOKEN.lastIndex = SPACES.test(text) ? SPACES.lastIndex : end;
    token = TOKEN.lastIndex;
    if (!TOKEN.test(text)) return end;
    end = TOKEN.lastIndex;
  }
}

/** Where the mark begins that ends the phrase at the end of a token; undefined: the phrase may go on. */
function endMark(
  text: string,
  start: number,
  token: number,
  end: number,
  isList: boolean,
): number | undefined {
  if (end - 1 <= start || !/^[\s"`<]?$/.test(text[end] ?? '')) return undefined;
  const last = text[end - 1]!;
  SENTENCE.lastIndex = end;
  const ends =
    last === ';' ||
    (last === ',' && !isList) ||
    (/[.!?]/.test(last) && SENTENCE.test(text)) ||
    (/[)\]}]/.test(last) && !/[([{]/.test(text.slice(token, end)));
  return ends ? end - 1 : undefined;
}
const SENTENCE = /\s+[^\p{Ll}\s]/uy;

/** Characters that an object or list is followed through; one that does not end there was cut off, and goes whole. */
const MAX_BRACKETED = 4_000;

function closingBracket(text: string, at: number): number {
  const limit = Math.min(text.length, at + MAX_BRACKETED);
  let depth = 0;
  let quoted = false;
  for (let index = at; index < limit; index++) {
    const character = text[index]!;
    if (character === '\\') index++;
    else if (character === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (character === '{' || character === '[') depth++;
    else if (character === '}' || character === ']') depth--;
    if (depth === 0) return index + 1;
  }
  return limit;
}

function closingQuote(text: string, quote: string, from: number): number {
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, at + 1)) {
    if (text[at - 1] !== '\\') return at;
    let backslashes = 1;
    while (text[at - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return -1;
}

/** The end of the line that holds a place; places only grow, so each line is looked through once. */
export function lineEnds(text: string): (at: number) => number {
  let end = -1;
  return (at) => {
    if (end < at) {
      const found = text.indexOf('\n', at);
      end = found === -1 ? text.length : found;
    }
    return end;
  };
}
