import { type A2AFailure, toRpcError, type WireError } from './errors.ts';
import { isStruct } from './leaf-schemas.ts';
import { err, ok, type Result } from './result.ts';
import type { JsonValue } from './types.ts';

/** A JSON-RPC id as its JSON text: digits are never touched, also above 2^53. */
export type JsonId = string & { readonly __jsonId: true };

export const NULL_ID = 'null' as JsonId;

/** Characters of an id's JSON text. It stands in every event of a stream, so it may not be large. */
export const MAX_RPC_ID_LENGTH = 1024;

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

/**
 * Reads one JSON-RPC 2.0 request (decisions "Envelope"). A byte order mark is skipped, bytes that are not UTF-8 are
 * no JSON, of a name that stands twice the last one counts, as in JSON.parse. A batch, a notification and an id that
 * is no string, integer or null are invalid requests. Whether the method exists is the caller's question.
 */
export function parseRequest(body: string | Uint8Array): Result<RpcRequest, EnvelopeError> {
  const text = readText(body);
  const parsed = text === undefined ? undefined : parseJson(text);
  if (text === undefined || parsed === undefined)
    return err({ id: NULL_ID, failure: { kind: 'parse-error' } });
  const request = parsed.value;
  if (Array.isArray(request)) return invalid(NULL_ID, 'One request per POST: batches are not served.');
  if (!isStruct(request)) return invalid(NULL_ID, 'A JSON-RPC request is an object.');
  if (!Object.hasOwn(request, 'id'))
    return invalid(NULL_ID, 'A request needs an id: notifications are not served.');
  const id = exactId(request['id'], text);
  if (id === undefined) return invalid(NULL_ID, 'The id must be a string, an integer or null.');
  if (request['jsonrpc'] !== '2.0') return invalid(id, 'jsonrpc must be "2.0".');
  const method = request['method'];
  if (typeof method !== 'string' || method === '') return invalid(id, 'method must be a name.');
  return ok({ id, method, params: request['params'] });
}

/** The body of a response that succeeded. */
export function writeResult(id: JsonId, result: JsonValue): string {
  return onOneLine(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`);
}

/** The body of a response that failed. The HTTP status and headers of `error` are the caller's to send. */
export function writeError(id: JsonId, error: WireError): string {
  return onOneLine(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(toRpcError(error))}}`);
}

/**
 * Readers of streams that split by Unicode's line ends, as widespread ones do, would cut an event in two: those that
 * JSON leaves as they are get escaped (E16).
 */
function onOneLine(json: string): string {
  return json.replace(
    /[\u0085\u2028\u2029]/g,
    (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function invalid(id: JsonId, detail: string): Result<never, EnvelopeError> {
  return err({ id, failure: { kind: 'invalid-request', detail } });
}

function readText(body: string | Uint8Array): string | undefined {
  if (typeof body === 'string') return body.startsWith('\uFEFF') ? body.slice(1) : body;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function exactId(id: unknown, text: string): JsonId | undefined {
  const raw =
    id === null
      ? 'null'
      : typeof id === 'string'
        ? JSON.stringify(id)
        : typeof id === 'number'
          ? exactInteger(id, text)
          : undefined;
  return raw !== undefined && raw.length <= MAX_RPC_ID_LENGTH ? (raw as JsonId) : undefined;
}

/**
 * The digits as they were sent. Within 2^53 the parsed number has them; beyond, and where the text writes a fraction
 * or an exponent, the source is read, in a second parse because a reviver slows every value of a large body.
 */
function exactInteger(id: number, text: string): string | undefined {
  if (Number.isSafeInteger(id) && !/"id"\s*:\s*-?\d+[.eE]/.test(text)) return String(id);
  const source = idSource(text);
  return source !== undefined && /^-?\d+$/.test(source) ? source : undefined;
}

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;

function idSource(text: string): string | undefined {
  const sources = new Map<unknown, string | undefined>();
  try {
    const root = parseWithSource(text, function (key, value, context) {
      if (key === 'id') sources.set(this, context.source);
      return value;
    });
    return sources.get(root);
  } catch {
    return undefined; // nested too deeply to be walked
  }
}
