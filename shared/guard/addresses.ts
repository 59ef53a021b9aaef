import { BlockList, isIP, isIPv6 } from 'node:net';
import { type AddressClass, type Refused, refuse } from './verdicts.ts';

/** What one resolution may be used for: connect to these and no others, never, or ask again later. */
export type AnswersVerdict =
  | { readonly verdict: 'allow'; readonly addresses: readonly string[] }
  | Refused
  | { readonly verdict: 'retry'; readonly reason: 'empty' };

/** Classes besides `global` that an administrator or the local host accepts for one name. */
export type AcceptedClasses = ReadonlySet<AddressClass>;

const MAX_ANSWERS = 32;
const NONE: AcceptedClasses = new Set();

/** Every IPv4 range that is not plainly somebody's public server, by the IANA special-purpose registry. */
const IPV4_RANGES: ReadonlyArray<readonly [string, number, AddressClass]> = [
  ['0.0.0.0', 8, 'unspecified'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'shared'],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'link-local'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'reserved'],
  ['192.0.2.0', 24, 'documentation'],
  ['192.31.196.0', 24, 'reserved'],
  ['192.52.193.0', 24, 'reserved'],
  ['192.88.99.0', 24, 'reserved'],
  ['192.168.0.0', 16, 'private'],
  ['192.175.48.0', 24, 'reserved'],
  ['198.18.0.0', 15, 'benchmark'],
  ['198.51.100.0', 24, 'documentation'],
  ['203.0.113.0', 24, 'documentation'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'reserved'],
  // Azure's platform address, public by its number only.
  ['168.63.129.16', 32, 'metadata'],
];

/** Inside 2000::/3, what is not a public server all the same. */
const IPV6_EXCEPTIONS: ReadonlyArray<readonly [string, number, AddressClass]> = [
  ['2001::', 23, 'reserved'],
  ['2001:db8::', 32, 'documentation'],
  ['2002::', 16, 'embedded-ipv4'],
  ['2620:4f:8000::', 48, 'reserved'],
  ['3fff::', 20, 'documentation'],
];

/** Outside 2000::/3 everything is refused; these rows only give the refusal its name. First match wins. */
const IPV6_OUTSIDE: ReadonlyArray<readonly [string, number, AddressClass]> = [
  ['::', 128, 'unspecified'],
  ['::1', 128, 'loopback'],
  ['::', 96, 'embedded-ipv4'],
  ['::ffff:0:0', 96, 'embedded-ipv4'],
  ['64:ff9b::', 96, 'embedded-ipv4'],
  ['fd00:ec2::', 32, 'metadata'],
  ['fc00::', 7, 'private'],
  ['fe80::', 10, 'link-local'],
  ['ff00::', 8, 'multicast'],
];

const ipv4 = matchers(IPV4_RANGES, 'ipv4');
const ipv6Exceptions = matchers(IPV6_EXCEPTIONS, 'ipv6');
const ipv6Outside = matchers(IPV6_OUTSIDE, 'ipv6');
const [ipv6Global] = matchers([['2000::', 3, 'global']], 'ipv6');

/**
 * Rule 3 of the address guard: one bad answer refuses the whole set, because addresses are raced when connecting and
 * the bad one may win. Pure. `accepted` widens it for one name: `private` and `shared` for a host an administrator
 * vouches for (an endpoint inside a VPC), `loopback` for the local host.
 */
export function classifyAnswers(
  answers: readonly string[],
  accepted: AcceptedClasses = NONE,
): AnswersVerdict {
  if (answers.length === 0) return { verdict: 'retry', reason: 'empty' };
  if (answers.length > MAX_ANSWERS) return refuse('too-many-answers');
  for (const answer of answers) {
    const addressClass = classifyAddress(answer);
    if (addressClass !== 'global' && !accepted.has(addressClass)) return refuse('address', addressClass);
  }
  return { verdict: 'allow', addresses: [...answers] };
}

/** The class of one textual address. A zone id or anything `net.isIP` does not know is `not-an-address`. */
export function classifyAddress(address: string): AddressClass {
  // BlockList answers "not blocked" for garbage, so whether it is an address at all comes first.
  if (isIP(address) === 0 || address.includes('%')) return 'not-an-address';
  if (!isIPv6(address)) return firstMatch(ipv4, address, 'ipv4') ?? 'global';
  if (ipv6Global?.list.check(address, 'ipv6')) return firstMatch(ipv6Exceptions, address, 'ipv6') ?? 'global';
  return firstMatch(ipv6Outside, address, 'ipv6') ?? 'reserved';
}

interface Matcher {
  readonly list: BlockList;
  readonly addressClass: AddressClass;
}

/** One list per range: IPv4 and IPv6 rules in one list match each other's addresses in surprising ways. */
function matchers(ranges: typeof IPV4_RANGES, family: 'ipv4' | 'ipv6'): readonly Matcher[] {
  return ranges.map(([network, prefix, addressClass]) => {
    const list = new BlockList();
    list.addSubnet(network, prefix, family);
    return { list, addressClass };
  });
}

function firstMatch(
  candidates: readonly Matcher[],
  address: string,
  family: 'ipv4' | 'ipv6',
): AddressClass | undefined {
  return candidates.find(({ list }) => list.check(address, family))?.addressClass;
}
