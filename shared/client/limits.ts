/**
 * How long a call may take, in milliseconds, each on its own (design §8). Connecting has a limit of its own inside the
 * guard (3 s), which ends a call as not sent.
 */
export interface ClientTimeouts {
  /** A call that is not streamed, from look-up to the last byte. */
  readonly totalMs: number;
  /** Silence in an answer that has begun, streamed or not. */
  readonly idleMs: number;
  /** A stream, until the headers of its answer are there. */
  readonly headersMs: number;
  /** One connection of a stream as a whole; absent, the default, means that it may last. */
  readonly streamTotalMs?: number;
}

export const DEFAULT_TIMEOUTS: ClientTimeouts = { totalMs: 60_000, idleMs: 60_000, headersMs: 60_000 };

/** How much a peer can make us read or hold, in bytes, and how often a stream is taken up again. */
export interface ClientLimits {
  /** An answer that is read whole. */
  readonly bodyBytes: number;
  /** One connection of a stream; read through, not held. */
  readonly streamBytes: number;
  readonly lineBytes: number;
  /** One event of a stream; a Task with all its artifacts is one. */
  readonly eventBytes: number;
  /** Connections of one stream after its first, over its whole life. */
  readonly resumptions: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: ClientLimits = {
  bodyBytes: 8 * MIB,
  streamBytes: 64 * MIB,
  lineBytes: 8 * MIB,
  eventBytes: 8 * MIB,
  resumptions: 10,
};

/** Of an answer that is no success: enough for any JSON-RPC error, the rest stays unread. */
export const ERROR_BODY_BYTES = 64 * 1024;
