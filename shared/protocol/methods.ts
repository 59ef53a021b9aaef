import type { MessageName, Messages } from './messages.ts';

/** The eleven methods of A2AService, with their request and response messages. Names are the rpc names. */
export const METHODS = {
  SendMessage: { request: 'SendMessageRequest', response: 'SendMessageResponse', streaming: false },
  SendStreamingMessage: { request: 'SendMessageRequest', response: 'StreamResponse', streaming: true },
  GetTask: { request: 'GetTaskRequest', response: 'Task', streaming: false },
  ListTasks: { request: 'ListTasksRequest', response: 'ListTasksResponse', streaming: false },
  CancelTask: { request: 'CancelTaskRequest', response: 'Task', streaming: false },
  SubscribeToTask: { request: 'SubscribeToTaskRequest', response: 'StreamResponse', streaming: true },
  CreateTaskPushNotificationConfig: {
    request: 'TaskPushNotificationConfig',
    response: 'TaskPushNotificationConfig',
    streaming: false,
  },
  GetTaskPushNotificationConfig: {
    request: 'GetTaskPushNotificationConfigRequest',
    response: 'TaskPushNotificationConfig',
    streaming: false,
  },
  ListTaskPushNotificationConfigs: {
    request: 'ListTaskPushNotificationConfigsRequest',
    response: 'ListTaskPushNotificationConfigsResponse',
    streaming: false,
  },
  GetExtendedAgentCard: { request: 'GetExtendedAgentCardRequest', response: 'AgentCard', streaming: false },
  DeleteTaskPushNotificationConfig: {
    request: 'DeleteTaskPushNotificationConfigRequest',
    response: 'google.protobuf.Empty',
    streaming: false,
  },
} as const satisfies Record<
  string,
  { request: MessageName; response: MessageName | 'google.protobuf.Empty'; streaming: boolean }
>;

export type Method = keyof typeof METHODS;

export type StreamingMethod = {
  [M in Method]: (typeof METHODS)[M]['streaming'] extends true ? M : never;
}[Method];

/** The params of each method as `decodeParams` returns them. */
export type MethodParams = { [M in Method]: Messages[(typeof METHODS)[M]['request']] };

export const METHOD_NAMES = Object.keys(METHODS) as Method[];

/** False also for `constructor` and the like, and for every `category/action` name of earlier versions. */
export function isMethod(name: string): name is Method {
  return Object.hasOwn(METHODS, name);
}

export function isStreaming(method: Method): method is StreamingMethod {
  return METHODS[method].streaming;
}
