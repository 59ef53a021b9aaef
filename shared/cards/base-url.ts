/** What is read of an API Gateway REST proxy event; nothing in it comes from a header that the client chose. */
export interface RoutedEvent {
  /** The route's template, `/agents/{profile}/.well-known/agent-card.json` say. */
  readonly resource: string;
  readonly requestContext: { readonly domainName?: string | undefined; readonly path: string };
}

/** Thrown when the event does not tell where the gateway is reached; a guessed URL in a card would be worse. */
export class PublicUrlUnknown extends Error {
  readonly tag = 'PublicUrlUnknown';
  constructor() {
    super('the public URL of the gateway cannot be told from the request; set SEALPOST_PUBLIC_URL');
  }
}

/**
 * The URL that outsiders put before the gateway's routes, without a trailing slash (design §5 "Cards"). `configured`
 * (`SEALPOST_PUBLIC_URL`) wins where it is set.
 *
 * `requestContext.path` is the path as it was requested: with the stage on the API's own domain, with the base path
 * mapping (and the stage, where the mapping names none) on a custom domain. `event.path` lacks the stage but keeps the
 * mapping, and `requestContext.stage` is set even where no URL shows it. So what stands before the route in
 * `requestContext.path` is the whole answer, and no stage can appear twice. `domainName` is the domain that API
 * Gateway matched; `Host` and `X-Forwarded-*` are not looked at.
 */
export function publicBaseUrl(event: RoutedEvent, configured?: string): string {
  if (configured !== undefined) return configured.replace(/\/+$/, '');
  const { domainName, path } = event.requestContext;
  if (domainName === undefined || domainName === '') throw new PublicUrlUnknown();
  const route = segments(event.resource);
  const requested = segments(path);
  const prefix = requested.slice(0, Math.max(0, requested.length - route.length));
  const tail = requested.slice(prefix.length);
  const same = route.every((name, at) => (isParameter(name) ? tail[at] !== undefined : tail[at] === name));
  if (!same) throw new PublicUrlUnknown();
  return [`https://${domainName}`, ...prefix].join('/');
}

/** Where the key set of signed cards is served. */
export function jwksUrl(baseUrl: string): string {
  return `${baseUrl}/.well-known/jwks.json`;
}

/** Empty segments are dropped: the RPC route is served with and without a trailing slash. */
function segments(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}
