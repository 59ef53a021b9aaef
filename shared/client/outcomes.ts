import type { Failure } from '../guard/index.ts';
import type { JsonValue, Notice, Violation } from '../protocol/index.ts';

/** Everything that a call to a remote agent can come to. No outcome is thrown. */
export type CallOutcome<T> = Answered<T> | CallFailure;

export interface Answered<T> {
  readonly kind: 'ok';
  readonly value: T;
  /** What the decoder passed over: unknown states, members and kinds of parts. Safe to log. */
  readonly notices: readonly Notice[];
}

export type CallFailure = RemoteError | Unsupported | ProtocolError | TransportError | OutcomeUnknown;

interface ErrorAnswer {
  readonly code: number;
  /** Of the first `google.rpc.ErrorInfo`, cut to 64 safe characters. */
  readonly reason?: string;
  /** The peer's words, cut to 500 characters. Content: not for a log. */
  readonly message: string;
  /** `error.data` as it came; left out when its JSON is longer than 16,384 characters. Content: not for a log. */
  readonly data?: JsonValue;
  readonly status: number;
  /** The same request may succeed later: the peer was busy, or at fault itself. */
  readonly retryable: boolean;
  /** Of `Retry-After`, at most an hour. */
  readonly retryAfterMs?: number;
}

/** The peer understood the request and answered with a JSON-RPC error, whatever the HTTP status. */
export interface RemoteError extends ErrorAnswer {
  readonly kind: 'remote-error';
}

/** The peer does not do this: no such method (-32601), no push (-32003), not supported here (-32004). */
export interface Unsupported extends ErrorAnswer {
  readonly kind: 'unsupported';
}

/** The peer answered, and the answer is none to this request. */
export interface ProtocolError {
  readonly kind: 'protocol-error';
  readonly fault: ProtocolFault;
  readonly status: number;
  /** The method has effects, and the peer may have carried them out. */
  readonly mayHaveActed: boolean;
}

/** Ids are cut to 64 safe characters. */
export type ProtocolFault =
  | { readonly kind: 'id-mismatch'; readonly expected: string; readonly received: string }
  | { readonly kind: 'task-mismatch'; readonly expected: string; readonly received: string }
  | { readonly kind: 'not-json'; readonly excerpt: string }
  | { readonly kind: 'not-json-rpc' }
  | { readonly kind: 'missing-result' }
  | { readonly kind: 'unknown-result'; readonly name: string }
  | { readonly kind: 'wrong-shape'; readonly violations: readonly Violation[] };

/** There is no answer of the peer's A2A side. */
export interface TransportError {
  readonly kind: 'transport-error';
  readonly failure: TransportFault;
  readonly status?: number;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  /** The method has effects, and a peer behind whoever answered may have carried them out. */
  readonly mayHaveActed: boolean;
}

/**
 * A method with effects, and nobody knows whether they happened: the request may have been sent, and no answer was read.
 * What settles it is the peer's state, or the same request again (the same `messageId` and body, design §8).
 */
export interface OutcomeUnknown {
  readonly kind: 'outcome-unknown';
  readonly failure: TransportFault;
  /** False where the same request would only meet the same end, as with an answer beyond the limit. */
  readonly retryable: boolean;
}

export type TransportFault =
  | Failure
  /** A 3xx; never followed. */
  | { readonly kind: 'redirect'; readonly status: number }
  /** A status that is no success, with a body that is no JSON-RPC error; the excerpt has at most 200 characters. */
  | { readonly kind: 'status'; readonly excerpt: string }
  /** The stream ended in good order, and too early. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'stream-limit'; readonly what: 'line' | 'event'; readonly limitBytes: number };
