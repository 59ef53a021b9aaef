import type { AgentCard } from './card-types.ts';
import type { Violation } from './errors.ts';
import { fieldsOf, protoName } from './fields.ts';
import { isStruct } from './leaf-schemas.ts';
import type { MessageName } from './messages.ts';
import { METHODS, type Method } from './methods.ts';
import { type Decoded, safeName } from './notices.ts';
import type { PeerResults, PeerStreamEvent } from './peer-types.ts';
import { err } from './result.ts';
import { firstUnknownName, NO_KNOWN_PART, schemaOf } from './schemas.ts';
import { settle } from './settle.ts';
import { violationsOf } from './violations.ts';

/** A peer's answer that cannot be read (client role). */
export interface InvalidResponse {
  readonly kind: 'invalid-response';
  readonly violations: readonly Violation[];
}

/**
 * Reads the `result` of a peer's response (client role; design §8 "Parsing is forward-compatible"). Unknown fields
 * are ignored; an unknown state reads as `TASK_STATE_UNKNOWN`; an unknown member of a union is `{kind: 'unknown'}`;
 * parts of unknown kinds are left out and told in `notices`, and so are messages of a task that are left without parts;
 * defaults that the peer left out are filled in. Refused: an answered message with no part left, a part with no content or
 * with two, a task or context id that we could not keep, and the lack of what we cannot work without (a task's id and
 * status, an artifact's id, a card's name, capabilities and interfaces). Never throws.
 */
export function decodeResponse<M extends Method>(
  method: M,
  result: unknown,
): Decoded<PeerResults[M], InvalidResponse> {
  const name = METHODS[method].response;
  const decoded =
    name === 'google.protobuf.Empty'
      ? decodeEmpty(result)
      : name === 'SendMessageResponse' || name === 'StreamResponse'
        ? decodeUnion(name, result)
        : decodeMessage(name, result);
  return decoded as Decoded<PeerResults[M], InvalidResponse>;
}

/** The same for one event of a stream, and for the body of a push notification. */
export function decodeStreamResponse(result: unknown): Decoded<PeerStreamEvent, InvalidResponse> {
  return decodeUnion('StreamResponse', result) as Decoded<PeerStreamEvent, InvalidResponse>;
}

/** The same for a card. A security scheme of an unknown kind reads as one without members. */
export function decodeAgentCard(card: unknown): Decoded<AgentCard, InvalidResponse> {
  return decodeMessage('AgentCard', card) as Decoded<AgentCard, InvalidResponse>;
}

/** `{}`, and the `null` that some peers answer to Delete instead. */
function decodeEmpty(result: unknown): Decoded<unknown, InvalidResponse> {
  return result === null || isStruct(result)
    ? { ok: true, value: {}, notices: [] }
    : invalid('must be an object');
}

function decodeUnion(name: MessageName, result: unknown): Decoded<unknown, InvalidResponse> {
  if (isStruct(result) && !hasKnownMember(name, result)) {
    const unknown = firstUnknownName(name, result);
    if (unknown !== undefined) {
      const notice = { kind: 'unknown-member', path: 'result', name: safeName(unknown) } as const;
      return { ok: true, value: { kind: 'unknown', name: notice.name }, notices: [notice] };
    }
  }
  const decoded = decodeMessage(name, result);
  if (!decoded.ok) return decoded;
  const { message } = decoded.value as { readonly message?: { readonly parts: readonly unknown[] } };
  if (message?.parts.length === 0) return invalid(NO_KNOWN_PART, 'message.parts');
  const [kind] = Object.keys(decoded.value as object);
  return { ...decoded, value: { kind, ...(decoded.value as object) } };
}

function hasKnownMember(name: MessageName, result: Record<string, unknown>): boolean {
  return fieldsOf(name).some(([json]) => (result[json] ?? result[protoName(json)] ?? null) !== null);
}

function decodeMessage(name: MessageName, result: unknown): Decoded<unknown, InvalidResponse> {
  const parsed = schemaOf(name, 'response').safeParse(result);
  if (!parsed.success)
    return err({ kind: 'invalid-response', violations: violationsOf(parsed.error, 'result') });
  return { ok: true, value: parsed.data, notices: settle(name, parsed.data) };
}

function invalid(description: string, field = 'result') {
  return err<InvalidResponse>({ kind: 'invalid-response', violations: [{ field, description }] });
}
