import { isIPv4, isIPv6 } from 'node:net';
import type { Span } from './spans.ts';

/** IPv4 and IPv6 addresses, as `node:net` reads them. `v1.2.3.4` and five numbers in a row are versions. */
export function* findAddresses(text: string): Generator<Span> {
  for (const { 0: found, index } of text.matchAll(IPV4)) {
    if (isIPv4(found)) yield { start: index, end: index + found.length, label: 'IP' };
  }
  for (const { 0: run, index } of text.matchAll(/[0-9A-Fa-f:.]{3,}/g)) {
    // A word that ends in a hex digit may stand before the address: `IPv6:2001:db8::1`.
    const skipped = /[0-9A-Za-z]/.test(text[index - 1] ?? '') ? run.indexOf(':') + 1 : 0;
    if (run.length - skipped > MAX_IPV6 || /[0-9A-Za-z]/.test(text[index + run.length] ?? '')) continue;
    const found = [run.slice(skipped), run.slice(skipped).replace(/[.:]$/, '')].find(isIPv6);
    // `Abc::De` is a name in many languages.
    if (found && /\d/.test(found))
      yield {
        start: index + skipped,
        end: index + skipped + found.length,
        label: 'IP',
      };
  }
}

const IPV4 = /(?<![\d.vV])\d{1,3}(?:\.\d{1,3}){3}(?!\d|\.\d)/g;
/** `ffff:…:255.255.255.255`, and one mark of the sentence. */
const MAX_IPV6 = 46;
