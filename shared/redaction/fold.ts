import type { Span } from './spans.ts';

/** A text as detectors read it. */
export interface Folded {
  readonly text: string;
  /** A span of `text` as a span of the original. */
  readonly unfold: (span: Span) => Span;
}

/**
 * Makes different ways to write the same characters alike, so that one pattern finds them all: full-width letters and
 * digits of other scripts become ASCII, every space a space, every hyphen a hyphen, and invisible characters
 * (soft hyphen, zero width) go, inside which an address would otherwise hide.
 */
export function fold(original: string): Folded {
  const text = original.replace(UNUSUAL, plain);
  if (!INVISIBLE.test(text)) return { text, unfold: (span) => span };

  const positions: number[] = [];
  let visible = '';
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (INVISIBLE.test(character)) continue;
    visible += character;
    positions.push(at);
  }
  return {
    text: visible,
    unfold: ({ start, end, label }) => ({ start: positions[start]!, end: positions[end - 1]! + 1, label }),
  };
}

const INVISIBLE = /[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/;
/** Every one of these is one UTF-16 unit, as is what stands for it. */
const UNUSUAL =
  /[\u00a0\u2000-\u200a\u202f\u205f\u3000\u2010-\u2015\u2212\ufe58\ufe63\uff01-\uff5e\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef]/g;

function plain(character: string): string {
  const code = character.charCodeAt(0);
  if (code >= 0xff01) return String.fromCharCode(code - 0xfee0);
  const zero = ZEROS.find((first) => code >= first && code <= first + 9);
  if (zero !== undefined) return String(code - zero);
  return /\s/.test(character) ? ' ' : '-';
}
const ZEROS = [0x0660, 0x06f0, 0x0966, 0x09e6];
