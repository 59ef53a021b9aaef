import { isIP, isIPv4, isIPv6 } from 'node:net';
import type { Label, Span } from './spans.ts';

/**
 * E-mail addresses, in the reach of RFC 6531: letters of any script. A domain needs a dot and a last label of letters,
 * or is an IP address; `package@1.2.3` is none. `%40` counts as `@`, for addresses inside a URL.
 */
export function* findEmails(text: string): Generator<Span> {
  let floor = 0;
  for (const { 0: sign, index } of text.matchAll(/@|%40/g)) {
    const end = endOfDomain(text, index + sign.length);
    if (end !== undefined) {
      let start = index;
      // `%40` is made of characters of a local part: without the floor, a run of them would be walked again by each.
      while (start > (sign === '@' ? 0 : floor) && LOCAL.test(text[start - 1]!)) start--;
      while (start < index && (text[start] === '.' || text[start] === "'")) start++;
      if (start < index) yield { start, end, label: 'EMAIL' };
    }
    floor = index + sign.length;
  }
}

const LOCAL = /[\p{L}\p{N}\p{M}!#$%'*+^~_.-]/u;
const DOMAIN = /[\p{L}\p{N}][\p{L}\p{N}\p{M}-]*(?:\.[\p{L}\p{N}][\p{L}\p{N}\p{M}-]*)+/uy;
const IP_LITERAL = /\[(?:IPv6:)?[0-9A-Fa-f:.]{2,45}\]/y;
const TOP_LEVEL = /\.(?:\p{L}[\p{L}\p{M}]+|xn--[a-z0-9-]+)$/iu;

function endOfDomain(text: string, at: number): number | undefined {
  IP_LITERAL.lastIndex = at;
  if (IP_LITERAL.test(text)) return IP_LITERAL.lastIndex;
  DOMAIN.lastIndex = at;
  const domain = DOMAIN.exec(text)?.[0];
  if (domain === undefined || !(TOP_LEVEL.test(domain) || isIP(domain))) return undefined;
  return DOMAIN.lastIndex;
}

/** IPv4 and IPv6 addresses, as `node:net` reads them. `v1.2.3.4` and five numbers in a row are versions. */
export function* findAddresses(text: string): Generator<Span> {
  for (const { 0: found, index } of text.matchAll(IPV4)) {
    if (isIPv4(found)) yield span(index, found.length, 'IP');
  }
  for (const { 0: run, index } of text.matchAll(/[0-9A-Fa-f:.]{3,}/g)) {
    // A word that ends in a hex digit may stand before the address: `IPv6:2001:db8::1`.
    const skipped = /[0-9A-Za-z]/.test(text[index - 1] ?? '') ? run.indexOf(':') + 1 : 0;
    if (run.length - skipped > MAX_IPV6 || /[0-9A-Za-z]/.test(text[index + run.length] ?? '')) continue;
    const found = [run.slice(skipped), run.slice(skipped).replace(/[.:]$/, '')].find(isIPv6);
    // `Abc::De` is a name in many languages.
    if (found && /\d/.test(found)) yield span(index + skipped, found.length, 'IP');
  }
}

const IPV4 = /(?<![\d.vV])\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d)/g;
/** `ffff:…:255.255.255.255`, and one mark of the sentence. */
const MAX_IPV6 = 46;

/**
 * Telephone numbers (E.164: at most 15 digits): international with `+` or `00`, North American 3-3-4, national with a
 * trunk `0` in groups, and any number that words like `Tel.` announce. Digits without group or announcement, such as
 * order numbers, stay. Patterns of our own: libphonenumber-js knows every country's plan, but weighs 144 KB in a bundle
 * and finds a national number only where it is told the country.
 */
export function* findPhones(text: string): Generator<Span> {
  for (const { 0: found, index } of text.matchAll(INTERNATIONAL)) yield span(index, found.length, 'PHONE');
  for (const { 0: found, index } of text.matchAll(NORTH_AMERICAN)) yield span(index, found.length, 'PHONE');
  for (const { 0: found, index } of text.matchAll(DOUBLE_ZERO)) {
    if ((isGrouped(found) && !isInsideFours(text, index, found)) || LONG.test(found))
      yield span(index, found.length, 'PHONE');
  }
  for (const { 0: found, index } of text.matchAll(TRUNK)) {
    if (isGrouped(found) && !DATE.test(found) && !isInsideFours(text, index, found))
      yield span(index, found.length, 'PHONE');
  }
  for (const { 0: found, 1: number = '', index } of text.matchAll(ANNOUNCED)) {
    if (!DATE.test(number)) yield span(index + found.length - number.length, number.length, 'PHONE');
  }
}

const INTERNATIONAL = /(?<![\d+])\+[ (]{0,2}[1-9](?:[ .()/-]{0,3}\d){6,14}(?!\d)/g;
const DOUBLE_ZERO = /(?<![\d.,+-])00[1-9](?:[ .()/-]{0,3}\d){6,12}(?!\d)/g;
const NORTH_AMERICAN = /(?<![\d.+-])(?:1[ .-]?)?(?:\(\d{3}\)[ .-]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\d-])/g;
const TRUNK = /(?<![\d.,+/-])\(?0[1-9](?:[ .()/-]{0,2}\d){7,11}(?!\d)/g;
const ANNOUNCED =
  /(?<!\p{L})(?:(?:tele)?phone|tel|telefon|téléphone|teléfono|fax|mobile?|cell|handy|call|whatsapp|sms)(?:[ _-](?:number|nummer|no|nr|is|me|us|at|on|ist)){0,3}["'*]{0,2}[ \t]{0,4}[.:=#]{0,2}[ \t]{0,4}["'*]{0,2}(\(?\+?\d(?:[ .()/-]{0,2}\d){5,14})(?!\d)/giu;
const DATE = /^(?:\d{1,2}[./-]){1,2}(?:19|20)\d\d(?!\d)|^(?:19|20)\d\d([./-])\d\d\1\d\d(?!\d)/;

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

function span(start: number, length: number, label: Label): Span {
  return { start, end: start + length, label };
}
