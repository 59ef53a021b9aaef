import {
  isInterrupted,
  isTerminal,
  type PeerStreamEvent,
  type PeerTaskState,
  type StreamingMethod,
  type UnknownMember,
} from '../protocol/index.ts';

/** How far a stream got, over all its connections. */
export interface Progress {
  readonly taskId: string | undefined;
  readonly state: PeerTaskState | undefined;
  /** `""` while the agent named none. */
  readonly lastEventId: string;
  /** The agent answered with a Message, and there is no task. */
  readonly isAnswered: boolean;
  readonly events: number;
}

export function startOf(taskId: string | undefined, lastEventId: string): Progress {
  return { taskId, state: undefined, lastEventId, isAnswered: false, events: 0 };
}

export type KnownEvent = Exclude<PeerStreamEvent, UnknownMember>;

/** The task that an event is about; a message need not be about any. */
export function taskOf(event: KnownEvent): string | undefined {
  switch (event.kind) {
    case 'task':
      return event.task.id;
    case 'statusUpdate':
      return event.statusUpdate.taskId;
    case 'artifactUpdate':
      return event.artifactUpdate.taskId;
    case 'message':
      return event.message.taskId;
  }
}

export function advance(progress: Progress, event: KnownEvent): Progress {
  const isAnswered = event.kind === 'message' && progress.taskId === undefined;
  return {
    ...progress,
    taskId: isAnswered ? undefined : (progress.taskId ?? taskOf(event)),
    state: stateOf(event) ?? progress.state,
    isAnswered,
    events: progress.events + 1,
  };
}

/** Nothing can come after this, whoever keeps the connection open (P5). */
export function isOver({ state, isAnswered }: Progress): boolean {
  return isAnswered || (state !== undefined && isTerminal(state));
}

/**
 * Whether a stream that ended here had its end: the task is over, or waits for somebody and the agent closed the stream
 * in good order. A sent message's stream ends at INPUT_REQUIRED (design §5), so there a lost connection lost nothing.
 * Of every other state, an unknown one too, the end is yet to come.
 */
export function isWhole(method: StreamingMethod, progress: Progress, inGoodOrder: boolean): boolean {
  const { state } = progress;
  if (isOver(progress)) return true;
  if (state === undefined || !isInterrupted(state)) return false;
  return inGoodOrder || (method === 'SendStreamingMessage' && state === 'TASK_STATE_INPUT_REQUIRED');
}

function stateOf(event: KnownEvent): PeerTaskState | undefined {
  if (event.kind === 'task') return event.task.status.state;
  return event.kind === 'statusUpdate' ? event.statusUpdate.status.state : undefined;
}
