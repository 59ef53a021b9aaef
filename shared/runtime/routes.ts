/**
 * The HTTP surface as plain data: the stack and the local host build it from this one list, so the two cannot drift
 * apart. A path is served with and without a trailing slash; a segment in braces takes any one value.
 */
export const routes = [
  { method: 'POST', path: '/', function: 'rpc' },
  { method: 'POST', path: '/rpc', function: 'rpc' },
  { method: 'GET', path: '/.well-known/agent-card.json', function: 'card' },
  { method: 'GET', path: '/agents/{profile}/.well-known/agent-card.json', function: 'card' },
  { method: 'GET', path: '/.well-known/jwks.json', function: 'card' },
  /** Remote agents that were given the address and its credential (client role). */
  { method: 'POST', path: '/callbacks/{registration}', function: 'callback' },
  /** IAM-signed on AWS; on this machine a token that only its user can read. */
  { method: 'POST', path: '/admin', function: 'admin', access: 'administrator' },
] as const satisfies readonly Route[];

export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly function: string;
  readonly access?: 'administrator';
}
