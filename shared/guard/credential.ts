import { type Refused, refuse } from './verdicts.ts';

/** Headers that say how a message is framed or where it goes: the guard's own business (rule 6). */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * May this token, scheme or credential go into a header later? CR, LF, other control and non-ASCII characters are
 * refused when it is created: a header library notices them only at send time, when it is too late to say so.
 */
export function checkCredential(value: string): { readonly verdict: 'allow' } | Refused {
  return /^[\x20-\x7e]*$/.test(value) ? { verdict: 'allow' } : refuse('credential');
}

/** The same for a whole set of request headers, names included; `proxy-*` and framing headers are refused too. */
export function checkHeaders(
  headers: Readonly<Record<string, string>>,
): { readonly verdict: 'allow' } | Refused {
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name) || isOwnHeader(name)) return refuse('header');
    if (checkCredential(value).verdict === 'refuse') return refuse('header');
  }
  return { verdict: 'allow' };
}

/** Whether the guard writes this header itself, or none at all may be sent. */
export function isOwnHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return OWN_HEADERS.has(lower) || lower.startsWith('proxy-');
}
