import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';

/** What a function declares before its first byte. */
export interface Prelude {
  readonly statusCode?: number;
  readonly headers?: Readonly<Record<string, string | number | boolean>>;
  readonly multiValueHeaders?: Readonly<Record<string, readonly (string | number | boolean)[]>>;
  readonly cookies?: readonly string[];
}

export type StreamHandler = (event: unknown, stream: ResponseStream, context: unknown) => Promise<unknown>;

/**
 * The stream that a function in response-streaming form writes to, carried by an HTTP response. As on the platform, a
 * caller that went away is not signalled: later writes succeed and go nowhere.
 */
export class ResponseStream extends Writable {
  #response: ServerResponse;
  #prelude: Prelude | undefined;

  constructor(response: ServerResponse) {
    super({ decodeStrings: true });
    this.#response = response;
    // A caller that vanishes makes the socket fail: no failure of the function's. A function that fails is answered
    // by who called it.
    response.on('error', () => {});
    this.on('error', () => {});
  }

  /** `awslambda.HttpResponseStream.from`: takes effect with the first write, even of nothing. */
  declare(prelude: Prelude): void {
    if (this.#response.headersSent) throw new Error('The head of the response has been sent.');
    this.#prelude = prelude;
  }

  /** Part of the platform's stream; the prelude's own header takes its place here. */
  setContentType(contentType: string): void {
    this.#prelude = { ...this.#prelude, headers: { ...this.#prelude?.headers, 'content-type': contentType } };
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const response = this.#response;
    // Also for an empty chunk, which is how a function sends the head early.
    this.#sendHead();
    if (chunk.length === 0 || gone(response) || response.write(chunk)) {
      done();
      return;
    }
    const resume = () => {
      response.off('drain', resume);
      response.off('close', resume);
      done();
    };
    response.on('drain', resume);
    response.on('close', resume);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#sendHead();
    if (!gone(this.#response)) this.#response.end();
    done();
  }

  /** A function that failed in the middle: the caller sees the connection break, never a body that looks whole. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (error && this.#response.headersSent) this.#response.destroy();
    done(error);
  }

  #sendHead(): void {
    const response = this.#response;
    if (response.headersSent || gone(response)) return;
    if (!this.#prelude) {
      // A REST API cannot read an answer that begins without its prelude.
      response.writeHead(502, { 'content-type': 'application/json' });
      response.end('{"message": "Internal server error"}');
      return;
    }
    response.writeHead(this.#prelude.statusCode ?? 200, headersOf(this.#prelude));
    response.flushHeaders();
  }
}

function headersOf(prelude: Prelude): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { 'content-type': 'application/json' };
  for (const [name, value] of Object.entries(prelude.headers ?? {}))
    headers[name.toLowerCase()] = String(value);
  for (const [name, values] of Object.entries(prelude.multiValueHeaders ?? {})) {
    headers[name.toLowerCase()] = values.map(String);
  }
  if (prelude.cookies) headers['set-cookie'] = [...prelude.cookies];
  return headers;
}

function gone(response: ServerResponse): boolean {
  return response.destroyed || response.writableEnded;
}

const streaming = Symbol.for('aws.lambda.runtime.handler.streaming');

/**
 * Puts the platform's global `awslambda` in place, which a module with a handler in response-streaming form reads when
 * it is loaded. Idempotent, and the only global that the local host needs. Libraries keep things of their own in it.
 */
export function provideAwsLambda(): void {
  const scope = globalThis as { awslambda?: object };
  scope.awslambda = Object.assign(scope.awslambda ?? {}, {
    streamifyResponse: (handler: StreamHandler) => Object.assign(handler, { [streaming]: 'response' }),
    HttpResponseStream: {
      from: (stream: ResponseStream, prelude: Prelude) => {
        stream.declare(prelude);
        return stream;
      },
    },
  });
}
