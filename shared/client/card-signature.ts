import { flattenedVerify, importJWK } from 'jose';
import { canonicalCard, collapsedCard } from '../cards/canonical.ts';
import { type AgentCard, encodeAgentCard, type JsonObject } from '../protocol/index.ts';

/** A public key on P-256 that an administrator pinned for an agent. */
export interface PinnedKey {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly kid?: string;
}

export type SignatureVerdict = 'verified' | 'unsigned' | 'not-by-pinned-key' | 'unusable-key';

/** A signer needs one or two; each costs a verification over up to three payloads. */
const MAX_SIGNATURES = 8;

/**
 * Whether one of a card's signatures (JWS, ES256, detached payload; A2A 1.0 §8.4) is by the pinned key. Signed may be
 * the canonical form of the card as it was received, the same with defaults left out as ProtoJSON has it, or the form
 * without anything empty that the stock SDKs build. Key sets that a card names are not fetched: the pin is the trust.
 */
export async function verifyCard(
  received: JsonObject,
  card: AgentCard,
  pinned: PinnedKey,
): Promise<SignatureVerdict> {
  const signatures = (card.signatures ?? []).slice(0, MAX_SIGNATURES);
  if (signatures.length === 0) return 'unsigned';
  const { kty, crv, x, y } = pinned;
  const key = await importJWK({ kty, crv, x, y }, 'ES256').catch(() => undefined);
  if (key === undefined) return 'unusable-key';
  for (const payload of payloadsOf(received, card)) {
    for (const { protected: header, signature } of signatures) {
      const jws = { protected: header, signature, payload };
      const isValid = await flattenedVerify(jws, key, { algorithms: ['ES256'] }).then(
        () => true,
        () => false,
      );
      if (isValid) return 'verified';
    }
  }
  return 'not-by-pinned-key';
}

function payloadsOf(received: JsonObject, card: AgentCard): ReadonlySet<string> {
  const forms = [
    () => canonicalCard(received),
    () => canonicalCard(encodeAgentCard(card)),
    () => collapsedCard(received),
  ];
  return new Set(forms.flatMap((form) => base64urlOf(form) ?? []));
}

/** A form that cannot be built, of a card nested beyond any stack or with text that is no Unicode, is nobody's. */
function base64urlOf(form: () => string): string | undefined {
  try {
    return Buffer.from(form(), 'utf8').toString('base64url');
  } catch {
    return undefined;
  }
}
