/** One `google.rpc.BadRequest.FieldViolation`. `field` is a camelCase path such as `message.parts[0].raw`. */
export interface Violation {
  readonly field: string;
  /** Fixed words; never holds anything of the message. */
  readonly description: string;
}

/** Reasons of our own for `-32004`. */
export type UnsupportedReason =
  | 'TASK_TERMINAL'
  | 'TASK_WORKING'
  | 'TASK_SUBMITTED'
  | 'AWAITING_APPROVAL'
  | 'TASK_FULL'
  | 'RESULT_NOT_RETAINABLE'
  | 'STREAM_EXHAUSTED'
  | 'STREAMING_DISABLED'
  | 'EXTENDED_CARD_DISABLED';

/** Reasons of our own for `-32602`. */
export type InvalidParamsReason = 'MESSAGE_ID_REUSED' | 'TOO_MANY_PUSH_CONFIGS' | 'PAGE_TOKEN_INVALID';

/** What `decodeParams` answers; an `A2AFailure` as it stands. */
export interface InvalidParams {
  readonly kind: 'invalid-params';
  readonly violations: readonly Violation[];
  readonly reason?: InvalidParamsReason;
}

/** Which quota a caller is over. */
export type QuotaReason = 'REQUESTS_PER_MINUTE' | 'OPEN_TASKS' | 'OPEN_STREAMS';

/** Every way in which the server role can refuse a request. */
export type A2AFailure =
  | { readonly kind: 'parse-error' }
  | { readonly kind: 'invalid-request'; readonly detail?: string }
  | { readonly kind: 'method-not-found' }
  | InvalidParams
  | { readonly kind: 'internal'; readonly correlationId: string }
  | { readonly kind: 'task-not-found' }
  | { readonly kind: 'task-not-cancelable' }
  | { readonly kind: 'push-not-supported' }
  | { readonly kind: 'unsupported-operation'; readonly reason?: UnsupportedReason }
  | { readonly kind: 'content-type-not-supported'; readonly violations?: readonly Violation[] }
  | { readonly kind: 'invalid-agent-response' }
  | { readonly kind: 'extended-card-not-configured' }
  | { readonly kind: 'extension-support-required'; readonly missing: readonly string[] }
  | { readonly kind: 'version-not-supported' }
  | { readonly kind: 'unauthenticated' }
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'body-too-large'; readonly limitBytes: number }
  | { readonly kind: 'media-type-not-json' }
  | { readonly kind: 'quota-exceeded'; readonly quota?: QuotaReason; readonly retryAfterSeconds: number }
  | { readonly kind: 'unavailable'; readonly retryAfterSeconds?: number };

export const A2A_DOMAIN = 'a2a-protocol.org';
export const SEALPOST_DOMAIN = 'sealpost';

/** The versions that `A2A-Version` may name, by major and minor. */
export const SUPPORTED_VERSIONS: readonly string[] = ['1.0'];

/** A failure as it goes on the wire: the JSON-RPC error's facts and those of the HTTP answer around it. */
export interface WireError {
  readonly code: number;
  readonly httpStatus: number;
  readonly message: string;
  /** The protocol's reason where it has one, else ours. First `ErrorInfo` of `error.data`. */
  readonly reason: string;
  readonly domain: typeof A2A_DOMAIN | typeof SEALPOST_DOMAIN;
  /** Reason in our own domain that says which case of `reason` it was. Second `ErrorInfo`. */
  readonly ownReason?: string;
  /** Strings only, as `ErrorInfo.metadata` is a map of strings. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  /** Headers that belong to the answer: `WWW-Authenticate`, `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

/**
 * The one place that decides what a failure looks like to a caller (decisions "Envelope"; P10, P11). There is no
 * default branch: a new failure does not compile until its answer is decided here.
 */
export function toWireError(failure: A2AFailure): WireError {
  switch (failure.kind) {
    case 'parse-error':
      return protocol(-32700, 'PARSE_ERROR', 'The body is not valid JSON.');
    case 'invalid-request':
      return protocol(-32600, 'INVALID_REQUEST', failure.detail ?? 'Not a JSON-RPC 2.0 request.');
    case 'method-not-found':
      return protocol(-32601, 'METHOD_NOT_FOUND', 'There is no such method.');
    case 'invalid-params':
      return {
        ...protocol(-32602, 'INVALID_PARAMS', invalidParamsMessage(failure)),
        violations: failure.violations,
        ...(failure.reason && { ownReason: failure.reason }),
      };
    case 'internal':
      return {
        ...protocol(-32603, 'INTERNAL_ERROR', 'Internal error.'),
        metadata: { correlationId: failure.correlationId },
      };
    case 'task-not-found':
      return protocol(-32001, 'TASK_NOT_FOUND', 'Task not found.');
    case 'task-not-cancelable':
      return protocol(-32002, 'TASK_NOT_CANCELABLE', 'The task has ended and cannot be canceled.');
    case 'push-not-supported':
      return protocol(-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED', 'Push notifications are not supported.');
    case 'unsupported-operation':
      return {
        ...protocol(-32004, 'UNSUPPORTED_OPERATION', unsupportedMessage(failure.reason)),
        ...(failure.reason && { ownReason: failure.reason }),
      };
    case 'content-type-not-supported':
      return {
        ...protocol(-32005, 'CONTENT_TYPE_NOT_SUPPORTED', 'A media type of the message is not supported.'),
        ...(failure.violations && { violations: failure.violations }),
      };
    case 'invalid-agent-response':
      return protocol(-32006, 'INVALID_AGENT_RESPONSE', 'The agent gave an invalid response.');
    case 'extended-card-not-configured':
      return protocol(
        -32007,
        'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
        'There is no extended agent card for this caller.',
      );
    case 'extension-support-required':
      return {
        ...protocol(
          -32008,
          'EXTENSION_SUPPORT_REQUIRED',
          'A required extension is not named in A2A-Extensions.',
        ),
        metadata: { requiredExtensions: failure.missing.join(',') },
      };
    case 'version-not-supported':
      return {
        ...protocol(
          -32009,
          'VERSION_NOT_SUPPORTED',
          `A2A-Version must name a supported version: ${SUPPORTED_VERSIONS.join(', ')}.`,
        ),
        metadata: { supportedVersions: SUPPORTED_VERSIONS.join(',') },
      };
    case 'unauthenticated':
      return own(-32090, 401, 'UNAUTHENTICATED', 'A valid bearer token is needed.', {
        'WWW-Authenticate': 'Bearer realm="sealpost"',
      });
    case 'forbidden':
      return own(-32091, 403, 'PERMISSION_DENIED', 'The caller may not do this.');
    case 'body-too-large':
      return {
        ...protocol(-32600, 'INVALID_REQUEST', 'The body is larger than the limit.'),
        httpStatus: 413,
        ownReason: 'BODY_TOO_LARGE',
        metadata: { limitBytes: String(failure.limitBytes) },
      };
    case 'media-type-not-json':
      return {
        ...protocol(-32005, 'CONTENT_TYPE_NOT_SUPPORTED', 'Content-Type must be application/json.'),
        httpStatus: 415,
      };
    case 'quota-exceeded':
      return {
        ...own(-32092, 429, 'QUOTA_EXCEEDED', 'Too many requests.', retryAfter(failure.retryAfterSeconds)),
        ...(failure.quota && { ownReason: failure.quota }),
      };
    case 'unavailable':
      return own(
        -32093,
        503,
        'UNAVAILABLE',
        'The service is not available at present.',
        failure.retryAfterSeconds === undefined ? NO_HEADERS : retryAfter(failure.retryAfterSeconds),
      );
  }
}

/** The `error` member of a JSON-RPC response. `data` always starts with an `ErrorInfo`. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: readonly Readonly<Record<string, unknown>>[];
}

export function toRpcError(error: WireError): RpcError {
  const data: Record<string, unknown>[] = [errorInfo(error.reason, error.domain, error.metadata)];
  if (error.ownReason) data.push(errorInfo(error.ownReason, SEALPOST_DOMAIN, error.metadata));
  if (error.violations) {
    const fieldViolations = error.violations.map(({ field, description }) => ({ field, description }));
    data.push({ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations });
  }
  return { code: error.code, message: error.message, data };
}

function errorInfo(reason: string, domain: string, metadata: WireError['metadata']): Record<string, unknown> {
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain };
  return metadata ? { ...info, metadata } : info;
}

function protocol(code: number, reason: string, message: string): WireError {
  return { code, httpStatus: 200, message, reason, domain: A2A_DOMAIN, headers: NO_HEADERS };
}

function own(
  code: number,
  httpStatus: number,
  reason: string,
  message: string,
  headers = NO_HEADERS,
): WireError {
  return { code, httpStatus, message, reason, domain: SEALPOST_DOMAIN, headers };
}

function retryAfter(seconds: number): Record<string, string> {
  return { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) };
}

function invalidParamsMessage(failure: InvalidParams): string {
  const reason: InvalidParamsReason | undefined = failure.reason;
  switch (reason) {
    case 'MESSAGE_ID_REUSED':
      return 'The messageId was used before with another message.';
    case 'TOO_MANY_PUSH_CONFIGS':
      return 'The task has as many push configs as it may have.';
    case 'PAGE_TOKEN_INVALID':
      return 'The page token is not valid for this caller and these filters.';
    case undefined: {
      const first = failure.violations[0];
      return first ? `Invalid params: ${first.field} ${first.description}.` : 'Invalid params.';
    }
    default:
      return reason satisfies never;
  }
}

function unsupportedMessage(reason: UnsupportedReason | undefined): string {
  switch (reason) {
    case 'TASK_TERMINAL':
      return 'The task has ended.';
    case 'TASK_WORKING':
      return 'The task is being worked on and takes no message now.';
    case 'TASK_SUBMITTED':
      return 'The task has not been started and takes no message now.';
    case 'AWAITING_APPROVAL':
      return 'The task waits for an approval and takes no message now.';
    case 'TASK_FULL':
      return 'The task holds as many messages as this gateway keeps.';
    case 'RESULT_NOT_RETAINABLE':
      return 'A result could not be kept under the privacy policy in force.';
    case 'STREAM_EXHAUSTED':
      return 'The task has ended and no event remains.';
    case 'STREAMING_DISABLED':
      return 'Streaming is not supported.';
    case 'EXTENDED_CARD_DISABLED':
      return 'The extended agent card is not supported.';
    case undefined:
      return 'This operation is not supported.';
  }
}
