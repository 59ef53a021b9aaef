import type { Span } from './spans.ts';

/**
 * Telephone numbers (E.164: at most 15 digits): international with `+` or `00`, North American 3-3-4 and 3-4, national
 * with a trunk `0`, national in groups that end in pairs, and any number that words like `Tel.` announce. Digits without
 * group or announcement, such as order numbers, stay.
 */
export function* findPhones(text: string): Generator<Span> {
  for (const pattern of UNMISTAKABLE) {
    for (const { 0: found, index } of text.matchAll(pattern)) yield span(index, found.length);
  }
  for (const { 0: found, index } of text.matchAll(DOUBLE_ZERO)) {
    if ((isGrouped(found) && !isInsideFours(text, index, found)) || LONG.test(found))
      yield span(index, found.length);
  }
  for (const { 0: found, index } of text.matchAll(TRUNK)) {
    if (isGrouped(found) && !DATE.test(found) && !isInsideFours(text, index, found))
      yield span(index, found.length);
  }
  for (const { 0: found, index } of text.matchAll(IN_PARENTHESES)) {
    if (!/^\((?:19|20)\d\d\)/.test(found)) yield span(index, found.length);
  }
  yield* findAnnounced(text);
}

const INTERNATIONAL = /(?<![\d+])\+[ (]{0,2}[1-9](?:[ .()/-]{0,3}\d){6,14}(?!\d)/g;
const NORTH_AMERICAN = /(?<![\d.+-])(?:1[ .-]?)?(?:\(\d{3}\)[ .-]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\d-])/g;
/** `555-1234`, where neither a page nor a part of a longer number stands. */
const NORTH_AMERICAN_LOCAL =
  /(?<![\p{L}\p{N}_#.,:+/$€£-])(?<!\d )(?<!(?<!\p{L})(?:pages?|pp?\.?|lines?|rows?|items?|nos?\.?|ids?|seiten?|zeilen?) )[2-9]\d{2}-\d{4}(?![\p{L}\p{N}_-]|[.,:/]\d| \d)/giu;
/** Spain `612 34 56 78`, Norway `12 34 56 78`, Switzerland `44 668 18 00`, Russia `912 345-67-89`. */
const PAIRS =
  /(?<![\p{L}\p{N}_#.,:+/-])(?<!\d )(?:\d{2,3}([ .-])\d{2,3}\1\d{2}\1\d{2}|(?:8[ -]?)?(?:\(\d{3}\)|\d{3}) ?\d{3}-\d{2}-\d{2})(?![\p{L}\p{N}_-]|[.,:/ ]\d)/gu;
const TRIPLES = /(?<![\p{L}\p{N}_#.,:+/-])[5-9]\d{2}-\d{3}-\d{3}(?![\p{L}\p{N}_-]|[.,:/]\d)/gu;
/** A trunk `0` and ten or eleven digits; German mobile numbers have twelve. ISBNs begin with `0` too. */
const TRUNK_UNGROUPED =
  /(?<![\p{L}\p{N}_#.,+/-]|isbn[ :=-]{0,3})0(?!123456789)(?:[1-9]\d{8,9}|1[5-7]\d{9})(?![\p{L}\p{N}_-]|[.,:/]\d)/giu;
const UNMISTAKABLE = [INTERNATIONAL, NORTH_AMERICAN, NORTH_AMERICAN_LOCAL, PAIRS, TRIPLES, TRUNK_UNGROUPED];

const DOUBLE_ZERO = /(?<![\d.,+-])00[1-9](?:[ .()/-]{0,3}\d){6,12}(?!\d)/g;
const TRUNK = /(?<![\d.,+/-])\(?0[1-9](?:[ .()/-]{0,2}\d){7,11}(?!\d)/g;
/** `(11) 91234-5678`; a year in parentheses is followed by pages. */
const IN_PARENTHESES = /(?<![\p{L}\p{N}])\(\d{2,5}\)[ .-]?\d{3,5}[ .-]\d{3,5}(?![\p{L}\p{N}-])/gu;
const DATE = /^(?:\d{1,2}[./-]){1,2}(?:19|20)\d\d(?!\d)|^(?:19|20)\d\d([./-])\d\d\1\d\d(?!\d)/;

/** The number that is announced, and those that are listed after it. */
function* findAnnounced(text: string): Generator<Span> {
  for (const { 0: found, 1: number = '', index } of text.matchAll(ANNOUNCED)) {
    if (DATE.test(number)) continue;
    const end = index + found.length;
    yield span(end - number.length, number.length);
    FURTHER.lastIndex = end;
    for (let more = FURTHER.exec(text); more; more = FURTHER.exec(text)) {
      const { 0: matched, 1: further = '' } = more;
      yield span(more.index + matched.length - further.length, further.length);
    }
  }
}

const NUMBER = String.raw`(\(?\+?\d(?:[ .()/-]{0,2}\d){5,14})(?!\d)`;
const ANNOUNCED = new RegExp(
  [
    String.raw`(?<!\p{L})(?:(?:tele)?phones?|tel|telefono|telefon|téléphone|teléfono|fax|mobile?|cell|handy|rufnummer|contact|kontakt|call|dial|whatsapp|sms)`,
    '(?:[ _-]?(?:numbers?|nummern?|num|no|nr|is|me|us|at|on|ist|home|work|office|private|e164)){0,3}',
    String.raw`["'*]{0,2}[ \t]{0,4}[.:=#]{0,2}[ \t]{0,4}\[?["'*]{0,2}`,
    NUMBER,
  ].join(''),
  'giu',
);
const FURTHER = new RegExp(String.raw`["']?[ \t]{0,3}(?:[,;/]|or|and|oder|und)\s{0,3}["']?` + NUMBER, 'iy');

/** No order number that is padded to ten digits is this long. */
const LONG = /^\d{12}/;

/** Groups of four after such a group belong to an account or a card, right or wrong. */
function isInsideFours(text: string, index: number, found: string): boolean {
  const before = text.slice(Math.max(index - 6, 0), index);
  return (
    /^\d{4}(?: \d{4})*(?: \d{1,3})?$/.test(found) &&
    /(?:^|[^A-Za-z0-9])(?:\d{4}|[A-Za-z]{2}\d{2}) $/.test(before)
  );
}

function isGrouped(number: string): boolean {
  return /\D/.test(number);
}

function span(start: number, length: number): Span {
  return { start, end: start + length, label: 'PHONE' };
}
