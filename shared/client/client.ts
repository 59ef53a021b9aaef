import { type CallPolicy, checkCredential, checkHeaders, type Guard } from '../guard/index.ts';
import {
  type AgentInterface,
  encodeParams,
  type Method,
  type MethodParams,
  type PeerResults,
  type StreamingMethod,
  writeRequest,
} from '../protocol/index.ts';
import type { Clock, Random } from '../runtime/ports.ts';
import { readAnswer } from './answers.ts';
import { openAnswer, readWhole } from './exchange.ts';
import { transportError, withoutAnswer } from './faults.ts';
import { type FollowParts, followStream } from './follow.ts';
import { requestHeaders } from './headers.ts';
import { isCompatible } from './interfaces.ts';
import {
  type ClientLimits,
  type ClientTimeouts,
  DEFAULT_LIMITS,
  DEFAULT_TIMEOUTS,
  ERROR_BODY_BYTES,
} from './limits.ts';
import type { CallOutcome } from './outcomes.ts';
import { type Progress, startOf } from './progress.ts';
import { type Connection, readConnection } from './read-stream.ts';
import type { StreamItem } from './stream-items.ts';

export interface A2AClientOptions {
  /** The only way out. */
  readonly guard: Guard;
  readonly policy: CallPolicy;
  /** As {@link selectInterface} chose it; its tenant goes into every request. */
  readonly interface: AgentInterface;
  /** Bearer token, sent byte for byte: visible ASCII, spaces inside only. */
  readonly credential?: string;
  /** Further headers; what the client writes itself cannot be changed or dropped by them. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  readonly timeouts?: Partial<ClientTimeouts>;
  readonly limits?: Partial<ClientLimits>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds that are left to the caller; the call takes no longer, nor than `timeouts.totalMs`. */
  readonly withinMs?: number;
}

export interface StreamOptions {
  readonly signal?: AbortSignal;
}

export interface SubscribeOptions extends StreamOptions {
  /** The id of the last event that was seen, to go on after it where the agent keeps events. */
  readonly lastEventId?: string;
}

/** Params as callers give them: the tenant is the interface's business. */
export type CallParams<M extends Method> = Omit<MethodParams[M], 'tenant'>;

type Call<M extends Method> = (
  params: CallParams<M>,
  options?: CallOptions,
) => Promise<CallOutcome<PeerResults[M]>>;

/**
 * The eleven methods of A2A 1.0 over JSON-RPC. Nothing is thrown for what a peer or the network does. No call is repeated
 * here: whoever repeats a send hands in the same request, and gets the same bytes sent.
 */
export interface A2AClient {
  readonly sendMessage: Call<'SendMessage'>;
  /** See {@link followStream}: cut streams are taken up again; the last item is the end. */
  sendStreamingMessage(
    params: CallParams<'SendStreamingMessage'>,
    options?: StreamOptions,
  ): AsyncGenerator<StreamItem, void>;
  readonly getTask: Call<'GetTask'>;
  readonly listTasks: Call<'ListTasks'>;
  readonly cancelTask: Call<'CancelTask'>;
  subscribeToTask(
    params: CallParams<'SubscribeToTask'>,
    options?: SubscribeOptions,
  ): AsyncGenerator<StreamItem, void>;
  readonly createPushConfig: Call<'CreateTaskPushNotificationConfig'>;
  readonly getPushConfig: Call<'GetTaskPushNotificationConfig'>;
  readonly listPushConfigs: Call<'ListTaskPushNotificationConfigs'>;
  readonly deletePushConfig: Call<'DeleteTaskPushNotificationConfig'>;
  readonly getExtendedAgentCard: Call<'GetExtendedAgentCard'>;
}

/** Thrown when a client is built from what cannot work; holds no value of the options. */
export class UnusableClientOptions extends Error {
  readonly tag = 'UnusableClientOptions';
  readonly option: 'interface' | 'credential' | 'headers';

  constructor(option: UnusableClientOptions['option'], rule: string) {
    super(`${option}: ${rule}`);
    this.name = 'UnusableClientOptions';
    this.option = option;
  }
}

/** A client for one interface of one remote agent (design §8). Throws {@link UnusableClientOptions}. */
export function createA2AClient(options: A2AClientOptions): A2AClient {
  checkOptions(options);
  const { interface: target, clock } = options;
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  let calls = 0;

  function ask<M extends Method>(method: M, params: CallParams<M>) {
    const { tenant: _, ...given } = params as CallParams<M> & { tenant?: string };
    const withTenant = { ...given, ...(target.tenant !== undefined && { tenant: target.tenant }) };
    calls += 1;
    const id = messageIdOf(params) ?? calls;
    return { id, body: writeRequest(id, method, encodeParams(method, withTenant as MethodParams[M])) };
  }

  async function call<M extends Method>(
    method: M,
    params: CallParams<M>,
    { signal, withinMs = Number.POSITIVE_INFINITY }: CallOptions = {},
  ): Promise<CallOutcome<PeerResults[M]>> {
    const { id, body } = ask(method, params);
    const totalMs = Math.min(timeouts.totalMs, withinMs);
    if (signal?.aborted) return transportError({ kind: 'aborted' });
    const opened = await openAnswer(options, {
      url: target.url,
      method: 'POST',
      headers: requestHeaders(options, false),
      body,
      headersMs: totalMs,
      idleMs: timeouts.idleMs,
      totalMs,
      // What says that it failed is read up to a bound of its own.
      maxBytes: Math.max(limits.bodyBytes, 2 * ERROR_BODY_BYTES),
      signal,
    });
    if (opened.kind !== 'stream') return withoutAnswer(method, opened);
    const answer = await readWhole(opened, limits.bodyBytes, clock.now());
    if ('kind' in answer) return withoutAnswer(method, answer);
    return readAnswer({ method, id, taskId: taskIdOf(method, params) }, answer);
  }

  /** One connection of a stream. */
  function connect<M extends StreamingMethod>(
    method: M,
    params: CallParams<M>,
    progress: Progress,
    signal: AbortSignal | undefined,
  ): Connection {
    const { id, body } = ask(method, params);
    const open = () =>
      openAnswer(options, {
        url: target.url,
        method: 'POST',
        headers: requestHeaders(options, true, progress.lastEventId),
        body,
        headersMs: timeouts.headersMs,
        idleMs: timeouts.idleMs,
        totalMs: timeouts.streamTotalMs,
        maxBytes: limits.streamBytes,
        signal,
      });
    return readConnection({ clock, limits, open }, { method, id }, progress);
  }

  function follow<M extends StreamingMethod>(
    first: M,
    params: CallParams<M>,
    { signal, lastEventId = '' }: SubscribeOptions = {},
  ): AsyncGenerator<StreamItem, void> {
    const parts: FollowParts = {
      clock,
      random: options.random,
      resumptions: limits.resumptions,
      signal,
      resubscribe: (taskId, progress) => connect('SubscribeToTask', { id: taskId }, progress, signal),
      getTask: (id) => call('GetTask', { id }, signal && { signal }),
    };
    const start = startOf(taskIdOf(first, params), lastEventId);
    return followStream(parts, first, start, connect(first, params, start, signal));
  }

  function unary<M extends Method>(method: M): Call<M> {
    return (params, callOptions) => call(method, params, callOptions);
  }

  return {
    sendMessage: unary('SendMessage'),
    sendStreamingMessage: (params, streamOptions) => follow('SendStreamingMessage', params, streamOptions),
    getTask: unary('GetTask'),
    listTasks: unary('ListTasks'),
    cancelTask: unary('CancelTask'),
    subscribeToTask: (params, streamOptions) => follow('SubscribeToTask', params, streamOptions),
    createPushConfig: unary('CreateTaskPushNotificationConfig'),
    getPushConfig: unary('GetTaskPushNotificationConfig'),
    listPushConfigs: unary('ListTaskPushNotificationConfigs'),
    deletePushConfig: unary('DeleteTaskPushNotificationConfig'),
    getExtendedAgentCard: unary('GetExtendedAgentCard'),
  };
}

function checkOptions({ interface: target, credential, headers }: A2AClientOptions): void {
  if (!isCompatible(target)) throw new UnusableClientOptions('interface', 'not JSONRPC of version 1.0');
  if (credential !== undefined) {
    // A space at either end would not arrive: servers trim header values.
    const arrives = credential !== '' && credential.trim() === credential;
    if (!arrives || checkCredential(credential).verdict === 'refuse')
      throw new UnusableClientOptions('credential', 'visible ASCII only, and no space at its ends');
  }
  if (checkHeaders(headers ?? {}).verdict === 'refuse')
    throw new UnusableClientOptions('headers', 'not a set of headers that may be sent');
}

/** A message is the same request however often it is sent, JSON-RPC id included. */
function messageIdOf(params: object): string | undefined {
  return 'message' in params ? (params as MethodParams['SendMessage']).message.messageId : undefined;
}

/** Of a message it is not the answer's: an agent may answer with a task of its own making. */
function taskIdOf(method: Method, params: object): string | undefined {
  const isAboutTask = method === 'GetTask' || method === 'CancelTask' || method === 'SubscribeToTask';
  return isAboutTask && 'id' in params ? String(params.id) : undefined;
}
