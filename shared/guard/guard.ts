import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { type AcceptedClasses, type AnswersVerdict, classifyAnswers } from './addresses.ts';
import { checkHeaders } from './credential.ts';
import { type Cutoff, cutoff } from './cutoff.ts';
import { endedBy, type OpenExchange, openExchange } from './exchange.ts';
import { ExchangeError, type Failure, type Outcome, type StreamOutcome } from './outcome.ts';
import { type AddressResolver, type DnsReason, dnsResolver, type Resolution } from './resolver.ts';
import { type Allowed, checkText, includesHost } from './text.ts';
import type { AddressClass, Refused } from './verdicts.ts';

/** What belongs to the installation. Everything here is handed in by code; no environment variable can (rule 8). */
export interface GuardOptions {
  /** Hosts this gateway is reached under, with or without a port. */
  readonly ownHosts: readonly string[];
  /** Local host with `--allow-loopback` only: http and https to 127.0.0.1, ::1 and localhost, any port. */
  readonly allowLoopback?: boolean;
  /** Instead of asking the machine's name servers. */
  readonly resolver?: AddressResolver;
  /** PEM certificates trusted instead of Node's bundled roots. */
  readonly ca?: readonly string[];
  /** Tests only: names whose loopback answers count as vetted, so that a receiver on this machine can play them. */
  readonly loopbackNames?: readonly string[];
}

/** What belongs to the caller. The trust of an administrator exists for two purposes, and for no webhook. */
export type CallPolicy = WebhookPolicy | AdministeredPolicy;

interface HostPolicy {
  /** Ports besides 443. */
  readonly allowedPorts?: readonly number[];
  /** Exact host names; absent means any. */
  readonly allowHosts?: readonly string[];
}

/** For URLs that a remote client chose. */
export interface WebhookPolicy extends HostPolicy {
  readonly purpose: 'webhook';
}

/** For URLs that an administrator registered. */
export interface AdministeredPolicy extends HostPolicy {
  readonly purpose: 'provider' | 'remote-agent';
  /** Exact names that may be special-use names and may have private addresses (an endpoint inside a VPC, say). */
  readonly trustedHosts?: readonly string[];
}

/** What every call has. */
interface Call {
  readonly url: string;
  readonly policy: CallPolicy;
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Visible ASCII only; Host, framing and proxy headers are refused. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Bytes of the answer's body; one more ends the exchange as `response-too-large`. */
  readonly maxResponseBytes: number;
  readonly signal?: AbortSignal;
}

/** A call whose answer is read whole, or not at all. */
export interface RequestCall extends Call {
  /** Milliseconds for everything: look-up, connection, request and answer. */
  readonly deadlineMs: number;
  /** Drop the body unread once the status is there. */
  readonly discardBody?: boolean;
}

/** A call whose answer is read as it arrives, for as long as it arrives. */
export interface StreamCall extends Call {
  /** Milliseconds until the answer's headers are there. */
  readonly headersDeadlineMs: number;
  /** Milliseconds that a reader waits for the next chunk. There is no deadline over the whole. */
  readonly idleMs: number;
}

/** What `guard check` shows. `retry`: the name has no addresses now, which refuses nothing. */
export type CheckResult =
  | { readonly verdict: 'allow'; readonly rule: null }
  | Refused
  | { readonly verdict: 'retry'; readonly rule: null; readonly reason: DnsReason };

/** The only way out of the gateway, for both roles (P7). */
export interface Guard {
  /** Rule 1 alone, for a URL that is about to be stored. Resolves and sends nothing. */
  checkText(url: string, policy: CallPolicy): Allowed | Refused;
  /** Rules 1 to 3 without sending anything; with `resolve`, those answers are judged instead of asking DNS. */
  check(url: string, policy: CallPolicy, options?: CheckOptions): Promise<CheckResult>;
  /** One exchange under all rules. Never throws for what happens on the network. */
  request(call: RequestCall): Promise<Outcome>;
  /** The same for an answer without end, such as server-sent events. */
  stream(call: StreamCall): Promise<StreamOutcome>;
}

export interface CheckOptions {
  readonly resolve?: readonly string[];
  readonly signal?: AbortSignal;
}

/** The address guard. One per process is enough: it keeps nothing but the trusted certificates. */
export function createGuard(options: GuardOptions): Guard {
  const resolver = options.resolver ?? dnsResolver();
  const secureContext = lazySecureContext(options.ca);

  function judgeText(url: string, policy: CallPolicy): Allowed | Refused {
    return checkText(url, {
      ownHosts: options.ownHosts,
      allowedPorts: policy.allowedPorts ?? [],
      loopback: options.allowLoopback ?? false,
      trustedHosts: trustedHosts(policy),
      ...(policy.allowHosts === undefined ? {} : { allowHosts: policy.allowHosts }),
    });
  }

  function judgeAnswers(target: Allowed, policy: CallPolicy, answers: readonly string[]): AnswersVerdict {
    return classifyAnswers(answers, acceptedClasses(target, policy, options.loopbackNames ?? []));
  }

  async function open(call: Call, limit: Cutoff): Promise<OpenExchange | Failure> {
    const text = judgeText(call.url, call.policy);
    if (text.verdict === 'refuse') return refused(text);
    const headers = checkHeaders(call.headers);
    if (headers.verdict === 'refuse') return refused(headers);
    const resolution = await resolveWithin(resolver, text, limit);
    const ended = endedBy(limit, 'dns');
    if (ended !== undefined) return ended;
    if (resolution.kind === 'dns-failure') return resolution;
    const answers = judgeAnswers(text, call.policy, resolution.addresses);
    if (answers.verdict === 'refuse') return refused(answers);
    if (answers.verdict === 'retry') return { kind: 'dns-failure', reason: answers.reason };
    const message = { url: text.url, method: call.method, headers: call.headers, body: call.body };
    const target = { host: text.host, addresses: answers.addresses };
    return openExchange(message, target, secureContext(), limit);
  }

  return {
    checkText: judgeText,

    async check(url, policy, { resolve, signal } = {}) {
      const text = judgeText(url, policy);
      if (text.verdict === 'refuse') return text;
      const given: Resolution | undefined = resolve && { kind: 'answers', addresses: resolve };
      const resolution = given ?? (await resolveOnce(resolver, text, signal));
      if (resolution.kind === 'dns-failure') return retry(resolution.reason);
      const answers = judgeAnswers(text, policy, resolution.addresses);
      if (answers.verdict === 'refuse') return answers;
      if (answers.verdict === 'retry') return retry(answers.reason);
      return { verdict: 'allow', rule: null };
    },

    async request(call) {
      const limit = cutoff(call.deadlineMs, call.signal);
      try {
        const exchange = await open(call, limit);
        return 'kind' in exchange ? exchange : await readAnswer(exchange, call);
      } finally {
        limit.release();
      }
    },

    async stream(call) {
      const limit = cutoff(call.headersDeadlineMs, call.signal);
      const exchange = await open(call, limit).catch((error: unknown) => {
        limit.release();
        throw error;
      });
      if ('kind' in exchange) {
        limit.release();
        return exchange;
      }
      // From here on the cutoff is the idle timer, also for a reader that never comes.
      limit.restart(call.idleMs);
      const { status, headers, close } = exchange;
      return { kind: 'stream', status, headers, chunks: readChunks(exchange, call, limit), close };
    },
  };
}

async function readAnswer(exchange: OpenExchange, call: RequestCall): Promise<Outcome> {
  const { status, headers } = exchange;
  try {
    if (call.discardBody) return { kind: 'response', status, headers };
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of exchange.body) {
      size += chunk.byteLength;
      if (size > call.maxResponseBytes) return { kind: 'response-too-large', part: 'body' };
      chunks.push(chunk);
    }
    return { kind: 'response', status, headers, body: new Uint8Array(Buffer.concat(chunks)) };
  } catch (error) {
    return exchange.failure(error);
  } finally {
    exchange.close();
  }
}

async function* readChunks(
  exchange: OpenExchange,
  call: StreamCall,
  limit: Cutoff,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  try {
    limit.restart(call.idleMs);
    for await (const chunk of exchange.body) {
      size += chunk.byteLength;
      if (size > call.maxResponseBytes) throw new ExchangeError({ kind: 'response-too-large', part: 'body' });
      // A slow reader is not a silent sender.
      limit.pause();
      yield chunk;
      limit.restart(call.idleMs);
    }
  } catch (error) {
    throw error instanceof ExchangeError ? error : new ExchangeError(exchange.failure(error));
  } finally {
    exchange.close();
  }
}

/** Rule 2: a name is resolved once per call. Loopback hosts are not asked for; they are what they are. */
async function resolveOnce(
  resolver: AddressResolver,
  text: Allowed,
  signal?: AbortSignal,
): Promise<Resolution> {
  if (!text.loopback) return resolver.resolve(text.host, signal);
  const addresses = text.host === 'localhost' ? ['127.0.0.1', '::1'] : [text.host];
  return { kind: 'answers', addresses };
}

/** Ends with the cutoff even when the resolver does not listen to it. */
async function resolveWithin(resolver: AddressResolver, text: Allowed, limit: Cutoff): Promise<Resolution> {
  const given: Resolution = { kind: 'dns-failure', reason: 'timeout' };
  const { promise: cut, resolve } = Promise.withResolvers<Resolution>();
  const giveUp = () => resolve(given);
  if (limit.signal.aborted) return given;
  limit.signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([resolveOnce(resolver, text, limit.signal), cut]);
  } finally {
    limit.signal.removeEventListener('abort', giveUp);
  }
}

function acceptedClasses(
  text: Allowed,
  policy: CallPolicy,
  loopbackNames: readonly string[],
): AcceptedClasses {
  const accepted = new Set<AddressClass>();
  if (includesHost(trustedHosts(policy), text.host)) accepted.add('private').add('shared');
  if (text.loopback || includesHost(loopbackNames, text.host)) accepted.add('loopback');
  return accepted;
}

function trustedHosts(policy: CallPolicy): readonly string[] {
  // The type says so already; a policy read from storage might not have been told.
  return policy.purpose === 'webhook' ? [] : (policy.trustedHosts ?? []);
}

function retry(reason: DnsReason): CheckResult {
  return { verdict: 'retry', rule: null, reason };
}

function refused({ rule, addressClass }: Refused): Failure {
  return addressClass === undefined ? { kind: 'refused', rule } : { kind: 'refused', rule, addressClass };
}

/** Ten milliseconds of parsing, spent once. The bundled roots by name, so that `NODE_EXTRA_CA_CERTS` adds none. */
function lazySecureContext(ca: readonly string[] | undefined): () => SecureContext {
  let context: SecureContext | undefined;
  return () => {
    context ??= createSecureContext({ ca: [...(ca ?? getCACertificates('bundled'))] });
    return context;
  };
}
