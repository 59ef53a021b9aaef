import { isStruct } from './leaf-schemas.ts';
import type { Method } from './methods.ts';
import { safeName } from './notices.ts';
import { err, ok, type Result } from './result.ts';
import type { JsonObject } from './types.ts';

/** A JSON-RPC error that a peer answered (client role). */
export interface PeerError {
  readonly code: number;
  /** The peer's words, cut to 500 characters. */
  readonly message: string;
  /** Of the first `google.rpc.ErrorInfo`, if there is one. */
  readonly reason?: string;
}

export type PeerAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly error: PeerError };

/** A body that is no answer to the request. */
export type AnswerFault =
  | { readonly kind: 'not-json-rpc' }
  | { readonly kind: 'id-mismatch'; readonly expected: string; readonly received: string };

/** The body of a request (client role). */
export function writeRequest(id: string | number, method: Method, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/**
 * Reads a peer's response, or the data of one event of its stream. An error may carry id null, as it does when the
 * peer could not read the request; any other id than the one asked with is a fault that names both. A missing
 * `result` is a fault; `null` is a result, since some peers answer it to Delete.
 */
export function parseAnswer(text: string, id: string | number): Result<PeerAnswer, AnswerFault> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return err({ kind: 'not-json-rpc' });
  }
  if (!isStruct(body) || body['jsonrpc'] !== '2.0') return err({ kind: 'not-json-rpc' });
  const error = readError(body['error']);
  if (body['id'] !== id && !(error && (body['id'] ?? null) === null)) {
    return err({ kind: 'id-mismatch', expected: safeName(id), received: safeName(body['id'] ?? 'null') });
  }
  if (error) return ok({ kind: 'error', error });
  return Object.hasOwn(body, 'result')
    ? ok({ kind: 'result', result: body['result'] })
    : err({ kind: 'not-json-rpc' });
}

function readError(error: unknown): PeerError | undefined {
  if (!isStruct(error) || typeof error['code'] !== 'number') return undefined;
  const message = typeof error['message'] === 'string' ? error['message'].slice(0, 500) : '';
  const details: unknown[] = Array.isArray(error['data']) ? error['data'] : [];
  const info = details.find(
    (detail) => isStruct(detail) && String(detail['@type']).endsWith('google.rpc.ErrorInfo'),
  );
  const reason = isStruct(info) && typeof info['reason'] === 'string' ? safeName(info['reason']) : undefined;
  return { code: error['code'], message, ...(reason !== undefined && { reason }) };
}
