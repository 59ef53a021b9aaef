/**
 * What a marker says was there. Where two findings overlap, the label that stands first here names both; `TEXT` stands
 * for a text that was withheld whole.
 */
export const LABELS = [
  'TEXT',
  'SECRET',
  'IBAN',
  'CARD',
  'EMAIL',
  'PHONE',
  'IP',
  'WORD',
  'NAME',
  'ADDRESS',
  'ACCOUNT',
  'ID',
  'USER',
  'URL',
  'AGE',
  'DATE',
  'PII',
] as const;
export type Label = (typeof LABELS)[number];

/** A stretch of a text: UTF-16 offsets, the end exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly label: Label;
}

/** The longest marker, which is also the most that one character can grow to. */
export const MAX_GROWTH = '[ADDRESS]'.length;

export function markerOf(label: Label): string {
  return `[${label}]`;
}

/** The markers that stand in a text already, as spans: what overlaps one becomes part of it. */
export function markersIn(text: string): Span[] {
  if (!text.includes('[')) return [];
  return Array.from(text.matchAll(MARKER), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
    label: match[1] as Label,
  }));
}
const MARKER = new RegExp(`\\[(${LABELS.join('|')})\\]`, 'g');

/** The text with each span replaced by its marker; spans that overlap are one. */
export function replaceSpans(text: string, spans: readonly Span[]): string {
  let replaced = '';
  let at = 0;
  for (const { start, end, label } of mergeSpans(spans)) {
    replaced += text.slice(at, start) + markerOf(label);
    at = end;
  }
  return replaced + text.slice(at);
}

function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push(span);
    else {
      const label = LABELS.indexOf(span.label) < LABELS.indexOf(last.label) ? span.label : last.label;
      merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, span.end), label };
    }
  }
  return merged;
}
