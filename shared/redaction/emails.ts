import { isIP } from 'node:net';
import type { Span } from './spans.ts';

/**
 * E-mail addresses, in the reach of RFC 5322 and RFC 6531: letters of any script, quoted local parts. A domain needs a
 * dot and a last label of letters, or is an IP address; `package@1.2.3` is none.
 */
export function* findEmails(text: string): Generator<Span> {
  for (const { index } of text.matchAll(/@/g)) {
    const end = endOfDomain(text, index + 1);
    if (end === undefined) continue;
    const start = text[index - 1] === '"' ? startOfQuoted(text, index - 1) : startOfAtoms(text, index);
    if (start < index) yield { start, end, label: 'EMAIL' };
  }
}

/**
 * Characters of RFC 5322's `atext`, without those that stand around addresses in practice: slash, question mark,
 * braces, bar and backtick.
 */
const ATOM = /[\p{L}\p{N}\p{M}\ud800-\udfff!#$%&'*+=^~_.-]/u;
/** `to=` and `a=1&to=` name a parameter; `bounce+ann=example.org` is all local part. */
const PARAMETER = /^(?:.*&)?[\p{L}\p{N}_-]*=/su;

function startOfAtoms(text: string, at: number): number {
  let start = at;
  while (start > 0 && ATOM.test(text[start - 1]!)) start--;
  start += PARAMETER.exec(text.slice(start, at))?.[0].length ?? 0;
  while (start < at && /[.'&=]/.test(text[start]!)) start++;
  return start;
}

/** RFC 5321: 64 characters, each of which may be quoted once more. */
const MAX_QUOTED = 130;

/** From the quote that closes a local part to where it opens; `at` itself: it is the quote of something else. */
function startOfQuoted(text: string, closing: number): number {
  const none = closing + 1;
  const escaped = text[closing - 1] === '\\';
  for (let at = closing - 1; at >= Math.max(closing - MAX_QUOTED, 0) && text[at] !== '\n'; at--) {
    if (text[at] !== '"') continue;
    let start = at;
    while (text[start - 1] === '\\' && at - start < 8) start--;
    if (start < at !== escaped) continue;
    const written = text.slice(at + 1, closing - (escaped ? 1 : 0));
    // In `"key":"@example.com"` and `"a", "@b.io"` the quotes belong to what is quoted beside it.
    const isLocal =
      /^[^\s,:].*[^\s,:]$|^[^\s,:]$/u.test(written) && !/[\p{L}\p{N}]/u.test(text[start - 1] ?? '');
    return isLocal ? start : none;
  }
  return none;
}

const DOMAIN = /(?:[\p{L}\p{N}_][\p{L}\p{N}\p{M}_-]*\.)+[\p{L}\p{N}][\p{L}\p{N}\p{M}-]*/uy;
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
