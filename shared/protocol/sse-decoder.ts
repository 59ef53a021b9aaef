/** One event as a reader sees it. */
export interface SseEvent {
  /** `message` unless the stream named another. */
  readonly event: string;
  readonly data: string;
  /** The last id seen on the stream up to here; `""` before the first. */
  readonly lastEventId: string;
}

/** Bounds on what a peer can make us hold. */
export interface SseLimits {
  readonly maxLineBytes: number;
  readonly maxEventBytes: number;
}

/** Thrown when a peer's stream passes a bound; recognised by `kind`. The decoder is of no use after it. */
export class SseLimitError extends Error {
  readonly kind = 'sse-limit';
  readonly what: 'line' | 'event';
  readonly limitBytes: number;

  constructor(what: 'line' | 'event', limitBytes: number) {
    super(`an SSE ${what} is longer than ${limitBytes} bytes`);
    this.name = 'SseLimitError';
    this.what = what;
    this.limitBytes = limitBytes;
  }
}

export interface SseDecoder {
  /** The events that this chunk completed. Throws SseLimitError. */
  push(chunk: Uint8Array): SseEvent[];
  /** Time to wait before reconnecting, in milliseconds, once the stream named one. */
  readonly retryMs: number | undefined;
}

const LF = 10;
const CR = 13;

/**
 * Reads `text/event-stream` in chunks of any cut (client role). Line ends may be LF, CRLF or CR; comments are
 * skipped; an event that the end of the stream cuts short is not reported, as the standard has it, so a lost end is
 * never taken for an event. Work and memory are linear in the bytes, bounded by the limits.
 */
export function createSseDecoder(limits: SseLimits): SseDecoder {
  const lines = lineSplitter(limits.maxLineBytes);
  let isFirstLine = true;
  let data: string[] = [];
  let event = '';
  let lastEventId = '';
  let eventBytes = 0;
  let retryMs: number | undefined;

  function readLine(line: string, bytes: number): SseEvent | undefined {
    if (line === '') {
      const complete =
        data.length > 0 ? { event: event || 'message', data: data.join('\n'), lastEventId } : undefined;
      data = [];
      event = '';
      eventBytes = 0;
      return complete;
    }
    eventBytes += bytes;
    if (eventBytes > limits.maxEventBytes) throw new SseLimitError('event', limits.maxEventBytes);
    const colon = line.indexOf(':');
    if (colon === 0) {
      eventBytes -= bytes; // a comment is kept nowhere
      return undefined;
    }
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id' && !value.includes('\0')) lastEventId = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value);
    return undefined;
  }

  return {
    push(chunk) {
      const events: SseEvent[] = [];
      for (const bytes of lines(chunk)) {
        const text = new TextDecoder('utf-8', { ignoreBOM: !isFirstLine }).decode(bytes);
        isFirstLine = false;
        const complete = readLine(text, bytes.length);
        if (complete) events.push(complete);
      }
      return events;
    },
    get retryMs() {
      return retryMs;
    },
  };
}

/** Cuts bytes into lines; both line-end bytes are ASCII, so no character is cut. */
function lineSplitter(maxLineBytes: number): (chunk: Uint8Array) => Uint8Array[] {
  let pieces: Uint8Array[] = [];
  let pieceBytes = 0;
  let skipLineFeed = false;

  function keep(piece: Uint8Array): void {
    pieceBytes += piece.length;
    if (pieceBytes > maxLineBytes) throw new SseLimitError('line', maxLineBytes);
    if (piece.length > 0) pieces.push(piece);
  }

  return (chunk) => {
    const complete: Uint8Array[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === LF && skipLineFeed) {
        start = at + 1; // the second half of a CRLF
      } else if (byte === LF || byte === CR) {
        keep(chunk.subarray(start, at));
        complete.push(Buffer.concat(pieces));
        pieces = [];
        pieceBytes = 0;
        start = at + 1;
      }
      skipLineFeed = byte === CR;
    }
    keep(chunk.slice(start));
    return complete;
  };
}
