/*
 * Loaded before every test file, and by NODE_OPTIONS in every Node process that a test starts: nothing of the suite may
 * reach anything but this machine. An attempt fails where it is made, and is kept, so that its test fails even if the
 * code under test makes do without the answer.
 */
import dgram from 'node:dgram';
import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { BlockList, isIP, isIPv6, type LookupFunction, Socket } from 'node:net';

// biome-ignore lint/suspicious/noExplicitAny: Node's own functions are wrapped, whatever their signatures.
type Wrapped = any;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
const isLoopback = (address: string) => loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
const mayBeLookedUp = (name: string) =>
  isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost');

const refused: string[] = [];
function refusal(what: string): Error {
  refused.push(what);
  return Object.assign(new Error(`Tests may reach this machine only, not ${what}.`), { code: 'EACCES' });
}

/** What was refused in this process since the last call. */
export function takeRefused(): string[] {
  return refused.splice(0);
}

const systemLookup = dns.lookup as LookupFunction;

/** A look-up that passes on no address but this machine's. Where a test plays DNS, `given` answers for any name. */
function guardedLookup(given?: LookupFunction): LookupFunction {
  return (name, options, callback) => {
    if (given === undefined && !mayBeLookedUp(name)) {
      process.nextTick(callback, refusal(`the name ${name}`));
      return;
    }
    (given ?? systemLookup)(name, options, (error, found, family) => {
      if (error) return callback(error, found);
      const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address);
      const strange = addresses.find((address) => !isLoopback(address));
      if (strange === undefined) callback(null, found, family);
      else callback(refusal(`${name} at ${strange}`), found);
    });
  };
}

const lookup = guardedLookup();
dns.lookup = ((name: string, options: LookupOptions | Wrapped, callback?: Wrapped) =>
  typeof options === 'function' ? lookup(name, {}, options) : lookup(name, options, callback)) as Wrapped;
const promisedLookup = dns.promises.lookup as (
  name: string,
  options?: LookupOptions,
) => Promise<LookupAddress>;
dns.promises.lookup = (async (name: string, options?: LookupOptions) => {
  if (!mayBeLookedUp(name)) throw refusal(`the name ${name}`);
  return promisedLookup(name, options);
}) as Wrapped;

const connect = Socket.prototype.connect as (...args: Wrapped[]) => Socket;
Socket.prototype.connect = function (this: Socket, ...args: Wrapped[]) {
  // Node's own callers hand over arguments that are normalized already: one array of options and callback.
  const [first, second] = Array.isArray(args[0]) ? args[0] : args;
  const callback = (Array.isArray(args[0]) ? args[0] : args).findLast(
    (argument: unknown) => typeof argument === 'function',
  );
  const options =
    typeof first === 'object' ? first : { port: first, ...(typeof second === 'string' && { host: second }) };
  // A socket of the file system: it is on this machine.
  if (options.path || Number.isNaN(Number(options.port))) return connect.apply(this, args);
  const host: string = options.host ?? 'localhost';
  if (isIP(host) !== 0 && !isLoopback(host)) {
    process.nextTick(() => this.destroy(refusal(`${host} port ${options.port}`)));
    return this;
  }
  const guarded = { ...options, lookup: guardedLookup(options.lookup) };
  return connect.call(this, guarded, ...(callback ? [callback] : []));
} as Wrapped;

/** Resolvers ask by sockets of their own, and a name server on this machine asks others: only a test's own may be asked. */
const served = new WeakSet<object>();
for (const Resolver of [dns.Resolver, dns.promises.Resolver] as Wrapped[]) {
  const { setServers } = Resolver.prototype;
  Resolver.prototype.setServers = function (servers: readonly string[]) {
    setServers.call(this, servers);
    const own = servers.every((server) => isLoopback(server.replace(/^\[(.*)\](:\d+)?$|:\d+$/, '$1')));
    if (own) served.add(this);
    else served.delete(this);
  };
  for (const name of queries(Resolver.prototype)) {
    const query = Resolver.prototype[name];
    Resolver.prototype[name] = function (...args: Wrapped[]) {
      if (served.has(this)) return query.apply(this, args);
      throw refusal(`the name ${args[0]}`);
    };
  }
}
for (const module of [dns, dns.promises] as Wrapped[]) {
  for (const name of queries(module)) {
    module[name] = (asked: unknown) => {
      throw refusal(`the name ${asked}`);
    };
  }
}
function queries(holder: object): string[] {
  return Object.getOwnPropertyNames(holder).filter((name) => /^(resolve|reverse|lookupService)/.test(name));
}

for (const name of ['send', 'connect'] as const) {
  const leave = dgram.Socket.prototype[name] as (...args: Wrapped[]) => Wrapped;
  dgram.Socket.prototype[name] = function (this: dgram.Socket, ...args: Wrapped[]) {
    // Behind what is sent, or the port, the only text is the address; without one it is this machine's.
    const address: string = args.slice(1).find((argument) => typeof argument === 'string') ?? 'localhost';
    if (address === 'localhost' || (isIP(address) !== 0 && isLoopback(address)))
      return leave.apply(this, args);
    throw refusal(`${address} by a datagram`);
  } as Wrapped;
}

syncBuiltinESMExports();
