import { isIP } from 'node:net';
import { isSpecialUse } from './special-use.ts';
import { type Refused, refuse } from './verdicts.ts';

/** What rule 1 has to know about the caller and this installation. Host names are compared without case. */
export interface TextPolicy {
  /** Hosts this gateway is reached under, with or without a port; a URL to them would loop. */
  readonly ownHosts: readonly string[];
  /** Ports besides 443 that the operator opened for this client. */
  readonly allowedPorts: readonly number[];
  /** The client's allow list of exact host names; absent means any. */
  readonly allowHosts?: readonly string[];
  /** Exact names an administrator vouches for; they may be special-use names. Never set for webhooks. */
  readonly trustedHosts?: readonly string[];
  /** Local host only: http and https to 127.0.0.1, ::1 and localhost, any port. */
  readonly loopback: boolean;
}

/** A text that passed rule 1. */
export interface Allowed {
  readonly verdict: 'allow';
  /** The parsed URL; its host is what was written, lower-cased. */
  readonly url: URL;
  /** The host without brackets: a name, or with the loopback permission one of the two loopback literals. */
  readonly host: string;
  /** True when only the loopback permission let the text pass. */
  readonly loopback: boolean;
}

const MAX_URL_LENGTH = 2048;
const MAX_HOST_LENGTH = 253;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const NUMERIC_LABEL = /^(?:[0-9]+|0x[0-9a-f]*)$/;
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * Rule 1 of the address guard: may this text be kept as a URL to send to? Pure, resolves nothing, so it is what a
 * request path calls when a config or registration is created (P7). The text is judged as written, before any parser
 * can repair it: whatever passes has one reading, and `new URL` has the same.
 */
export function checkText(url: string, policy: TextPolicy): Allowed | Refused {
  if (url.length > MAX_URL_LENGTH) return refuse('length');
  if (!/^[\x21-\x7e]*$/.test(url)) return refuse('charset');
  if (url.includes('\\')) return refuse('backslash');
  if (url.includes('#')) return refuse('fragment');

  const scheme = /^([a-z][a-z0-9+.-]*):(\/\/)?/i.exec(url);
  if (scheme === null) return refuse('shape');
  const isHttps = scheme[1]?.toLowerCase() === 'https';
  const isLoopbackHttp = policy.loopback && scheme[1]?.toLowerCase() === 'http';
  if (!isHttps && !isLoopbackHttp) return refuse('scheme');
  if (scheme[2] === undefined) return refuse('shape');

  const authority = /^[^/?]*/.exec(url.slice(scheme[0].length))?.[0] ?? '';
  if (authority === '') return refuse('shape');
  if (authority.includes('@')) return refuse('userinfo');
  if (authority.includes('%')) return refuse('encoded-authority');
  return checkAuthority(url, authority.toLowerCase(), isHttps, policy);
}

function checkAuthority(
  url: string,
  authority: string,
  isHttps: boolean,
  policy: TextPolicy,
): Allowed | Refused {
  const parts = /^(\[[^\]]*\]|[^:[\]]+)(?::([0-9]*))?$/.exec(authority);
  const host = parts?.[1];
  if (host === undefined) return refuse('shape');
  const port = parts?.[2];
  const parsed = URL.canParse(url) ? new URL(url) : undefined;

  if (policy.loopback && LOOPBACK_HOSTS.has(host)) return checkLoopback(parsed, host, port, policy);
  if (!isHttps) return refuse('scheme');
  const hostRule = checkHost(host, parsed, policy);
  if (hostRule !== undefined) return hostRule;
  if (!isPortAllowed(port, policy.allowedPorts)) return refuse('port');
  if (parsed === undefined || parsed.hostname !== host) return refuse('shape');
  if (isOwnHost(parsed, policy.ownHosts)) return refuse('own-host');
  if (policy.allowHosts !== undefined && !includesHost(policy.allowHosts, host)) return refuse('not-allowed');
  return { verdict: 'allow', url: parsed, host, loopback: false };
}

function checkLoopback(
  parsed: URL | undefined,
  host: string,
  port: string | undefined,
  policy: TextPolicy,
): Allowed | Refused {
  if (port !== undefined && !isPlainPort(port)) return refuse('port');
  if (parsed === undefined || parsed.hostname !== host) return refuse('shape');
  // All of them are this machine, so a port that is the gateway's own is so under each of its names.
  const names = [...LOOPBACK_HOSTS].map((name) => (parsed.port ? `${name}:${parsed.port}` : name));
  if (names.some((name) => includesHost(policy.ownHosts, name))) return refuse('own-host');
  return { verdict: 'allow', url: parsed, host: host.replace(/^\[|\]$/g, ''), loopback: true };
}

function checkHost(host: string, parsed: URL | undefined, policy: TextPolicy): Refused | undefined {
  const labels = host.split('.');
  const last = labels.at(-1) === '' ? labels.at(-2) : labels.at(-1);
  // The parser reads any host that ends in a number as an IPv4 address, or throws; both are literals here.
  const literal =
    host.startsWith('[') || NUMERIC_LABEL.test(last ?? '') || isIP(parsed?.hostname ?? '') !== 0;
  if (literal) return refuse('literal');
  // A trailing dot slips past exact-match lists and breaks SNI.
  if (host.endsWith('.')) return refuse('trailing-dot');
  if (host.length > MAX_HOST_LENGTH) return refuse('length');
  if (!labels.every((label) => LABEL.test(label))) return refuse('hostname');
  // A single label is completed with search domains, so nobody knows where it leads; of localhost everybody does.
  if (labels.length < 2) return refuse(host === 'localhost' ? 'special-use' : 'single-label');
  if (isSpecialUse(host) && !includesHost(policy.trustedHosts ?? [], host)) return refuse('special-use');
  return undefined;
}

function isPortAllowed(port: string | undefined, allowedPorts: readonly number[]): boolean {
  if (port === undefined) return true;
  return isPlainPort(port) && (port === '443' || allowedPorts.includes(Number(port)));
}

/** `:0443` and `:` are other spellings of a port; only the plain one has one reading. */
function isPlainPort(port: string): boolean {
  return /^[1-9][0-9]{0,4}$/.test(port) && Number(port) <= 65_535;
}

function isOwnHost(url: URL, ownHosts: readonly string[]): boolean {
  return includesHost(ownHosts, url.hostname) || includesHost(ownHosts, url.host);
}

/** Whether a list of exact host names, as an administrator wrote them, holds `host`. */
export function includesHost(list: readonly string[], host: string): boolean {
  return list.some((entry) => entry.toLowerCase() === host);
}
