import type { DnsReason } from './resolver.ts';
import type { Refused } from './verdicts.ts';

/**
 * How far a request got. Up to `tls` no byte of it was sent; in `exchange` it was sent, wholly or in part, and the other
 * side may have acted on it; in `answer` status and headers had arrived and the body had not ended.
 */
export type Phase = 'dns' | 'connect' | 'tls' | 'exchange' | 'answer';

/**
 * Everything that can happen instead of an answer, by kind. The kind decides whether a caller may try again: `refused`
 * is final, `aborted` was the caller's own wish, `response-too-large` and `malformed-response` repeat themselves, and
 * the rest may pass.
 * `code` is the system's or the TLS library's name of the fault: it holds no address and no content.
 */
export type Failure =
  | ({ readonly kind: 'refused' } & Omit<Refused, 'verdict'>)
  | { readonly kind: 'dns-failure'; readonly reason: DnsReason }
  | { readonly kind: 'connect-failure'; readonly code: string }
  | { readonly kind: 'tls-failure'; readonly code: string }
  | { readonly kind: 'reset'; readonly phase: 'tls' | 'exchange' | 'answer'; readonly code: string }
  | { readonly kind: 'timeout'; readonly phase: Phase }
  | { readonly kind: 'response-too-large'; readonly part: 'headers' | 'body' }
  | { readonly kind: 'malformed-response'; readonly code: string }
  | { readonly kind: 'aborted' };

/** An answer, whatever its status: 3xx arrives here too, because nothing is followed. */
export interface Answer {
  readonly kind: 'response';
  readonly status: number;
  /** Names in lower case; repeated headers joined by a comma. At most 16 KiB in all. */
  readonly headers: Readonly<Record<string, string>>;
  /** As sent: never decompressed. Absent when the caller asked to discard it. */
  readonly body?: Uint8Array;
}

export type Outcome = Answer | Failure;

/** An answer whose body is still arriving. */
export interface OpenStream {
  readonly kind: 'stream';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it arrives, to be iterated once. Throws {@link ExchangeError} when it ends before its end. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Ends the exchange; needed only when `chunks` is not iterated to its end. */
  close(): void;
}

export type StreamOutcome = OpenStream | Failure;

/** Thrown while a streamed body is read, and by the guard's fetch. Recognised by `name`; never holds an address. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  readonly failure: Failure | { readonly kind: 'redirect'; readonly status: number };

  constructor(failure: ExchangeError['failure']) {
    super(`the request ended: ${failure.kind}`);
    this.failure = failure;
  }
}

/** A fault the guard itself raises inside undici's machinery; `code` says which. */
export class GuardFault extends Error {
  readonly code: 'GUARD_PINNING' | 'GUARD_CONNECTION_LOST';

  constructor(code: GuardFault['code']) {
    super(code);
    this.code = code;
  }
}

/** Sorts an error of undici, the socket or the TLS library by the phase it fell in. */
export function failureOf(error: unknown, phase: Phase): Failure {
  const code = codeOf(error);
  if (code === 'GUARD_PINNING') return { kind: 'refused', rule: 'pinning' };
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return { kind: 'timeout', phase };
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return { kind: 'response-too-large', part: 'headers' };
  // Once the answer has begun, undici reports a lost connection as a parser error, without a code of its own.
  if (isParserError(code) && phase !== 'answer') return { kind: 'malformed-response', code };
  if (phase === 'dns' || phase === 'connect') return { kind: 'connect-failure', code };
  if (phase === 'tls' && !isLostConnection(code)) return { kind: 'tls-failure', code };
  return { kind: 'reset', phase, code };
}

function isParserError(code: string): boolean {
  return (
    code.startsWith('HPE_') || code === 'HTTPParserError' || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
  );
}

function isLostConnection(code: string): boolean {
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'GUARD_CONNECTION_LOST'].includes(code);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'UNKNOWN';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
