import type { CallPolicy, Failure, Guard, OpenStream } from '../guard/index.ts';
import { ExchangeError } from '../guard/index.ts';
import type { Clock } from '../runtime/ports.ts';
import type { RawAnswer } from './answers.ts';
import { retryAfterMs } from './faults.ts';
import { ERROR_BODY_BYTES } from './limits.ts';
import type { TransportFault } from './outcomes.ts';

export interface ExchangeParts {
  readonly guard: Guard;
  readonly policy: CallPolicy;
  readonly clock: Pick<Clock, 'now'>;
}

export interface ExchangeCall {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds until the answer's headers are there. */
  readonly headersMs: number;
  /** Milliseconds of silence in the answer. */
  readonly idleMs: number;
  /** Milliseconds over everything; absent: none. */
  readonly totalMs?: number | undefined;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** An answer that has begun. Its connection lasts until `chunks` was iterated, to the end or not. */
export interface OpenAnswer extends Omit<OpenStream, 'close'> {
  /** Names what reading `chunks` threw; the limit over everything is a `timeout`. */
  failure(error: unknown): Failure;
}

/**
 * Sends one request through the guard and returns once the answer's headers are there. A 3xx is a fault: no redirect is
 * followed. Whoever gets an answer must iterate its `chunks`.
 */
export async function openAnswer(
  { guard, policy, clock }: ExchangeParts,
  call: ExchangeCall,
): Promise<OpenAnswer | TransportFault> {
  const startedAt = clock.now();
  const over = new AbortController();
  const signal = call.signal === undefined ? over.signal : AbortSignal.any([call.signal, over.signal]);
  const headersDeadlineMs = Math.min(call.headersMs, call.totalMs ?? Number.POSITIVE_INFINITY);
  const opened = await guard.stream({
    url: call.url,
    policy,
    method: call.method,
    headers: call.headers,
    ...(call.body !== undefined && { body: call.body }),
    headersDeadlineMs,
    idleMs: call.idleMs,
    maxResponseBytes: call.maxBytes,
    signal,
  });
  if (opened.kind !== 'stream') return opened;
  if (opened.status >= 300 && opened.status < 400 && opened.status !== 304) {
    opened.close();
    return { kind: 'redirect', status: opened.status };
  }
  const stop =
    call.totalMs === undefined ? () => {} : abortAfter(over, call.totalMs - (clock.now() - startedAt));
  return {
    kind: 'stream',
    status: opened.status,
    headers: opened.headers,
    chunks: withEnd(opened.chunks, stop),
    failure(error) {
      if (!(error instanceof ExchangeError) || error.failure.kind === 'redirect') throw error;
      return over.signal.aborted ? { kind: 'timeout', phase: 'answer' } : error.failure;
    },
  };
}

/** Reads an answer whole within `maxBytes`; of one that is no success, as much as an error needs. */
export async function readWhole(
  answer: OpenAnswer,
  maxBytes: number,
  now: number,
): Promise<RawAnswer | TransportFault> {
  const isSuccess = answer.status >= 200 && answer.status < 300;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of answer.chunks) {
      size += chunk.byteLength;
      if (isSuccess && size > maxBytes) return { kind: 'response-too-large', part: 'body' };
      chunks.push(chunk);
      if (!isSuccess && size >= ERROR_BODY_BYTES) break;
    }
  } catch (error) {
    const failure = answer.failure(error);
    // The status alone says what happened; that its page could not be read adds nothing.
    if (isSuccess) return failure;
  }
  return {
    status: answer.status,
    contentType: answer.headers['content-type'],
    body: Buffer.concat(chunks),
    retryAfterMs: retryAfterMs(answer.headers['retry-after'], now),
  };
}

function abortAfter(controller: AbortController, ms: number): () => void {
  const timer = setTimeout(() => controller.abort(), Math.max(0, ms));
  return () => clearTimeout(timer);
}

async function* withEnd(chunks: AsyncIterable<Uint8Array>, end: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } finally {
    end();
  }
}
