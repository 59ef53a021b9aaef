/** A stretch of one of the texts, and where it stands in a passage; all in UTF-16 units. */
interface Piece {
  readonly text: number;
  readonly offset: number;
  readonly at: number;
  readonly length: number;
}

/** What a detector that takes documents of bounded size is given at once: pieces of texts, blank lines between them. */
export interface Passage {
  readonly content: string;
  readonly pieces: readonly Piece[];
}

/** A stretch of a text found in a passage. */
export interface Placed {
  readonly text: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Packs texts into passages of at most `maxBytes` of UTF-8. Short texts share a passage; a long one is cut at white
 * space where there is some, never inside a character, and each piece begins with the end of the one before it, so that
 * a name on the border is seen whole in one of them. Texts without a letter or digit are left out. Lone surrogates,
 * which UTF-8 cannot hold, become U+FFFD, which takes as many units.
 */
export function packPassages(texts: readonly string[], maxBytes: number): Passage[] {
  const passages: Passage[] = [];
  let content = '';
  let bytes = 0;
  let pieces: Piece[] = [];
  const close = () => {
    if (pieces.length > 0) passages.push({ content, pieces });
    content = '';
    bytes = 0;
    pieces = [];
  };
  texts.forEach((original, text) => {
    if (!/[\p{L}\p{N}]/u.test(original)) return;
    const wellFormed = original.toWellFormed();
    for (const [offset, end] of cut(wellFormed, Math.floor(maxBytes / MAX_BYTES_PER_UNIT))) {
      const piece = wellFormed.slice(offset, end);
      const size = Buffer.byteLength(piece);
      if (bytes > 0 && bytes + BETWEEN.length + size > maxBytes) close();
      if (bytes > 0) {
        content += BETWEEN;
        bytes += BETWEEN.length;
      }
      pieces.push({ text, offset, at: content.length, length: piece.length });
      content += piece;
      bytes += size;
    }
  });
  close();
  return passages;
}

const BETWEEN = '\n\n';
/** Of UTF-8: a character of four bytes has two units. */
const MAX_BYTES_PER_UNIT = 3;
/** Units that two pieces of a text have in common, and how far back a border is sought. */
const OVERLAP = 300;

function* cut(text: string, maxUnits: number): Generator<[start: number, end: number]> {
  const overlap = Math.min(OVERLAP, Math.floor(maxUnits / 4));
  let start = 0;
  while (text.length - start > maxUnits) {
    const end = border(text, start + maxUnits, overlap);
    yield [start, end];
    start = border(text, end - overlap, overlap);
  }
  yield [start, text.length];
}

/** The last place up to `latest` after white space, at most `reach` back; else one that cuts no character. */
function border(text: string, latest: number, reach: number): number {
  for (let at = latest; at > latest - reach; at--) {
    if (/\s/.test(text[at - 1] ?? '')) return at;
  }
  return /[\udc00-\udfff]/.test(text[latest] ?? '') ? latest - 1 : latest;
}

/**
 * Where a finding stands in the texts: one place for each piece that it touches. `start` and `end` (exclusive) count
 * code points of the passage, as Comprehend does. Undefined if they are no stretch of it.
 */
export function locate(passage: Passage): (start: unknown, end: unknown) => Placed[] | undefined {
  const units = unitsOfCodePoints(passage.content);
  return (start, end) => {
    if (!isPlace(start, units) || !isPlace(end, units) || end <= start) return undefined;
    const from = units[start]!;
    const to = units[end]!;
    const placed: Placed[] = [];
    for (let index = firstEndingAfter(passage.pieces, from); index < passage.pieces.length; index++) {
      const { text, offset, at, length } = passage.pieces[index]!;
      if (at >= to) break;
      placed.push({
        text,
        start: offset + Math.max(from - at, 0),
        end: offset + Math.min(to - at, length),
      });
    }
    return placed;
  };
}

function unitsOfCodePoints(content: string): number[] {
  const units: number[] = [];
  let at = 0;
  for (const character of content) {
    units.push(at);
    at += character.length;
  }
  units.push(at);
  return units;
}

function isPlace(value: unknown, units: readonly number[]): value is number {
  return typeof value === 'number' && units[value] !== undefined;
}

/** The pieces stand in order, so half of what is left can be ruled out at a time. */
function firstEndingAfter(pieces: readonly Piece[], at: number): number {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const piece = pieces[middle]!;
    if (piece.at + piece.length > at) high = middle;
    else low = middle + 1;
  }
  return low;
}
