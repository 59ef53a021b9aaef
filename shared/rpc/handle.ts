import {
  type A2AFailure,
  decodeParams,
  echoExtensions,
  err,
  isMethod,
  type JsonId,
  type Method,
  type Notice,
  NULL_ID,
  negotiateVersion,
  ok,
  parseExtensions,
  parseRequest,
  type Result,
  type RpcRequest,
  toWireError,
  writeError,
  writeResult,
} from '../protocol/index.ts';
import { countRequest } from '../quotas/index.ts';
import { authenticate, type Client, type Settings } from '../registry/index.ts';
import { sse, started } from './answer-stream.ts';
import type { Answer, Call, StreamAnswer, StreamPiece } from './call.ts';
import { faultOf } from './fault.ts';
import { createPushConfig, deletePushConfig, getPushConfig, listPushConfigs } from './push.ts';
import { cancel, getExtendedCard, getTask, list } from './read.ts';
import { sendMessage } from './send.ts';
import type { RpcHttpAnswer, RpcHttpRequest, RpcServices } from './services.ts';
import { sendStreaming, subscribe } from './stream.ts';
import { isGranted } from './tenant.ts';

const PERMITTED_MS = 1_000;
const JSON_HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
const SSE_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
};

/**
 * One POST to the RPC endpoint (design §5; decisions, envelope). Checks in this order: credential, size, media type,
 * envelope, version, method, params; then the method's own. Whatever happens, the answer is a JSON-RPC body, or a
 * stream of them; an unexpected error shows nothing but a correlation id.
 */
export async function handleRpc(
  services: RpcServices,
  request: RpcHttpRequest,
  deadline: number,
): Promise<RpcHttpAnswer> {
  let id = NULL_ID;
  try {
    const authentication = await authenticate(request.headers['authorization'], (name) =>
      services.registry.client(name),
    );
    if (authentication.kind === 'unauthenticated')
      return failure(idOf(request.body), { kind: 'unauthenticated' });
    const settings = await services.registry.settings();
    const refusal = refusalOfBody(request, settings);
    if (refusal) return failure(NULL_ID, refusal);
    const envelope = parseRequest(request.body);
    if (!envelope.ok) return failure(envelope.error.id, envelope.error.failure);
    id = envelope.value.id;
    const version = negotiateVersion(request.headers['a2a-version'], query(request, 'a2a-version'));
    if (!version.ok) return failure(id, version.error);
    return await dispatch(services, request, envelope.value, authentication.client, settings, deadline);
  } catch (error) {
    return failure(id, faultOf(services, error));
  }
}

async function dispatch(
  services: RpcServices,
  request: RpcHttpRequest,
  { id, method, params }: RpcRequest,
  client: Client,
  settings: Settings,
  deadline: number,
): Promise<RpcHttpAnswer> {
  if (!isMethod(method)) return failure(id, { kind: 'method-not-found' });
  const decoded = decodeParams(method, params);
  if (!decoded.ok) return failure(id, decoded.error);
  logNotices(services, decoded.notices);
  const extensions = parseExtensions(request.headers['a2a-extensions']);
  const call = {
    services,
    client,
    settings,
    params: decoded.value,
    extensions,
    lastEventId: request.headers['last-event-id'],
    baseUrl: request.baseUrl,
    deadline,
    rate: rateOf(services, client, settings),
    permitted: permittedOf(services, request),
  } as unknown as Call<Method>;
  const started = services.clock.now();
  const answer = await methods[method](call as never);
  services.metrics.count('Request', 1, { method, outcome: answer.ok ? 'ok' : answer.error.kind });
  services.metrics.milliseconds('RequestDuration', services.clock.now() - started, { method });
  if (!answer.ok) return failure(id, answer.error);
  const echoed = echoExtensions(await supportedExtensions(services, client, extensions), extensions);
  const headers = echoed === undefined ? {} : { 'A2A-Extensions': echoed };
  const value = answer.value;
  if (isStream(value))
    return { status: 200, headers: { ...SSE_HEADERS, ...headers }, body: sse(services, id, value) };
  return { status: 200, headers: { ...JSON_HEADERS, ...headers }, body: writeResult(id, value) };
}

const methods: { readonly [M in Method]: (call: Call<M>) => Promise<Answer | StreamAnswer> } = {
  SendMessage: sendMessage,
  SendStreamingMessage: async (call) => started(await sendStreaming(call)),
  GetTask: getTask,
  ListTasks: list,
  CancelTask: cancel,
  SubscribeToTask: async (call) => started(await subscribe(call)),
  CreateTaskPushNotificationConfig: createPushConfig,
  GetTaskPushNotificationConfig: getPushConfig,
  ListTaskPushNotificationConfigs: listPushConfigs,
  GetExtendedAgentCard: getExtendedCard,
  DeleteTaskPushNotificationConfig: deletePushConfig,
};

function isStream(value: unknown): value is AsyncIterable<StreamPiece> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function failure(id: JsonId, failed: A2AFailure): RpcHttpAnswer {
  const wire = toWireError(failed);
  return {
    status: wire.httpStatus,
    headers: { ...JSON_HEADERS, ...wire.headers },
    body: writeError(id, wire),
  };
}

function refusalOfBody(request: RpcHttpRequest, settings: Settings): A2AFailure | undefined {
  if (request.body.length > settings.maxBodyBytes) {
    return { kind: 'body-too-large', limitBytes: settings.maxBodyBytes };
  }
  const type = request.headers['content-type'];
  const isJson = type === undefined || /^application\/(json|[a-z0-9.+-]+\+json)\s*(;|$)/i.test(type.trim());
  return isJson ? undefined : { kind: 'media-type-not-json' };
}

/** Read for a refused caller too, where it costs little, so that a client can tell which of its calls it was. */
function idOf(body: Uint8Array): JsonId {
  if (body.length > 65_536) return NULL_ID;
  const envelope = parseRequest(body);
  return envelope.ok ? envelope.value.id : envelope.error.id;
}

/** Counted once a call, from its first moment on; asked for where the method's order of checks has it. */
function rateOf(
  services: RpcServices,
  client: Client,
  settings: Settings,
): () => Promise<A2AFailure | undefined> {
  const counting = countRequest(services, client.id, settings.requestsPerMinute).then(
    (quota): Result<A2AFailure | undefined, unknown> =>
      ok(
        quota.kind === 'over'
          ? {
              kind: 'quota-exceeded',
              quota: 'REQUESTS_PER_MINUTE',
              retryAfterSeconds: quota.retryAfterSeconds,
            }
          : undefined,
      ),
    (error: unknown) => err(error),
  );
  return async () => {
    const counted = await counting;
    if (counted.ok) return counted.value;
    throw counted.error;
  };
}

/** A token that is dropped or a client that is disabled counts for what waits and streams too. */
function permittedOf(services: RpcServices, request: RpcHttpRequest): () => Promise<boolean> {
  let checkedAt = services.clock.now();
  let holds = true;
  return async () => {
    const now = services.clock.now();
    if (holds && now - checkedAt >= PERMITTED_MS) {
      const lookup = (name: string) => services.registry.client(name);
      holds = (await authenticate(request.headers['authorization'], lookup)).kind === 'client';
      checkedAt = now;
    }
    return holds;
  };
}

async function supportedExtensions(
  services: RpcServices,
  client: Client,
  named: readonly string[],
): Promise<readonly string[]> {
  if (named.length === 0) return [];
  const profiles = await services.registry.profiles();
  const granted = profiles.filter((profile) => profile.published && isGranted(client, profile.id));
  return granted.flatMap((profile) => profile.extensions.map(({ uri }) => uri));
}

function query(request: RpcHttpRequest, name: string): string | undefined {
  const found = Object.entries(request.query).find(([key]) => key.toLowerCase() === name);
  return found?.[1];
}

function logNotices(services: RpcServices, notices: readonly Notice[]): void {
  for (const { kind, path, name } of notices) {
    services.log.info('something in a request was passed over', { kind, path, name });
  }
}
