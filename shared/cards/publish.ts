import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { AgentCard, JsonObject } from '../protocol/index.ts';
import { encodeAgentCard } from '../protocol/index.ts';
import { jwksUrl } from './base-url.ts';
import { canonicalCard } from './canonical.ts';
import { type CardSigner, signCard } from './sign.ts';

export interface PublishedCard {
  /**
   * A weak tag over the unsigned card and the key id, hence the same on every instance. Weak, because each signing
   * gives other bytes for the same content.
   */
  readonly etag: string;
  /** ProtoJSON, signed where a key is configured. Throws `SigningUnavailable`. */
  json(): Promise<JsonObject>;
}

export interface CardPublisher {
  publish(card: AgentCard, baseUrl: string): Promise<PublishedCard>;
}

/** Signed cards kept in memory: one per profile, domain and set of granted profiles that is asked for. */
const KEPT = 128;

/**
 * Encodes cards and signs them, each content once per instance, also when many ask at the same time; without a signer
 * the cards have no `signatures`. A signing that failed is not kept.
 */
export function createCardPublisher(signer?: CardSigner, kept = KEPT): CardPublisher {
  const signed = new LRUCache<string, Promise<JsonObject>>({ max: kept });
  return {
    async publish(card, baseUrl) {
      const unsigned = encodeAgentCard(card);
      const content = canonicalCard(unsigned);
      if (signer === undefined) return { etag: etagOf(content), json: async () => unsigned };
      const { kid } = await signer.publicKey();
      // The key set's URL is part of the signature and not always of the card.
      const etag = etagOf(content, kid, jwksUrl(baseUrl));
      const json = () => {
        const before = signed.get(etag);
        if (before !== undefined) return before;
        const signing = signCard(card, signer, jwksUrl(baseUrl)).then(encodeAgentCard);
        signed.set(etag, signing);
        signing.catch(() => {
          if (signed.peek(etag) === signing) signed.delete(etag);
        });
        return signing;
      };
      return { etag, json };
    },
  };
}

/** A weak entity tag over texts; their number and borders count. */
export function etagOf(...texts: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(texts)).digest('base64url');
  return `W/"${digest}"`;
}

/**
 * Whether the client's copy is still good (RFC 9110 §13.1.2): `*`, or any tag of the list equal to ours by weak
 * comparison. Commas may stand inside a tag, so tags are looked for, not split.
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const opaque = etag.replace(/^W\//, '');
  return Array.from(ifNoneMatch.matchAll(/"[^"]*"/g), ([tag]) => tag).includes(opaque);
}
