import type { A2AFailure } from './errors.ts';
import { err, ok, type Result } from './result.ts';

/**
 * Which protocol version a request speaks. Compared by major and minor, trimmed: `1.0` and any `1.0.x` are served;
 * absent, empty and everything else is refused. The query parameter counts only where the header is absent: a
 * header that is there and wrong is not repaired by the query.
 */
export function negotiateVersion(
  header: string | undefined,
  query: string | undefined,
): Result<'1.0', Extract<A2AFailure, { kind: 'version-not-supported' }>> {
  const named = (header ?? query ?? '').trim();
  return /^1\.0(\.\d{1,9})?$/.test(named) ? ok('1.0') : err({ kind: 'version-not-supported' });
}

/** The rule of `negotiateVersion` for the `protocolVersion` of an interface of a peer's card (client role). */
export function isSupportedVersion(version: string): boolean {
  return negotiateVersion(version, undefined).ok;
}
