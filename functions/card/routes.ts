import {
  type CardInput,
  type CardPublisher,
  type CardSigner,
  etagOf,
  GATEWAY_VERSION,
  gatewayCard,
  matchesEtag,
  profileCard,
  publicBaseUrl,
  type RoutedEvent,
} from '../../shared/cards/index.ts';
import type { AgentCard } from '../../shared/protocol/index.ts';
import type { Registry } from '../../shared/registry/index.ts';

/** What is read of an API Gateway REST proxy event. */
export interface CardEvent extends RoutedEvent {
  readonly pathParameters?: Readonly<Record<string, string | undefined>> | null;
  readonly headers?: Readonly<Record<string, string | undefined>> | null;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null;
}

export interface CardAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface CardParts {
  readonly registry: Pick<Registry, 'settings' | 'profiles'>;
  readonly publisher: CardPublisher;
  /** Absent: cards are not signed and there is no key set. */
  readonly signer?: CardSigner | undefined;
  /** `SEALPOST_PUBLIC_URL`. */
  readonly publicUrl?: string | undefined;
}

/** Short, so that a new profile, a switched-off capability or a new key is seen soon. */
const CACHE = 'public, max-age=60';
const PROFILE_ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The three open routes (design §5 "Cards"). An unpublished and an unknown profile are answered alike (P11). */
export function createRoutes(parts: CardParts): (event: CardEvent) => Promise<CardAnswer> {
  const card = async (event: CardEvent, build: (input: CardInput) => AgentCard | undefined) => {
    const baseUrl = publicBaseUrl(event, parts.publicUrl);
    const [settings, profiles] = await Promise.all([parts.registry.settings(), parts.registry.profiles()]);
    const push = settings.pushNotifications;
    const content = build({ settings, profiles, baseUrl, push, version: GATEWAY_VERSION });
    if (content === undefined) return notFound();
    const { etag, json } = await parts.publisher.publish(content, baseUrl);
    return document(event, etag, json);
  };
  return async (event) => {
    switch (event.resource) {
      case '/.well-known/agent-card.json':
        return card(event, gatewayCard);
      case '/agents/{profile}/.well-known/agent-card.json': {
        const profile = event.pathParameters?.['profile'] ?? '';
        return PROFILE_ID.test(profile)
          ? card(event, (input) => profileCard({ ...input, profile }))
          : notFound();
      }
      case '/.well-known/jwks.json': {
        if (parts.signer === undefined) return notFound();
        const keySet = { keys: [await parts.signer.publicKey()] };
        return document(event, etagOf(JSON.stringify(keySet)), async () => keySet);
      }
      default:
        return notFound();
    }
  };
}

/** An error as the HTTP routes of this function answer it: JSON, never cached. */
export function failure(statusCode: number, status: string, message: string): CardAnswer {
  return {
    statusCode,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
    body: JSON.stringify({ error: { code: statusCode, status, message } }),
  };
}

function notFound(): CardAnswer {
  return failure(404, 'NOT_FOUND', 'There is nothing at this address.');
}

async function document(event: CardEvent, etag: string, json: () => Promise<object>): Promise<CardAnswer> {
  const headers = { 'Cache-Control': CACHE, ETag: etag };
  if (matchesEtag(header(event, 'if-none-match'), etag)) return { statusCode: 304, headers, body: '' };
  const body = JSON.stringify(await json());
  return { statusCode: 200, headers: { ...headers, 'Content-Type': 'application/json' }, body };
}

/** API Gateway keeps the case that the client wrote; a header sent twice is whole in `multiValueHeaders` only. */
function header({ headers, multiValueHeaders }: CardEvent, name: string): string | undefined {
  const values = Object.entries(multiValueHeaders ?? {}).find(([key]) => key.toLowerCase() === name)?.[1];
  if (values !== undefined && values.length > 0) return values.join(', ');
  return Object.entries(headers ?? {}).find(([key]) => key.toLowerCase() === name)?.[1];
}
