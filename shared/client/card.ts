import type { CallPolicy, Guard } from '../guard/index.ts';
import {
  type AgentCard,
  decodeAgentCard,
  type JsonObject,
  type Notice,
  type Violation,
} from '../protocol/index.ts';
import type { Clock } from '../runtime/ports.ts';
import { excerptOf } from './answers.ts';
import { type PinnedKey, type SignatureVerdict, verifyCard } from './card-signature.ts';
import { openAnswer, readWhole } from './exchange.ts';
import { isPassingStatus, transportError } from './faults.ts';
import { VERSION_HEADER } from './headers.ts';
import { type ClientTimeouts, DEFAULT_TIMEOUTS } from './limits.ts';
import type { TransportError } from './outcomes.ts';

/** A card as it was received, kept under its URL. `body` has at most 262,144 bytes. */
export interface CachedCard {
  readonly etag: string;
  readonly body: string;
}

/** Where cards are kept between fetches. A card that is not there is fetched; losing one costs a request. */
export interface CardCache {
  get(url: string): Promise<CachedCard | undefined>;
  put(url: string, card: CachedCard): Promise<void>;
}

export interface FetchCardOptions {
  readonly guard: Guard;
  readonly policy: CallPolicy;
  readonly clock: Pick<Clock, 'now'>;
  readonly url: string;
  readonly cache?: CardCache;
  /** Of the card that the caller acted on before, where its body is not kept: then `unchanged` may be answered. */
  readonly knownEtag?: string;
  /** Then only a card that this key signed is accepted. */
  readonly pinnedKey?: PinnedKey;
  readonly timeouts?: Partial<Pick<ClientTimeouts, 'totalMs' | 'idleMs'>>;
  readonly signal?: AbortSignal;
}

export type CardOutcome = FetchedCard | UnchangedCard | CardFailure;

/** The agent answered that the card of `knownEtag` still holds. */
export interface UnchangedCard {
  readonly kind: 'unchanged';
}

export interface FetchedCard {
  readonly kind: 'card';
  readonly card: AgentCard;
  readonly notices: readonly Notice[];
  /** REQUIRED fields that the card leaves out and we can do without; empty lists count as left out by some writers. */
  readonly missing: readonly string[];
  /** As the agent sent it, where it can be sent back. */
  readonly etag?: string;
  /** False when the agent answered that the cached card still holds. */
  readonly isNew: boolean;
  /** True only where a key is pinned, and it signed this card. */
  readonly isVerified: boolean;
}

export type CardFailure =
  | TransportError
  /** The body is no card: `violations` names each field that is missing or of the wrong type. */
  | { readonly kind: 'invalid-card'; readonly violations: readonly Violation[]; readonly excerpt?: string }
  | { readonly kind: 'signature-refused'; readonly why: Exclude<SignatureVerdict, 'verified'> };

/** A gateway's card with a skill per profile is some 50 KB; kept below what one item of a store takes. */
const MAX_CARD_BYTES = 256 * 1024;

/**
 * Fetches an agent's card through the guard, without any credential (design §8): only what anybody may read decides where
 * the credential goes later. With a cache, a card that still holds is not sent again (`ETag`). A 3xx is refused, a body
 * over 262,144 bytes too. The card is read forward-compatibly. Never throws but for a cache that does.
 */
export async function fetchAgentCard(options: FetchCardOptions): Promise<CardOutcome> {
  const { url, cache, clock, timeouts } = options;
  const cached = await cache?.get(url);
  const known = cached?.etag ?? options.knownEtag;
  const opened = await openAnswer(options, {
    url,
    method: 'GET',
    headers: {
      ...VERSION_HEADER,
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...(known !== undefined && { 'if-none-match': known }),
    },
    headersMs: Number.POSITIVE_INFINITY,
    idleMs: timeouts?.idleMs ?? DEFAULT_TIMEOUTS.idleMs,
    totalMs: timeouts?.totalMs ?? DEFAULT_TIMEOUTS.totalMs,
    maxBytes: MAX_CARD_BYTES,
    signal: options.signal,
  });
  if (opened.kind !== 'stream') return transportError(opened);
  const answer = await readWhole(opened, MAX_CARD_BYTES, clock.now());
  if ('kind' in answer) return transportError(answer);
  if (answer.status === 304 && cached) return readCard(cached.body, false, options.pinnedKey);
  if (answer.status === 304 && known !== undefined) return { kind: 'unchanged' };
  const body = new TextDecoder().decode(answer.body);
  if (answer.status !== 200) return badStatus(answer.status, body, answer.retryAfterMs);
  const outcome = await readCard(body, true, options.pinnedKey);
  const etag = opened.headers['etag'];
  if (outcome.kind !== 'card' || etag === undefined || !isEtag(etag)) return outcome;
  await cache?.put(url, { etag, body });
  return { ...outcome, etag };
}

async function readCard(
  body: string,
  isNew: boolean,
  pinnedKey: PinnedKey | undefined,
): Promise<FetchedCard | CardFailure> {
  const json = parseObject(body);
  if (json === undefined) {
    const violations = [{ field: 'card', description: 'must be a JSON object' }];
    return { kind: 'invalid-card', violations, excerpt: excerptOf(body) };
  }
  const decoded = decodeAgentCard(json);
  if (!decoded.ok) return { kind: 'invalid-card', violations: decoded.error.violations.map(asOfCard) };
  const { value: card, notices } = decoded;
  const verdict = pinnedKey && (await verifyCard(json, card, pinnedKey));
  if (verdict !== undefined && verdict !== 'verified') return { kind: 'signature-refused', why: verdict };
  return {
    kind: 'card',
    card,
    notices,
    missing: missingFields(json),
    isNew,
    isVerified: verdict === 'verified',
  };
}

const REQUIRED_FIELDS = [
  ['name'],
  ['description'],
  ['supportedInterfaces', 'supported_interfaces'],
  ['version'],
  ['capabilities'],
  ['defaultInputModes', 'default_input_modes'],
  ['defaultOutputModes', 'default_output_modes'],
  ['skills'],
] as const;

function missingFields(json: JsonObject): string[] {
  return REQUIRED_FIELDS.filter((names) => names.every((name) => (json[name] ?? null) === null)).map(
    ([name]) => name,
  );
}

/** The decoder speaks of a `result`, which a card is not. */
function asOfCard({ field, description }: Violation): Violation {
  return { field: field.replace(/^result\b/, 'card'), description };
}

function parseObject(body: string): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(body);
    return typeof json === 'object' && json !== null && !Array.isArray(json)
      ? (json as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}

function badStatus(status: number, body: string, retryAfterMs: number | undefined): TransportError {
  return {
    kind: 'transport-error',
    failure: { kind: 'status', excerpt: excerptOf(body) },
    status,
    retryable: isPassingStatus(status),
    mayHaveActed: false,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** Goes back into a header one day; one that cannot would make every later fetch fail. */
function isEtag(etag: string): boolean {
  return etag.length <= 256 && /^(?:W\/)?"[\x21\x23-\x7e]*"$/.test(etag);
}
