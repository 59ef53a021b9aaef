import { countrySpecs, ValidationErrorsIBAN, validateIBAN } from 'ibantools';
import type { Span } from './spans.ts';

/**
 * Numbers of payment cards: 13 to 19 digits of an issuer (ISO/IEC 7812), plain or in the groups printed on cards, with
 * a right Luhn digit. Fractions of a decimal number are none.
 */
export function* findCards(text: string): Generator<Span> {
  CARD.lastIndex = 0;
  for (let match = CARD.exec(text); match; match = CARD.exec(text)) {
    const { 0: found, index } = match;
    // A security code may follow in a group of its own.
    const card = [found, found.replace(/[ .-]\d{1,3}$/, '')].find(isCard);
    if (card === undefined) {
      // What came first may be another number: the card can start with the next group.
      CARD.lastIndex = index + Math.max(found.search(/\D/), 1);
      continue;
    }
    CARD.lastIndex = index + card.length;
    yield { start: index, end: index + card.length, label: 'CARD' };
  }
}

const CARD =
  /(?<!\d)(?<!\d\.)(?:\d{13,19}|\d{4}([ .-])\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?|\d{4}([ .-])\d{6}\2\d{4,5})(?!\d)/g;

function isCard(written: string): boolean {
  const digits = written.replace(/\D/g, '');
  return digits.length >= 13 && /^(?:[2-6]|81)/.test(digits) && isLuhn(digits);
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

/** IBANs of the countries that ibantools knows: right length, form and check digits; grouped or not, in any case. */
export function* findIbans(text: string): Generator<Span> {
  for (const { 0: head, index } of text.matchAll(IBAN_HEAD)) {
    const length = countrySpecs[head.slice(0, 2).toUpperCase()]?.chars;
    const written = length ? readAlphanumerics(text, index, length) : undefined;
    if (written !== undefined && isIban(written.replace(/[ -]/g, '').toUpperCase())) {
      yield { start: index, end: index + written.length, label: 'IBAN' };
    }
  }
}

const IBAN_HEAD = /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?=[ -]?[A-Za-z0-9])/g;

/** So many letters and digits from there, single spaces or hyphens between them, if nothing more is joined to them. */
function readAlphanumerics(text: string, start: number, count: number): string | undefined {
  let at = start;
  for (let read = 0; read < count; read++) {
    if (read > 0 && (text[at] === ' ' || text[at] === '-')) at++;
    if (!/[A-Za-z0-9]/.test(text[at] ?? '')) return undefined;
    at++;
  }
  return /[A-Za-z0-9]/.test(text[at] ?? '') ? undefined : text.slice(start, at);
}

function isIban(iban: string): boolean {
  // A country's own check inside the account number may be out of date: ISO 13616's digits decide.
  return validateIBAN(iban).errorCodes.every(
    (code) => code === ValidationErrorsIBAN.WrongAccountBankBranchChecksum,
  );
}
