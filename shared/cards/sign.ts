import type { AgentCard, AgentCardSignature } from '../protocol/index.ts';
import { encodeAgentCard } from '../protocol/index.ts';
import { canonicalCard, collapsedCard } from './canonical.ts';

/** A public key on P-256 as a key set lists it (RFC 7517). `kid` is its thumbprint (RFC 7638), so no ARN shows. */
export interface CardKey {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly kid: string;
  readonly alg: 'ES256';
  readonly use: 'sig';
}

/** The key that signs cards; its private part stays where it is. Both calls throw `SigningUnavailable`. */
export interface CardSigner {
  publicKey(): Promise<CardKey>;
  /** ES256 over the bytes (any number of them): SHA-256, then ECDSA; 64 bytes, r and s. */
  sign(bytes: Uint8Array): Promise<Uint8Array>;
}

/** Thrown when the signing key could not be used; the cause is for the log, not for a caller. */
export class SigningUnavailable extends Error {
  readonly tag = 'SigningUnavailable';
  constructor(operation: string, options?: ErrorOptions) {
    super(`the card key did not ${operation}`, options);
  }
}

/**
 * The card with its signatures (JWS, RFC 7515, detached payload; A2A 1.0 §8.4). The first is over the form that the
 * specification states. Where the stock SDKs rebuild another form, a second is over that one: a verifier is to accept a
 * card of which one signature holds. What the second does not cover is what is empty in the card, so a verifier that
 * relies on it learns nothing about `securityRequirements`; the endpoint asks for the credential either way.
 *
 * Signatures that the card brings along are replaced. Throws `SigningUnavailable`.
 */
export async function signCard(card: AgentCard, signer: CardSigner, keySetUrl: string): Promise<AgentCard> {
  const encoded = encodeAgentCard(card);
  const { kid } = await signer.publicKey();
  const header = base64url(JSON.stringify({ alg: 'ES256', typ: 'JOSE', kid, jku: keySetUrl }));
  const payloads = new Set([canonicalCard(encoded), collapsedCard(encoded)]);
  const signatures = await Promise.all(
    [...payloads].map(async (payload): Promise<AgentCardSignature> => {
      const signature = await signer.sign(Buffer.from(`${header}.${base64url(payload)}`, 'ascii'));
      return { protected: header, signature: Buffer.from(signature).toString('base64url') };
    }),
  );
  return { ...card, signatures };
}

function base64url(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64url');
}
