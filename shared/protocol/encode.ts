import type { AgentCard } from './card-types.ts';
import type { MessageName, Messages } from './messages.ts';
import type { Method, MethodParams } from './methods.ts';
import type {
  JsonObject,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  Message,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from './types.ts';

export function encodeMessageOf<M extends MessageName>(_name: M, _value: Messages[M]): JsonObject {
  throw new Error('not written yet');
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

export function encodeListTasksResponse(
  _response: ListTasksResponse,
  _options: { includeArtifacts: boolean },
): JsonObject {
  throw new Error('not written yet');
}

export function encodeAgentCard(card: AgentCard): JsonObject {
  return encodeMessageOf('AgentCard', card);
}

/** For answers: `authentication.credentials` is left out (design §6). */
export function encodePushConfig(_config: TaskPushNotificationConfig): JsonObject {
  throw new Error('not written yet');
}

export function encodePushConfigList(_response: ListTaskPushNotificationConfigsResponse): JsonObject {
  throw new Error('not written yet');
}

/** For requests (client role): everything, credentials included. */
export function encodeParams<M extends Method>(_method: M, _params: MethodParams[M]): JsonObject {
  throw new Error('not written yet');
}
