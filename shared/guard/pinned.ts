import { BlockList, isIPv6, type LookupFunction, Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { GuardFault, type Phase } from './outcome.ts';
import { Agent, buildConnector } from './undici.ts';

/** Where one request goes: the name stays for SNI, Host and the certificate, the addresses are all it may reach. */
export interface PinnedTarget {
  readonly host: string;
  readonly addresses: readonly string[];
}

/** How far the connection got; written here, read when a failure has to be named or an attempt given up. */
export interface Progress {
  phase: Phase;
  connecting?: Socket;
}

const CONNECT_TIMEOUT_MS = 3000;
/** Per address when there are several; a dead IPv6 route must leave time for the others. */
const NEXT_ADDRESS_AFTER_MS = 1000;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Rule 4 of the address guard: an agent for one request over one HTTP/1.1 connection to one of the vetted addresses.
 * Nothing is taken from the environment: no proxy, no further CA, and `NODE_TLS_REJECT_UNAUTHORIZED` has no effect.
 * undici's own timers are off but for the connect timeout: the guard has one deadline over everything.
 */
export function pinnedAgent(target: PinnedTarget, secureContext: SecureContext, progress: Progress): Agent {
  const connector = buildConnector({
    allowH2: false,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    lookup: pinnedLookup(target),
    maxCachedSessions: 0,
    rejectUnauthorized: true,
    secureContext,
    timeout: CONNECT_TIMEOUT_MS,
  });
  return new Agent({
    allowH2: false,
    bodyTimeout: 0,
    connect: checkedConnector(connector, target.addresses, progress),
    connections: 1,
    headersTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    pipelining: 0,
  });
}

/** Answers with the vetted addresses and asks nobody. undici does not call it for IP literals, hence the check after. */
function pinnedLookup(target: PinnedTarget): LookupFunction {
  const answers = target.addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (hostname, options, callback) => {
    const first = answers[0];
    if (hostname !== target.host || first === undefined) callback(new GuardFault('GUARD_PINNING'), '');
    else if (options.all) callback(null, answers);
    else callback(null, first.address, first.family);
  };
}

/**
 * Lets one connection through, and only after its other end proved to be a vetted address. Wraps undici's connector,
 * whose returned socket is passed on, because undici cancels a connection attempt by it.
 */
export function checkedConnector(
  connector: buildConnector.connector,
  addresses: readonly string[],
  progress: Progress,
): buildConnector.connector {
  const vetted = addressList(addresses);
  let dialled = false;
  return (options, callback) => {
    // A second connection would be a second attempt, which only the caller may decide on.
    if (dialled) return callback(new GuardFault('GUARD_CONNECTION_LOST'), null);
    dialled = true;
    const connecting: unknown = connector(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      const remote = socket.remoteAddress;
      if (remote !== undefined && vetted.check(remote, isIPv6(remote) ? 'ipv6' : 'ipv4')) {
        progress.phase = 'exchange';
        return callback(null, socket);
      }
      socket.destroy();
      // Without an address the connection is already gone, which is no reason to refuse the host for good.
      return callback(new GuardFault(remote === undefined ? 'GUARD_CONNECTION_LOST' : 'GUARD_PINNING'), null);
    });
    if (connecting instanceof Socket) {
      progress.connecting = connecting;
      connecting.prependOnceListener('connect', () => {
        progress.phase = 'tls';
      });
    }
    return connecting;
  };
}

/** Ends an agent and its connection. undici leaves one that is still connecting to its timeout. */
export function destroyAgent(agent: Agent, { phase, connecting }: Progress): void {
  agent.destroy().catch(() => {});
  if (phase === 'connect' || phase === 'tls') connecting?.destroy(new GuardFault('GUARD_CONNECTION_LOST'));
}

/** A block list used the other way round: it compares addresses by value, however they are spelled. */
function addressList(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const address of addresses) list.addAddress(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  return list;
}
