/** The A2A 1.0 protocol layer, shared by both roles: types, decoding, encoding, envelope, errors, SSE. */
export type * from './card-types.ts';
export { decodeParams } from './decode-params.ts';
export {
  decodeAgentCard,
  decodeResponse,
  decodeStreamResponse,
  type InvalidResponse,
} from './decode-response.ts';
export * from './encode.ts';
export {
  type EnvelopeError,
  type JsonId,
  NULL_ID,
  parseRequest,
  type RpcRequest,
  writeError,
  writeResult,
} from './envelope.ts';
export * from './errors.ts';
export { echoExtensions, missingExtensions, parseExtensions } from './extensions.ts';
export { MAX_ID_LENGTH, MAX_JSON_DEPTH } from './leaf-schemas.ts';
export type { MessageName, Messages } from './messages.ts';
export {
  isMethod,
  isStreaming,
  METHOD_NAMES,
  METHODS,
  type Method,
  type MethodParams,
  type StreamingMethod,
} from './methods.ts';
export type { Decoded, Notice } from './notices.ts';
export {
  type AnswerFault,
  type PeerAnswer,
  type PeerError,
  parseAnswer,
  writeRequest,
} from './peer-envelope.ts';
export type * from './peer-types.ts';
export { err, ok, type Result } from './result.ts';
export { schemaOf } from './schemas.ts';
export { encodeSse, encodeSseComment, type SseOutput } from './sse.ts';
export {
  createSseDecoder,
  type SseDecoder,
  type SseEvent,
  SseLimitError,
  type SseLimits,
} from './sse-decoder.ts';
export {
  INTERRUPTED_STATES,
  isInterrupted,
  isTerminal,
  type PeerTaskState,
  TERMINAL_STATES,
  UNKNOWN_STATE,
} from './states.ts';
export type * from './types.ts';
export { isSupportedVersion, negotiateVersion } from './version.ts';
