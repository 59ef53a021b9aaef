import { isOwnHeader } from './credential.ts';
import type { CallPolicy, Guard, StreamCall } from './guard.ts';
import { ExchangeError, type Failure, type OpenStream } from './outcome.ts';

/** What other folders call the shape of `fetch`; the name of the real one is forbidden there. */
export type Fetch = typeof fetch;

/** The bounds of every call made through one fetch; see {@link StreamCall}. */
export interface GuardedFetchOptions {
  readonly policy: CallPolicy;
  readonly headersDeadlineMs: number;
  readonly idleMs: number;
  readonly maxResponseBytes: number;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * The guard in the shape of the WHATWG `fetch`, for libraries that take one (the AI SDK's providers). The body streams
 * with back-pressure; `signal` works; `redirect`, `credentials`, `cache` and the like have no effect.
 *
 * Rejects with the signal's reason when aborted, with `TypeError('fetch failed')`, cause an {@link ExchangeError}, for
 * what may pass (the AI SDK retries that), and with the `ExchangeError` itself for what will not: a refusal, a
 * redirect, an answer that is malformed, too large or compressed.
 */
export function guardedFetch(guard: Guard, options: GuardedFetchOptions): Fetch {
  return async (input, init) => {
    const request = input instanceof Request ? input : undefined;
    const signal = init?.signal ?? request?.signal;
    const { body, contentType } = await readBody(init?.body ?? request?.body);
    const outcome = await guard.stream({
      ...options,
      url: urlOf(input),
      method: methodOf(init?.method ?? request?.method),
      headers: headersOf(new Headers(init?.headers ?? request?.headers), contentType),
      ...(body === undefined ? {} : { body }),
      ...(signal ? { signal } : {}),
    });
    if (outcome.kind !== 'stream') throw rejection(outcome, signal);
    const unusable = unusableAnswer(outcome);
    if (unusable !== undefined) {
      outcome.close();
      throw new ExchangeError(unusable);
    }
    return toResponse(outcome, signal);
  };
}

/** The text as the caller wrote it: the guard has to see it before a parser repairs it. */
function urlOf(input: string | URL | Request): string {
  if (typeof input === 'string') return input;
  return input instanceof URL ? input.href : input.url;
}

function methodOf(method = 'GET'): StreamCall['method'] {
  const upper = method.toUpperCase();
  if (!METHODS.has(upper)) throw new TypeError('the method is not supported');
  return upper as StreamCall['method'];
}

async function readBody(body: unknown): Promise<{ body?: string | Uint8Array; contentType?: string | null }> {
  if (body === undefined || body === null) return {};
  if (typeof body === 'string') return { body, contentType: 'text/plain;charset=UTF-8' };
  if (body instanceof Uint8Array) return { body };
  const wrapped = new Response(body as ConstructorParameters<typeof Response>[0]);
  return { body: await wrapped.bytes(), contentType: wrapped.headers.get('content-type') };
}

/** As in a browser, what the client writes itself is left out silently. */
function headersOf(headers: Headers, contentType: string | null | undefined): Record<string, string> {
  if (contentType && !headers.has('content-type')) headers.set('content-type', contentType);
  headers.set('accept-encoding', 'identity');
  return Object.fromEntries([...headers].filter(([name]) => !isOwnHeader(name)));
}

function rejection(failure: Failure, signal: AbortSignal | null | undefined): unknown {
  switch (failure.kind) {
    case 'aborted':
      return signal?.reason ?? new DOMException('This operation was aborted', 'AbortError');
    case 'refused':
    case 'response-too-large':
    case 'malformed-response':
      return new ExchangeError(failure);
    case 'dns-failure':
    case 'connect-failure':
    case 'tls-failure':
    case 'reset':
    case 'timeout':
      return new TypeError('fetch failed', { cause: new ExchangeError(failure) });
  }
}

function unusableAnswer({ status, headers }: OpenStream): ExchangeError['failure'] | undefined {
  if (status >= 300 && status < 400) return { kind: 'redirect', status };
  const encoding = headers['content-encoding'] ?? 'identity';
  return encoding === 'identity' ? undefined : { kind: 'malformed-response', code: 'CONTENT_ENCODING' };
}

function toResponse(outcome: OpenStream, signal: AbortSignal | null | undefined): Response {
  const init = { status: outcome.status, headers: outcome.headers };
  if (outcome.status === 204 || outcome.status === 205) {
    outcome.close();
    return new Response(null, init);
  }
  const chunks = outcome.chunks[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error instanceof ExchangeError ? streamError(error, signal) : error);
      }
    },
    cancel: () => outcome.close(),
  });
  return new Response(body, init);
}

function streamError(error: ExchangeError, signal: AbortSignal | null | undefined): unknown {
  return error.failure.kind === 'redirect' ? error : rejection(error.failure, signal);
}
