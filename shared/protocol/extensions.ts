/**
 * The URIs named in an `A2A-Extensions` header: a comma list, trimmed, without empty entries, each once, in order.
 * Several header fields are to be joined with a comma first, as HTTP has it.
 */
export function parseExtensions(header: string | undefined): string[] {
  const uris = (header ?? '').split(',').map((uri) => uri.trim());
  return [...new Set(uris.filter((uri) => uri !== ''))];
}

/** Required extensions that the caller did not name; any makes the answer `-32008`. */
export function missingExtensions(required: Iterable<string>, named: readonly string[]): string[] {
  return [...required].filter((uri) => !named.includes(uri));
}

/** The value of the response's `A2A-Extensions`: what was named and is supported; undefined if nothing is. */
export function echoExtensions(supported: Iterable<string>, named: readonly string[]): string | undefined {
  const known = new Set(supported);
  const both = named.filter((uri) => known.has(uri));
  return both.length > 0 ? both.join(', ') : undefined;
}
