import { PLURAL, SECRET_WORDS } from './names.ts';
import type { Span } from './spans.ts';
import { lineEnds, PAIR, readValue } from './values.ts';

/**
 * Values that a name gives away: `password=…`, `"api_key": "…"`, `--token …`, `<secret>…`, `Authorization: …`,
 * `password hunter2`, `"name":"password","value":"…"`, also in JSON inside JSON, in a table and on the next line. Where
 * a value ends is told by `readValue`.
 */
export function* findNamedSecrets(text: string): Generator<Span> {
  const lineEnd = lineEnds(text);
  NAMED.lastIndex = 0;
  for (let match = NAMED.exec(text); match; match = NAMED.exec(text)) {
    const at = NAMED.lastIndex;
    const value = readNamed(text, match, at, lineEnd);
    let end = Math.max(at, value?.end ?? at);
    if (value) yield { ...value, label: 'SECRET' };
    if (value && match.groups?.['item'] !== undefined) {
      for (const item of itemsFrom(text, end, lineEnd)) {
        yield { ...item, label: 'SECRET' };
        end = Math.max(end, item.end);
      }
    }
    NAMED.lastIndex = end;
  }
  for (const { 0: found, 1: code = '', index } of text.matchAll(CODE)) {
    yield { start: index + found.length - code.length, end: index + found.length, label: 'SECRET' };
  }
}

interface Value {
  readonly start: number;
  readonly end: number;
}

function readNamed(
  text: string,
  match: RegExpExecArray,
  at: number,
  lineEnd: (at: number) => number,
): Value | undefined {
  const { header, verb, quote, beside, flag, bar, line, many, weak } = match.groups ?? {};
  const isQuery = /[?&;][\w.-]{0,40}$/.test(text.slice(Math.max(match.index - 41, 0), match.index));
  const value = readValue(text, at, lineEnd, {
    reach: readingOf({ header, flag: flag ?? beside ?? verb, quote, bar, query: isQuery }),
    isList: many !== undefined,
  });
  if (value.end <= value.start) return undefined;
  const written = text.slice(value.start, value.end);
  const isQuoted = value.start > at;
  // "the password is required" tells none; nor do types and empty values of program code, or the next field of a form.
  if (verb !== undefined) return isQuoted || !PLAIN_WORD.test(written) ? value : undefined;
  if (beside !== undefined && (weak !== undefined || written.startsWith('['))) return undefined;
  if (beside !== undefined) return isQuoted || looksSecret(written) ? value : undefined;
  if (weak !== undefined && !looksSecret(written)) return undefined;
  // How many, in most texts.
  if (/tokens\d*$/i.test(many ?? '') && !isQuoted && !/^\[/.test(written) && !looksSecret(written))
    return undefined;
  if (line !== undefined && PAIR.test(written)) return undefined;
  return PLACEHOLDER.test(written) ? undefined : value;
}

/** The further lines of a list. */
function* itemsFrom(text: string, from: number, lineEnd: (at: number) => number): Generator<Value> {
  ITEM.lastIndex = from;
  while (ITEM.test(text)) {
    const value = readValue(text, ITEM.lastIndex, lineEnd, { reach: 'phrase', isList: true });
    if (value.end > value.start) yield value;
    ITEM.lastIndex = lineEnd(value.end);
  }
}
const ITEM = /[^\n]{0,2}\n[ \t]{0,16}[-*•][ \t]/y;

function readingOf(told: {
  header: string | undefined;
  flag: string | undefined;
  quote: string | undefined;
  bar: string | undefined;
  query: boolean;
}) {
  if (told.header !== undefined) return 'line';
  if (told.bar !== undefined) return 'cell';
  if (told.quote !== undefined) return 'literal';
  return told.flag !== undefined || told.query ? 'token' : 'phrase';
}

const SHORT = '(?<![\\p{L}\\p{N}])(?:pws?|mdp)';
const VALUE = '(?:value|val|text|string|content|hash|plain(?:text)?)';
const NAME = `(?:(?<many>(?:${SECRET_WORDS})(?:s|es|en)|(?:pass|kenn)wörter)|(?:${SECRET_WORDS})|${SHORT}|(?<weak>(?<![\\p{L}\\p{N}])pass))\\d{0,2}(?:[ _-]?${VALUE})?`;
/** `password for the server`, `password (old)`. */
const FOR =
  '(?:[ \\t](?:for|of|to|on|in|für|von|zu|de|del|para|pour)(?:[ \\t][\\p{L}\\p{N}_.-]{1,24}){1,4}|[ \\t]\\([^()\\n:=]{1,40}\\))?';
const QUOTE = '\\\\{0,3}["\']';
const NEXT_LINE = '(?<line>(?<=:[*_ \\t]{0,8})[ \\t]{0,4}(?:\\r?\\n[ \\t]{0,16}){1,2}(?<item>[-*•][ \\t])?)?';

const NAMED = new RegExp(
  [
    '(?:',
    // A name, what may close it, and what joins it to its value.
    `(?<=(?:^|[\\s"'])--?(?:[\\w-]{0,24}-)?)(?<flag>(?:${SECRET_WORDS})${PLURAL}[ \\t]{1,4})(?=[^\\s-])`,
    `|<[\\w.:-]{0,32}(?:${SECRET_WORDS})${PLURAL}(?:\\s[^<>]{0,200})?>(?=[^\\s<])`,
    `|${NAME}(?:`,
    `${FOR}(?<quote>${QUOTE})?[\`*_]{0,3}[ \\t]{0,4}(?:=>|:=|={1,3}|(?:(?:is|was|ist|lautet|war|es|est)[ \\t]{0,4})?:|(?<bar>\\|)(?!\\|)|[是为は])[*_]{0,3}[ \\t]{0,4}${NEXT_LINE}(?:${VALUE}["']?[ \\t]{0,4}[:=][ \\t]{0,4})?`,
    `|${QUOTE}[ \\t]{0,4},\\s{0,16}${QUOTE}${VALUE}${QUOTE}[ \\t]{0,4}:[ \\t]{0,4}`,
    `|["'][^<>\\n]{0,60}[ \\t]value=`,
    `|</\\w{1,16}>\\s{0,16}<\\w{1,16}(?:\\s[^<>]{0,100})?>(?=[^\\s<])`,
    `|${FOR}(?<verb>[ \\t]{1,4}(?:(?:is|was|ist|lautet|war|es|est)(?:[ \\t]{1,4}(?:now|jetzt))?|(?:(?:has|have|was|is)[ \\t](?:been[ \\t])?)?(?:re)?(?:set|changed)[ \\t]to)[ \\t]{1,4})`,
    '|(?<beside>[ \\t]{1,4}(?:(?:->?|→)[ \\t]{0,4})?(?=\\S))',
    ')',
    '|(?<header>(?<![\\p{L}\\p{N}])(?:proxy-)?authorization|(?<![\\p{L}\\p{N}])(?:set-)?cookie)',
    `(?:${QUOTE})?[ \\t]{0,4}[:=][ \\t]{0,4}`,
    ')',
  ].join(''),
  'giu',
);
/** Personal and security codes are short numbers: with any other value the words mean something else. */
const CODE =
  /(?<!\p{L})(?:pin|puk|cvv2?|cvc2?|otp)(?:[ -]?(?:code|number|nummer))?["']?(?:[ \t]{0,4}[:=#][ \t]{0,4}|[ \t]{1,4}(?:(?:is|ist|lautet|was|war|es|est)[ \t]{1,4})?)["']?(\d{3,8})(?!\d)/giu;

const PLAIN_WORD = /^\p{L}+[.,;:!?)]*$/u;
const PLACEHOLDER =
  /^(?:true|false|null|undefined|none|string|number|boolean|any|unknown)[.,;)}\]]*(?:\s*[|={&)].*)?$/is;

/** Letters and digits, or signs, as words have none; names of algorithms and versions have digits too. */
function looksSecret(written: string): boolean {
  if (/^[{(]/.test(written)) return false;
  if (
    /^(?:sha|md|aes|rsa|rs|es|hs|oauth|utf|http|base|bcrypt|argon|pbkdf|pkcs|v|no\.?|nr\.?|#)[ -]?\d/i.test(
      written,
    )
  )
    return false;
  // A member, a call, a link.
  if (/^[\p{L}_$][\w$]*(?:\(|\??\.[\p{L}_$])|\]\(/u.test(written)) return false;
  const word = written.split(/[\s,;]/, 1)[0]!.replace(/[.,;:!?)\]}"']+$/, '');
  if (word.length < 6) return false;
  return (
    (/\d/.test(word) && /\p{L}/u.test(word)) || /^\d{6,}$/.test(word) || /[^\s][!@#$%^&*?+=~][^\s]/.test(word)
  );
}
