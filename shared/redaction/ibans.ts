import { countrySpecs, ValidationErrorsIBAN, validateIBAN } from 'ibantools';
import type { Span } from './spans.ts';

/**
 * IBANs of the countries that ibantools knows: right length, form and check digits; in any case, in any groups, with up
 * to three spaces, line ends, hyphens, dots or the like between characters.
 */
export function* findIbans(text: string): Generator<Span> {
  for (const { 0: head, index } of text.matchAll(IBAN_HEAD)) {
    const length = countrySpecs[head.slice(0, 2).toUpperCase()]?.chars;
    const end = length ? endOfAlphanumerics(text, index, length) : undefined;
    if (end === undefined) continue;
    if (
      isIban(
        text
          .slice(index, end)
          .replace(/[^A-Za-z0-9]/g, '')
          .toUpperCase(),
      )
    ) {
      yield { start: index, end, label: 'IBAN' };
    }
  }
}

/** A letter may stand before it, as in `IBANDE89…`: the check digits decide. */
const IBAN_HEAD = /[A-Za-z]{2}[^\p{L}\p{N}"']{0,3}\d[^\p{L}\p{N}"']{0,1}\d/gu;
const GAP = /[^\p{L}\p{N}"']/u;
const MAX_GAP = 3;

/** The end of so many letters and digits from there, if no digit more is joined to them. */
function endOfAlphanumerics(text: string, start: number, count: number): number | undefined {
  let at = start;
  for (let read = 0; read < count; read++) {
    const next = read === 0 ? at : at + gapAt(text, at);
    if (!/[A-Za-z0-9]/.test(text[next] ?? '')) return undefined;
    at = next + 1;
  }
  const [last = '', next = ''] = text.slice(at - 1, at + 1);
  return /\d/.test(next) || (/[A-Za-z]/.test(last) && /[A-Za-z]/.test(next)) ? undefined : at;
}

function gapAt(text: string, at: number): number {
  let gap = 0;
  while (gap < MAX_GAP && GAP.test(text[at + gap] ?? 'x')) gap++;
  return gap;
}

function isIban(iban: string): boolean {
  // A country's own check inside the account number may be out of date: ISO 13616's digits decide.
  return validateIBAN(iban).errorCodes.every(
    (code) => code === ValidationErrorsIBAN.WrongAccountBankBranchChecksum,
  );
}
