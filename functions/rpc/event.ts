import { publicBaseUrl, type RoutedEvent } from '../../shared/cards/index.ts';
import type { RpcHttpAnswer, RpcHttpRequest } from '../../shared/rpc/index.ts';

/** What is read of an API Gateway REST proxy event. */
export interface RpcEvent extends RoutedEvent {
  readonly headers?: Readonly<Record<string, string | undefined>> | null;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null;
  readonly queryStringParameters?: Readonly<Record<string, string | undefined>> | null;
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
}

export interface StreamedAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ReadableStream<Uint8Array>;
}

export function requestOf(event: RpcEvent, publicUrl: string | undefined): RpcHttpRequest {
  return {
    headers: headersOf(event),
    query: event.queryStringParameters ?? {},
    body: Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8'),
    baseUrl: publicBaseUrl(event, publicUrl),
  };
}

/** Lower-case names; repeated fields joined as HTTP has it. */
function headersOf(event: RpcEvent): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(event.headers ?? {})) {
    if (value !== undefined) headers[name.toLowerCase()] = value;
  }
  for (const [name, values] of Object.entries(event.multiValueHeaders ?? {})) {
    if (values && values.length > 0) headers[name.toLowerCase()] = values.join(', ');
  }
  return headers;
}

/** The stream's text as bytes, one chunk a piece, so that each event leaves at once. `ended` runs when it is over. */
export function answerOf(answer: RpcHttpAnswer, ended: () => void): StreamedAnswer {
  const { status: statusCode, headers, body } = answer;
  if (typeof body === 'string') {
    ended();
    return { statusCode, headers, body };
  }
  return {
    statusCode,
    headers,
    body: ReadableStream.from(chunks(body[Symbol.asyncIterator](), ended)) as ReadableStream<Uint8Array>,
  };
}

/** Not a generator: one that is dropped before it was read would end nothing (S09). */
function chunks(texts: AsyncIterator<string>, ended: () => void): AsyncIterable<Uint8Array> {
  const iterator: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => iterator,
    async next() {
      try {
        const { done, value } = await texts.next();
        if (!done) return { done: false, value: Buffer.from(value, 'utf8') };
      } catch (error) {
        ended();
        throw error;
      }
      ended();
      return { done: true, value: undefined };
    },
    async return() {
      try {
        await texts.return?.();
      } finally {
        ended();
      }
      return { done: true, value: undefined };
    },
  };
  return iterator;
}
