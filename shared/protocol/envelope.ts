import type { A2AFailure, WireError } from './errors.ts';
import type { Result } from './result.ts';
import type { JsonValue } from './types.ts';

/** A JSON-RPC id as its JSON text: digits are never touched, also above 2^53. */
export type JsonId = string & { readonly __jsonId: true };

export const NULL_ID = 'null' as JsonId;

export interface RpcRequest {
  readonly id: JsonId;
  readonly method: string;
  /** As parsed; absent and null both reach `decodeParams`, which reads them as `{}`. */
  readonly params: unknown;
}

export interface EnvelopeError {
  /** The id to echo: `null` unless the request had a usable one. */
  readonly id: JsonId;
  readonly failure: Extract<A2AFailure, { kind: 'parse-error' | 'invalid-request' }>;
}

export function parseRequest(_body: string | Uint8Array): Result<RpcRequest, EnvelopeError> {
  throw new Error('not written yet');
}

export function writeResult(_id: JsonId, _result: JsonValue): string {
  throw new Error('not written yet');
}

export function writeError(_id: JsonId, _error: WireError): string {
  throw new Error('not written yet');
}
