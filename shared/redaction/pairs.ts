import type { Span } from './spans.ts';

/**
 * Values that a name gives away: `password=…`, `"api_key": "…"`, `--token …`, `<secret>…`, `Authorization: …`, also in
 * JSON inside JSON and in a table. A quoted value goes to its quote, another to the next space, a header to the end of
 * its line.
 */
export function* findNamedSecrets(text: string): Generator<Span> {
  const lineEnd = lineEnds(text);
  NAMED.lastIndex = 0;
  for (let match = NAMED.exec(text); match; match = NAMED.exec(text)) {
    const { header, verb, quote } = match.groups ?? {};
    const at = NAMED.lastIndex;
    const value = readValue(text, at, lineEnd, { header: header !== undefined, quoted: quote !== undefined });
    if (value.end > value.start) {
      const written = text.slice(value.start, value.end);
      // "the password is required" tells none; nor do types and empty values of program code.
      const told = verb === undefined ? !PLACEHOLDER.test(written) : !/^\p{L}+[.,;:!?)]*$/u.test(written);
      if (told) yield { ...value, label: 'SECRET' };
    }
    NAMED.lastIndex = Math.max(at, value.end);
  }
  for (const { 0: found, 1: code = '', index } of text.matchAll(CODE)) {
    yield { start: index + found.length - code.length, end: index + found.length, label: 'SECRET' };
  }
}

/** Whether the value of a member so named is a secret: `dbPassword`, `x-api-key`, but not `maxTokens`. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replace(/[^\p{L}\p{N}]/gu, ''));
}

/** Whether the value of a member so named is a telephone number, however it is written. */
export function isPhoneName(name: string): boolean {
  return /(?:phone|phonenumber|telefon|mobile(?:number)?|cellphone|fax|whatsapp|msisdn|^tel)$/i.test(
    name.replace(/[^\p{L}\p{N}]/gu, ''),
  );
}

const WORDS = 'pass(?:word|wd|phrase|code)|passwort|kennwort|contraseña|pwd|secret|token|credentials?';
const KEYS = '(?:api|access|private|secret|encryption|signing|account|shared)';
const SECRET_NAME = new RegExp(
  `(?:${WORDS}|${KEYS}key|authorization|cookie|^pin|^cvv2?|^cvc2?|^otp|^pass)\\d{0,2}$`,
  'iu',
);

const NAMED = new RegExp(
  [
    '(?:',
    // A name, what may close it, and what joins it to its value.
    `(?<=(?:^|[\\s"'])--?(?:[\\w-]{0,24}-)?)(?:${WORDS}|${KEYS}[_-]?key)[ \\t]{1,4}(?=[^\\s-])`,
    `|<[\\w.:-]{0,32}(?:${WORDS}|${KEYS}[_-]?key)(?:\\s[^<>]{0,200})?>(?=[^\\s<])`,
    `|(?:${WORDS}|${KEYS}[_ -]?key)\\d{0,2}(?:`,
    '(?<quote>\\\\{0,3}["\'])?[`*_]{0,3}[ \\t]{0,4}(?:=>|:=|={1,3}|:|\\|(?!\\|))[*_]{0,3}[ \\t]{0,4}',
    '|(?<verb>[ \\t]{1,4}(?:is|was|ist|lautet|war|es|est)[ \\t]{1,4}:?[ \\t]{0,4})',
    ')',
    '|(?<header>(?<![\\p{L}\\p{N}])(?:proxy-)?authorization|(?<![\\p{L}\\p{N}])(?:set-)?cookie)',
    '(?:\\\\{0,3}["\'])?[ \\t]{0,4}[:=][ \\t]{0,4}',
    ')',
  ].join(''),
  'giu',
);
/** Personal and security codes are short numbers: with any other value the words mean something else. */
const CODE =
  /(?<!\p{L})(?:pin|cvv2?|cvc2?|otp)(?:[ -]?code)?["']?(?:[ \t]{0,4}[:=#][ \t]{0,4}|[ \t]{1,4}(?:is[ \t]{1,4})?)["']?(\d{3,8})(?!\d)/giu;
const PLACEHOLDER = /^(?:true|false|null|undefined|none|string|number|boolean|any|unknown)[.,;)}\]]*$/i;

interface Reading {
  readonly header: boolean;
  /** The name stood in quotes: a value without them is a number or a literal, and ends as those do in JSON. */
  readonly quoted: boolean;
}

function readValue(
  text: string,
  at: number,
  lineEnd: (at: number) => number,
  { header, quoted }: Reading,
): { readonly start: number; readonly end: number } {
  OPENING.lastIndex = at;
  const opening = OPENING.exec(text)?.[0];
  if (opening !== undefined) {
    const start = at + opening.length;
    const close = closingQuote(text, opening, start);
    // Without an end on its line the quote was none, or the value was cut off.
    return { start, end: close !== -1 && close <= lineEnd(start) ? close : lineEnd(start) };
  }
  if (header) return { start: at, end: lineEnd(at) };
  const pattern = quoted ? JSON_LITERAL : BARE;
  pattern.lastIndex = at;
  return { start: at, end: at + (pattern.exec(text)?.[0].length ?? 0) };
}

const OPENING = /\\{0,3}["'`]/y;
const BARE = /[^\s"`<]+/y;
const JSON_LITERAL = /[^\s"`<,}\]]+/y;

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
function lineEnds(text: string): (at: number) => number {
  let end = -1;
  return (at) => {
    if (end < at) {
      const found = text.indexOf('\n', at);
      end = found === -1 ? text.length : found;
    }
    return end;
  };
}
