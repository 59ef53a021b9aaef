import type { TaskState } from './types.ts';

/** What a state of a peer that this version does not know is read as: not terminal, never completed. */
export const UNKNOWN_STATE = 'TASK_STATE_UNKNOWN';

export type PeerTaskState = TaskState | typeof UNKNOWN_STATE;

/** A task in one of these never changes again (P5). */
export const TERMINAL_STATES: ReadonlySet<string> = new Set<TaskState>([
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
]);

/** A task in one of these waits for somebody; a blocking call returns at them. */
export const INTERRUPTED_STATES: ReadonlySet<string> = new Set<TaskState>([
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
]);

export function isTerminal(state: PeerTaskState): boolean {
  return TERMINAL_STATES.has(state);
}

export function isInterrupted(state: PeerTaskState): boolean {
  return INTERRUPTED_STATES.has(state);
}
