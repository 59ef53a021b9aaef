import type { Span } from './spans.ts';

/**
 * Numbers of payment cards: 13 to 19 digits of an issuer (ISO/IEC 7812) with a right Luhn digit, plain or in groups,
 * whatever stands between the groups (up to three characters). The more a number looks like one of a series (unusual
 * groups, a column of fours), the more must speak for it: the length that its issuer uses, and no further group beside
 * it. Fractions of a decimal number are none.
 */
export function* findCards(text: string): Generator<Span> {
  for (const groups of chains(text)) {
    for (let first = 0; first < groups.length; first++) {
      const last = lastOfCard(text, groups, first);
      if (last === undefined) continue;
      yield { start: groups[first]!.start, end: groups[last]!.end, label: 'CARD' };
      first = last;
    }
  }
}

interface Group {
  readonly start: number;
  readonly end: number;
  readonly digits: string;
  /** What stands before it, after the group before it. */
  readonly gap: string;
}

/** Groups of digits that may belong together. */
function* chains(text: string): Generator<readonly Group[]> {
  let groups: Group[] = [];
  for (const { 0: digits, index } of text.matchAll(/\d+/g)) {
    const previous = groups.at(-1);
    const gap = previous ? text.slice(previous.end, previous.end + MAX_GAP + 1) : '';
    const joined =
      previous &&
      index - previous.end <= MAX_GAP &&
      !/[\p{L}\p{N}]/u.test(gap.slice(0, index - previous.end));
    if (!joined) {
      if (groups.length > 0) yield groups;
      groups = [];
    }
    groups.push({
      start: index,
      end: index + digits.length,
      digits,
      gap: joined ? gap.slice(0, index - previous.end) : '',
    });
  }
  if (groups.length > 0) yield groups;
}
const MAX_GAP = 3;

function lastOfCard(text: string, groups: readonly Group[], first: number): number | undefined {
  const { start } = groups[first]!;
  if (text[start - 1] === '.' && /\d/.test(text[start - 2] ?? '')) return undefined;
  let digits = '';
  let found: number | undefined;
  for (let last = first; last < groups.length && digits.length < MAX_DIGITS; last++) {
    digits += groups[last]!.digits;
    // Longest first: a security code may be no part of it, and a check digit that is right by chance neither.
    if (isCard(digits) && isPlausible(groups, first, last, digits)) found = last;
  }
  return found;
}
const MIN_DIGITS = 13;
const MAX_DIGITS = 19;

function isCard(digits: string): boolean {
  return (
    digits.length >= MIN_DIGITS &&
    digits.length <= MAX_DIGITS &&
    /^(?:[2-6]|81)/.test(digits) &&
    isLuhn(digits)
  );
}

function isPlausible(groups: readonly Group[], first: number, last: number, digits: string): boolean {
  if (first === last) return true;
  const used = groups.slice(first, last + 1);
  const gaps = used.slice(1).map(({ gap }) => gap);
  const shape = used.map((group) => group.digits.length).join(' ');
  const alike = new Set(gaps).size === 1;
  const printed = PRINTED.test(shape);
  // As on a card, between what groups digits and nothing else.
  if (printed && alike && /^[ .-]$/.test(gaps[0]!)) return true;
  if (!ISSUED.test(digits)) return false;
  if (printed && gaps.every((gap) => /^(?:[ _]| ?[./-] ?)$/.test(gap))) return true;
  return (printed || (alike && /^[\s._/-]+$/.test(gaps[0]!))) && standsAlone(groups, first, last);
}

const PRINTED = /^4 (?:4 4 [1-4]|4 4 4 [1-3]|6 [45])$/;

/** The lengths that issuers use: Visa, Mastercard, American Express, Diners, JCB, Discover, UnionPay, Maestro, Mir. */
const ISSUED =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11,16}|35\d{14,17}|(?:6\d|81)\d{14,17}|5[06-8]\d{11,17})$/;

/** Whether no other group is joined to these as they are to each other, but for a security code or a date of expiry. */
function standsAlone(groups: readonly Group[], first: number, last: number): boolean {
  const gaps = new Set(groups.slice(first + 1, last + 1).map(({ gap }) => gap));
  const before = groups[first]!;
  if (first > 0 && gaps.has(before.gap)) return false;
  const after = groups[last + 1];
  if (!after || !gaps.has(after.gap)) return true;
  const next = groups[last + 2];
  if (after.digits.length <= 2) return next?.gap === '/';
  return /^\d{3,4}$/.test(after.digits) && !(next && gaps.has(next.gap));
}

function isLuhn(digits: string): boolean {
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    const doubled = place % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
