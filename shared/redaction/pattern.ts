import { findAddresses } from './addresses.ts';
import { findCards } from './cards.ts';
import { findEmails } from './emails.ts';
import { readings } from './fold.ts';
import { findIbans } from './ibans.ts';
import { findNamedSecrets } from './pairs.ts';
import { findPhones } from './phones.ts';
import type { Redactor } from './redactor.ts';
import { findSecrets } from './secrets.ts';
import { markerOf, markersIn, replaceSpans, type Span } from './spans.ts';
import { wordDetector } from './words.ts';

/**
 * The pattern redactor (design §7): e-mail addresses, telephone numbers, IBANs and card numbers with right check digits,
 * IP addresses, credentials, and the words of the list. It needs no service and never fails; its time grows with the
 * length of the texts, whatever they hold.
 */
export function createPatternRedactor(): Redactor {
  return {
    async redactTexts(texts, { words }) {
      const find = patternDetector(words);
      return texts.map((text) => redactText(text, find));
    },
  };
}

export type FindSpans = (text: string) => Span[];

/** Everything that the patterns find in a text, overlaps included. */
export function patternDetector(words: readonly string[]): FindSpans {
  const detectors = [...DETECTORS, wordDetector(words)];
  return (text) => {
    return readings(hideMarkers(text)).flatMap(({ text: read, unfold }) => {
      // The digits of an id are no number, whatever their check digit says.
      const numbers = read.replace(UUID, (id) => '\ue001'.repeat(id.length));
      return [
        ...detectors.flatMap((detect) => Array.from(detect(read), unfold)),
        ...NUMBER_DETECTORS.flatMap((detect) => Array.from(detect(numbers), unfold)),
      ];
    });
  };
}
const DETECTORS = [findEmails, findAddresses, findSecrets, findNamedSecrets];
const NUMBER_DETECTORS = [findPhones, findIbans, findCards];
const UUID = /(?<![\w-])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![\w-])/gi;

/**
 * A text without what `find` finds in it, nor `found` beforehand. What stands beside a marker may become a finding in
 * its turn, so it is looked at again until nothing changes: then a second redaction changes nothing either. A text that
 * does not come to rest, which takes intent, is withheld whole.
 */
export function redactText(text: string, find: FindSpans, found: readonly Span[] = []): string {
  let current = redactOnce(text, [...found, ...find(text)]);
  if (current === text) return text;
  for (let pass = 1; pass < MAX_PASSES; pass++) {
    const next = redactOnce(current, find(current));
    if (next === current) return current;
    current = next;
  }
  return redactOnce(current, find(current)) === current ? current : markerOf('TEXT');
}
const MAX_PASSES = 6;

function redactOnce(text: string, spans: readonly Span[]): string {
  return spans.length === 0 ? text : replaceSpans(text, [...markersIn(text), ...spans]);
}

/** Markers look like nothing to the detectors, least of all like a word of the list. */
function hideMarkers(text: string): string {
  const markers = markersIn(text);
  if (markers.length === 0) return text;
  let hidden = '';
  let at = 0;
  for (const { start, end } of markers) {
    hidden += text.slice(at, start) + '\ue000'.repeat(end - start);
    at = end;
  }
  return hidden + text.slice(at);
}
