import type { AgentCard } from './card-types.ts';
import type { PeerTaskState } from './states.ts';
import type {
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  Message,
  Task,
  TaskArtifactUpdateEvent,
  TaskPushNotificationConfig,
  TaskStatus,
  TaskStatusUpdateEvent,
} from './types.ts';

/**
 * What a peer's answers decode to (client role). They differ from our own messages where a newer peer may say
 * what this version does not know, so that such a value cannot reach our tasks unnoticed.
 */
export interface PeerTaskStatus extends Omit<TaskStatus, 'state'> {
  state: PeerTaskState;
  /** The peer's own name of the state when `state` is `TASK_STATE_UNKNOWN`; cut to 64 safe characters. */
  unknownState?: string;
}

export interface PeerTask extends Omit<Task, 'status'> {
  status: PeerTaskStatus;
}

export interface PeerStatusUpdate extends Omit<TaskStatusUpdateEvent, 'status'> {
  status: PeerTaskStatus;
}

export interface PeerListTasksResponse extends Omit<ListTasksResponse, 'tasks'> {
  tasks: PeerTask[];
}

/** Member name of the response that this version does not know. */
export interface UnknownMember {
  kind: 'unknown';
  name: string;
}

export type PeerSendResult =
  | { kind: 'task'; task: PeerTask }
  | { kind: 'message'; message: Message }
  | UnknownMember;

export type PeerStreamEvent =
  | PeerSendResult
  | { kind: 'statusUpdate'; statusUpdate: PeerStatusUpdate }
  | { kind: 'artifactUpdate'; artifactUpdate: TaskArtifactUpdateEvent };

export interface PeerResults {
  SendMessage: PeerSendResult;
  SendStreamingMessage: PeerStreamEvent;
  GetTask: PeerTask;
  ListTasks: PeerListTasksResponse;
  CancelTask: PeerTask;
  SubscribeToTask: PeerStreamEvent;
  CreateTaskPushNotificationConfig: TaskPushNotificationConfig;
  GetTaskPushNotificationConfig: TaskPushNotificationConfig;
  ListTaskPushNotificationConfigs: ListTaskPushNotificationConfigsResponse;
  GetExtendedAgentCard: AgentCard;
  DeleteTaskPushNotificationConfig: Record<string, never>;
}
