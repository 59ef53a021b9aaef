/** On every HTTP request of the client role, the card's included; nobody can drop or change it. */
export const VERSION_HEADER = { 'a2a-version': '1.0' } as const;

/** Names the client writes itself, or leaves out on purpose; in a caller's map they count for nothing. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  'a2a-version',
  'accept',
  'accept-encoding',
  'authorization',
  'content-type',
  'last-event-id',
]);

export interface HeaderParts {
  /** Sent as `Bearer` byte for byte. */
  readonly credential?: string | undefined;
  /** Further headers of the caller, `A2A-Extensions` or an API key, say. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The headers of one JSON-RPC request. */
export function requestHeaders(
  parts: HeaderParts,
  isStreaming: boolean,
  lastEventId = '',
): Record<string, string> {
  const foreign = Object.entries(parts.headers ?? {}).filter(([name]) => !OWN_NAMES.has(name.toLowerCase()));
  return {
    ...Object.fromEntries(foreign),
    ...VERSION_HEADER,
    'content-type': 'application/json',
    accept: isStreaming ? 'text/event-stream, application/json' : 'application/json',
    // The guard does not decompress: a bound on bytes would not bound what they unpack to.
    'accept-encoding': 'identity',
    ...(parts.credential !== undefined && { authorization: `Bearer ${parts.credential}` }),
    ...(isHeaderSafe(lastEventId) && { 'last-event-id': lastEventId }),
  };
}

/** A peer's own event id that cannot stand in a header is not sent back: the peer then starts with the Task. */
function isHeaderSafe(id: string): boolean {
  return /^[\x21-\x7e]{1,256}$/.test(id);
}
