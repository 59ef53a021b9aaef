import type { AgentCard } from './card-types.ts';
import { ENUMS, type Field, fieldsOf, hasImplicitPresence, isEnum, isMessage } from './fields.ts';
import type { MessageName, Messages } from './messages.ts';
import { METHODS, type Method, type MethodParams } from './methods.ts';
import type {
  JsonObject,
  JsonValue,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  Message,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from './types.ts';

/**
 * The ProtoJSON of a message: JSON names in the order of the proto, defaults left out but for REQUIRED, `optional`
 * and oneof fields that are set (and `list` of a security requirement), no null outside `data` and `metadata`, nothing the proto does not know. Throws a
 * TypeError on a value that has no encoding (an unknown state, a missing REQUIRED message): that is our own fault
 * and must never reach a peer.
 */
export function encodeMessageOf<M extends MessageName>(name: M, value: Messages[M]): JsonObject {
  return encodeFields(name, value as Fields);
}

export function encodeTask(task: Task): JsonObject {
  return encodeMessageOf('Task', task);
}

export function encodeMessage(message: Message): JsonObject {
  return encodeMessageOf('Message', message);
}

export function encodeSendMessageResponse(response: SendMessageResponse): JsonObject {
  return encodeMessageOf('SendMessageResponse', response);
}

export function encodeStreamResponse(response: StreamResponse): JsonObject {
  return encodeMessageOf('StreamResponse', response);
}

/** All four REQUIRED keys always; `artifacts` only with `includeArtifacts`, and then also when empty. */
export function encodeListTasksResponse(
  response: ListTasksResponse,
  { includeArtifacts }: { includeArtifacts: boolean },
): JsonObject {
  const tasks = response.tasks.map((task) =>
    includeArtifacts
      ? encodeFields('Task', { ...task, artifacts: task.artifacts ?? [] }, 'artifacts')
      : encodeFields('Task', { ...task, artifacts: undefined }),
  );
  return { ...encodeMessageOf('ListTasksResponse', { ...response, tasks: [] }), tasks };
}

export function encodeAgentCard(card: AgentCard): JsonObject {
  return encodeMessageOf('AgentCard', card);
}

/** For answers: `authentication.credentials` is left out (design §6, P10). */
export function encodePushConfig(config: TaskPushNotificationConfig): JsonObject {
  return encodeMessageOf('TaskPushNotificationConfig', withoutCredentials(config));
}

/** For answers: `configs` is absent when there are none; `credentials` is left out. */
export function encodePushConfigList(response: ListTaskPushNotificationConfigsResponse): JsonObject {
  const configs = (response.configs ?? []).map(withoutCredentials);
  return encodeMessageOf('ListTaskPushNotificationConfigsResponse', { ...response, configs });
}

/** For requests (client role): everything, credentials included. */
export function encodeParams<M extends Method>(method: M, params: MethodParams[M]): JsonObject {
  return encodeFields(METHODS[method].request, params as Fields);
}

function withoutCredentials(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
  if (!config.authentication) return config;
  return { ...config, authentication: { scheme: config.authentication.scheme } };
}

type Fields = Record<string, unknown>;

function encodeFields(name: MessageName, message: Fields, keptWhenEmpty?: string): JsonObject {
  const out: JsonObject = {};
  for (const [json, field] of fieldsOf(name)) {
    const value = message[json] ?? (field.type === 'value' ? message[json] : undefined);
    if (value === undefined) {
      if (field.required || field.alwaysWritten) out[json] = requiredDefault(name, json, field);
    } else if (
      json === keptWhenEmpty ||
      field.alwaysWritten ||
      !hasImplicitPresence(field) ||
      !isEmpty(value)
    ) {
      out[json] = encodeField(field, value);
    }
  }
  return out;
}

function requiredDefault(name: MessageName, json: string, field: Field): JsonValue {
  if (field.repeated) return [];
  if (field.map) return {};
  if (field.type === 'string') return '';
  if (field.type === 'int32') return 0;
  throw new TypeError(`${name}.${json} is required`);
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object') return Object.keys(value as object).length === 0;
  return value === '' || value === false || value === 0;
}

function encodeField(field: Field, value: unknown): JsonValue {
  const { type } = field;
  const encodeOne = (one: unknown): JsonValue => {
    if (isMessage(type)) return encodeFields(type, one as Fields);
    if (isEnum(type) && !(ENUMS[type] as readonly unknown[]).slice(1).includes(one)) {
      throw new TypeError(`not a ${type}`);
    }
    return one as JsonValue;
  };
  if (field.repeated) return (value as unknown[]).map(encodeOne);
  if (!field.map) return encodeOne(value);
  return Object.fromEntries(Object.entries(value as Fields).map(([key, one]) => [key, encodeOne(one)]));
}
