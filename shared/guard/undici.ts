import type { Dispatcher } from 'undici';
import send from 'undici/lib/api/api-request.js';
import buildConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';

// By file, because the package's index brings fetch, WebSocket, caches and mocks along: 250 KB in every bundle (§10).
// The wire tests run on exactly this, so an upgrade that moves a file or changes its meaning does not pass.
export { Agent, buildConnector };

/** `undici.request` over a given dispatcher; the global one is not even in the bundle (rule 6). */
export function request(
  dispatcher: Dispatcher,
  url: URL,
  options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>,
): Promise<Dispatcher.ResponseData> {
  return send.call(dispatcher, { ...options, origin: url.origin, path: `${url.pathname}${url.search}` });
}
