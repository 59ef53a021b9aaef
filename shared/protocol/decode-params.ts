import type { InvalidParams } from './errors.ts';
import type { Method, MethodParams } from './methods.ts';
import type { Decoded } from './notices.ts';

/** Options of `decodeParams`. */
export interface DecodeOptions {
  /** Accept `http:` push URLs too. Only for the local host's loopback transport; never in a deployed function. */
  readonly allowHttpPush?: boolean;
}

export function decodeParams<M extends Method>(
  _method: M,
  _params: unknown,
  _options: DecodeOptions = {},
): Decoded<MethodParams[M], InvalidParams> {
  throw new Error('not written yet');
}
