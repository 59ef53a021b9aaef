import { Writable } from 'node:stream';
import type { Context } from 'aws-lambda';

export interface StreamedAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The global that Lambda's runtime puts in place for streaming functions; to be called before a handler is built.
 * Returns what undoes it.
 */
export function installAwslambda(): () => void {
  const target = globalThis as { awslambda?: unknown };
  const before = target.awslambda;
  target.awslambda = {
    streamifyResponse: (handler: unknown) => handler,
    HttpResponseStream: {
      from: (stream: Collected, metadata: Omit<StreamedAnswer, 'body'>) =>
        Object.assign(stream, { metadata }),
    },
  };
  return () => {
    target.awslambda = before;
  };
}

/** One invocation: what API Gateway would pass on. */
export async function invokeStreamed(handler: unknown, event: unknown): Promise<StreamedAnswer> {
  const stream = new Collected();
  const context = { functionName: 'card', getRemainingTimeInMillis: () => 10_000 } as unknown as Context;
  await (handler as (event: unknown, stream: Writable, context: Context) => Promise<void>)(
    event,
    stream,
    context,
  );
  if (stream.metadata === undefined || !stream.writableFinished) throw new Error('the answer has no end');
  return { ...stream.metadata, body: Buffer.concat(stream.chunks).toString('utf8') };
}

class Collected extends Writable {
  readonly chunks: Buffer[] = [];
  metadata?: Omit<StreamedAnswer, 'body'>;
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.chunks.push(Buffer.from(chunk));
    done();
  }
}
