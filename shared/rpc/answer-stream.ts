import {
  encodeSse,
  encodeSseComment,
  type JsonId,
  ok,
  toWireError,
  writeError,
  writeResult,
} from '../protocol/index.ts';
import type { StreamAnswer, StreamPiece } from './call.ts';
import { faultOf } from './fault.ts';
import type { RpcServices } from './services.ts';

/*
 * Both streams here are plain iterators, not generators: whoever drops a generator before its first piece was taken
 * never reaches its `finally`, and what stands behind it (a stream's place, say) would be left open (S09).
 */

/** The first event is made before the answer starts: an error before it is plain JSON (decisions, envelope). */
export async function started(answer: StreamAnswer): Promise<StreamAnswer> {
  if (!answer.ok) return answer;
  const pieces = answer.value[Symbol.asyncIterator]();
  let first: IteratorResult<StreamPiece> | undefined = await pieces.next();
  return ok(
    iterable(async () => {
      const piece = first ?? (await pieces.next());
      first = undefined;
      return piece;
    }, pieces),
  );
}

/** The text of a stream. An error after the first event ends it with an `error` event that holds a JSON-RPC error. */
export function sse(
  services: RpcServices,
  id: JsonId,
  answer: AsyncIterable<StreamPiece>,
): AsyncIterable<string> {
  const pieces = answer[Symbol.asyncIterator]();
  return iterable<string>(async () => {
    try {
      const piece = await pieces.next();
      return piece.done ? END : { done: false, value: textOf(id, piece.value) };
    } catch (error) {
      const text = encodeSse({ event: 'error', data: writeError(id, toWireError(faultOf(services, error))) });
      return { done: false, value: text };
    }
  }, pieces);
}

const END = { done: true, value: undefined } as const;

function textOf(id: JsonId, piece: StreamPiece): string {
  if (piece === 'keep-alive') return encodeSseComment('keep-alive');
  return encodeSse({ id: piece.id, data: writeResult(id, piece.result) });
}

function iterable<T>(
  next: () => Promise<IteratorResult<T>>,
  source: AsyncIterator<unknown>,
): AsyncIterable<T> {
  const iterator: AsyncIterableIterator<T> = {
    [Symbol.asyncIterator]: () => iterator,
    next,
    async return() {
      await source.return?.();
      return END;
    },
  };
  return iterator;
}
