import { type AgentCard, type AgentInterface, isSupportedVersion } from '../protocol/index.ts';

export type InterfaceChoice =
  | { readonly kind: 'selected'; readonly interface: AgentInterface }
  /** Nothing of what the card offers can be spoken; no call is made. */
  | { readonly kind: 'no-compatible-interface'; readonly offered: readonly OfferedInterface[] }
  /** The interface is somewhere else than the card, and nobody allowed that place. */
  | { readonly kind: 'origin-refused'; readonly origin: string; readonly cardOrigin: string };

/** What a card offered, cut to 64 characters each, for a person to read. */
export interface OfferedInterface {
  readonly protocolBinding: string;
  readonly protocolVersion: string;
}

/**
 * The first interface of a card with binding JSONRPC, version `1.0` or `1.0.x` and a URL that can be parsed; all others
 * are skipped, bindings that are URIs too. It must be on the card's origin, or on one that an administrator allowed:
 * whoever can change a card could else send the credential anywhere (design §8).
 */
export function selectInterface(
  card: Pick<AgentCard, 'supportedInterfaces'>,
  cardUrl: string,
  allowedOrigins: readonly string[] = [],
): InterfaceChoice {
  const chosen = card.supportedInterfaces.find(isCompatible);
  if (chosen === undefined)
    return { kind: 'no-compatible-interface', offered: card.supportedInterfaces.map(offered) };
  const origin = originOf(chosen.url) ?? '';
  const cardOrigin = originOf(cardUrl) ?? '';
  const isAllowed = origin === cardOrigin || allowedOrigins.some((allowed) => originOf(allowed) === origin);
  return isAllowed ? { kind: 'selected', interface: chosen } : { kind: 'origin-refused', origin, cardOrigin };
}

/** Whether this client can speak over an interface. */
export function isCompatible({ url, protocolBinding, protocolVersion }: AgentInterface): boolean {
  return protocolBinding === 'JSONRPC' && isSupportedVersion(protocolVersion) && originOf(url) !== undefined;
}

/** Of http and https only: other schemes have the origin `null`, which would equal itself. */
function originOf(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed?.protocol === 'https:' || parsed?.protocol === 'http:' ? parsed.origin : undefined;
}

function offered({ protocolBinding, protocolVersion }: AgentInterface): OfferedInterface {
  return { protocolBinding: protocolBinding.slice(0, 64), protocolVersion: protocolVersion.slice(0, 64) };
}
