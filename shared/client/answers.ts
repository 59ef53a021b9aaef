import {
  createSseDecoder,
  decodeResponse,
  type JsonValue,
  type Method,
  type PeerError,
  type PeerResults,
  parseAnswer,
  SseLimitError,
} from '../protocol/index.ts';
import { hasEffects, isPassingStatus } from './faults.ts';
import type {
  CallFailure,
  CallOutcome,
  ProtocolError,
  ProtocolFault,
  RemoteError,
  Unsupported,
} from './outcomes.ts';

/** The question that an answer has to fit. */
export interface Question<M extends Method = Method> {
  readonly method: M;
  readonly id: string | number;
  /** The task that was asked for, where the answer must be about it. */
  readonly taskId?: string | undefined;
}

/** An answer as it was read: whole, or, when it is no success, as far as the bound allowed. */
export interface RawAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
  readonly retryAfterMs?: number | undefined;
}

/** Reads what a peer answered to a call that is not streamed. Never throws. */
export function readAnswer<M extends Method>(
  question: Question<M>,
  answer: RawAnswer,
): CallOutcome<PeerResults[M]> {
  const read = readResult(question, textOf(answer), answer);
  if ('kind' in read) return read;
  const decoded = decodeResponse(question.method, read.result);
  if (!decoded.ok) return wrongShape(question, answer.status, decoded.error);
  const received = question.taskId === undefined ? undefined : taskIdOf(decoded.value);
  return received === undefined || received === question.taskId
    ? { kind: 'ok', value: decoded.value, notices: decoded.notices }
    : taskMismatch(question, answer.status, received);
}

/** The `result` in a body or in one event of a stream, or why there is none. */
export function readResult(
  question: Question,
  text: string,
  answer: Pick<RawAnswer, 'status' | 'retryAfterMs'>,
): { readonly result: unknown } | CallFailure {
  const { status } = answer;
  const isSuccess = status >= 200 && status < 300;
  const parsed = parseAnswer(text, question.id);
  if (parsed.ok) {
    if (parsed.value.kind === 'error') return errorAnswer(parsed.value.error, text, answer);
    if (isSuccess) return { result: parsed.value.result };
  }
  if (!parsed.ok && parsed.error.kind === 'id-mismatch') return protocolError(question, status, parsed.error);
  if (isSuccess) return protocolError(question, status, faultOf(text));
  return {
    kind: 'transport-error',
    failure: { kind: 'status', excerpt: excerptOf(text) },
    status,
    retryable: isPassingStatus(status),
    // Who stands before the peer may have passed the request on before it gave up.
    mayHaveActed: hasEffects(question.method) && status >= 500,
    ...(answer.retryAfterMs !== undefined && { retryAfterMs: answer.retryAfterMs }),
  };
}

export function wrongShape(
  question: Question,
  status: number,
  { violations }: { readonly violations: (ProtocolFault & { kind: 'wrong-shape' })['violations'] },
): ProtocolError {
  return protocolError(question, status, { kind: 'wrong-shape', violations });
}

export function taskMismatch(question: Question, status: number, received: string): ProtocolError {
  const expected = safe(question.taskId ?? '');
  return protocolError(question, status, { kind: 'task-mismatch', expected, received: safe(received) });
}

function protocolError({ method }: Question, status: number, fault: ProtocolFault): ProtocolError {
  return { kind: 'protocol-error', fault, status, mayHaveActed: hasEffects(method) };
}

/** An answer may be one event of a stream, also where none was asked for: some peers answer errors so. */
export function textOf({ contentType, body }: Pick<RawAnswer, 'contentType' | 'body'>): string {
  if (!isEventStream(contentType)) return new TextDecoder().decode(body);
  const bounds = { maxLineBytes: body.length, maxEventBytes: body.length };
  try {
    return createSseDecoder(bounds).push(body)[0]?.data ?? '';
  } catch (error) {
    if (error instanceof SseLimitError) return '';
    throw error;
  }
}

/** Parameters such as `charset` count for nothing. */
export function isEventStream(contentType: string | undefined): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'text/event-stream';
}

/** What a person needs to recognise a foreign body: its first 200 characters, printable, white space folded. */
export function excerptOf(text: string): string {
  return text
    .slice(0, 1000)
    .replace(/[^\x21-\x7e]+/g, ' ')
    .trim()
    .slice(0, 200);
}

const UNSUPPORTED_CODES = [-32601, -32003, -32004];
const INTERNAL_ERROR = -32603;
const MAX_DATA_CHARACTERS = 16_384;

function errorAnswer(
  error: PeerError,
  text: string,
  { status, retryAfterMs }: Pick<RawAnswer, 'status' | 'retryAfterMs'>,
): RemoteError | Unsupported {
  const kind = UNSUPPORTED_CODES.includes(error.code) ? 'unsupported' : 'remote-error';
  const retryable = kind === 'remote-error' && (isPassingStatus(status) || error.code === INTERNAL_ERROR);
  const data = dataOf(text);
  return {
    kind,
    ...error,
    status,
    retryable,
    ...(data !== undefined && { data }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

function dataOf(text: string): JsonValue | undefined {
  const data: JsonValue | undefined = JSON.parse(text).error.data;
  return data !== undefined && JSON.stringify(data).length <= MAX_DATA_CHARACTERS ? data : undefined;
}

/** Says more of a body that the parser did not take for an answer. */
function faultOf(text: string): ProtocolFault {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { kind: 'not-json', excerpt: excerptOf(text) };
  }
  const isEnvelope = typeof body === 'object' && body !== null && 'jsonrpc' in body && body.jsonrpc === '2.0';
  return { kind: isEnvelope ? 'missing-result' : 'not-json-rpc' };
}

function taskIdOf(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string'
    ? value.id
    : undefined;
}

function safe(id: string): string {
  return id.slice(0, 64).replace(/[^A-Za-z0-9_.-]/g, '?');
}
