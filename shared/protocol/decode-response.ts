import type { AgentCard } from './card-types.ts';
import type { Violation } from './errors.ts';
import type { Method } from './methods.ts';
import type { Decoded } from './notices.ts';
import type { PeerResults, PeerStreamEvent } from './peer-types.ts';

/** A peer's answer that cannot be read (client role). */
export interface InvalidResponse {
  readonly kind: 'invalid-response';
  readonly violations: readonly Violation[];
}

export function decodeResponse<M extends Method>(
  _method: M,
  _result: unknown,
): Decoded<PeerResults[M], InvalidResponse> {
  throw new Error('not written yet');
}

export function decodeStreamResponse(_result: unknown): Decoded<PeerStreamEvent, InvalidResponse> {
  throw new Error('not written yet');
}

export function decodeAgentCard(_card: unknown): Decoded<AgentCard, InvalidResponse> {
  throw new Error('not written yet');
}
