import { Resolver } from 'node:dns/promises';

/** Why a name has no addresses now. All of them may be different in a minute, so none is a refusal. */
export type DnsReason = 'not-found' | 'empty' | 'server-failure' | 'timeout';

/** One resolution of a name. `addresses` is not judged yet, and never empty. */
export type Resolution =
  | { readonly kind: 'answers'; readonly addresses: readonly string[] }
  | { readonly kind: 'dns-failure'; readonly reason: DnsReason };

/** Turns a name into addresses, once. An aborted signal ends the look-up; what it then answers is not used. */
export interface AddressResolver {
  resolve(name: string, signal?: AbortSignal): Promise<Resolution>;
}

/** Milliseconds per try; with two tries a look-up ends within about four seconds, or with the request's deadline. */
const DNS_TIMEOUT_MS = 2000;
const DNS_TRIES = 2;

/**
 * Rule 2 of the address guard: asks the configured name servers for A and AAAA, never the hosts file, search domains
 * or the C library's cache. One family without an answer is normal; the other one then counts alone.
 */
export function dnsResolver(servers?: readonly string[]): AddressResolver {
  return {
    async resolve(name, signal) {
      // A resolver per look-up, so that cancelling one leaves the others alone.
      const resolver = new Resolver({
        timeout: DNS_TIMEOUT_MS,
        maxTimeout: DNS_TIMEOUT_MS,
        tries: DNS_TRIES,
      });
      if (servers !== undefined) resolver.setServers(servers);
      const cancel = () => resolver.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
      try {
        return combine(await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]));
      } finally {
        signal?.removeEventListener('abort', cancel);
      }
    },
  };
}

/** Both families' answers together; without any, the reason that is most likely to pass. */
export function combine(results: ReadonlyArray<PromiseSettledResult<string[]>>): Resolution {
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  if (addresses.length > 0) return { kind: 'answers', addresses };
  const reasons = results.map((result) =>
    result.status === 'fulfilled' ? 'empty' : reasonOf(result.reason),
  );
  const order: readonly DnsReason[] = ['timeout', 'server-failure', 'empty', 'not-found'];
  return {
    kind: 'dns-failure',
    reason: order.find((reason) => reasons.includes(reason)) ?? 'server-failure',
  };
}

function reasonOf(error: unknown): DnsReason {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOTFOUND':
      return 'not-found';
    case 'ENODATA':
      return 'empty';
    case 'ETIMEOUT':
    case 'ECANCELLED':
      return 'timeout';
    default:
      return 'server-failure';
  }
}
