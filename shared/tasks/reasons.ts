import type { Message, Part } from '../protocol/index.ts';
import type { Reason } from './formats.ts';

/**
 * The words a client reads when the gateway itself ended its task. Written when the task is read, from the reason
 * alone: ending a task needs no key and stores no content (design §5, §7).
 */
const WORDS: Readonly<Record<Reason, string>> = {
  EXECUTION_FAILED: 'The task could not be completed.',
  DEADLINE_EXCEEDED: 'The task was not completed within its time limit.',
  INPUT_EXPIRED: 'The task was closed because no answer arrived in time.',
  RESULT_TOO_LARGE: 'The task produced a result that is larger than this gateway keeps.',
  TOO_MANY_MESSAGES: 'The task reached the number of messages that this gateway keeps.',
  TOO_MANY_TURNS: 'The task was handed on to other agents more often than this gateway allows.',
  TOO_MANY_HOPS: 'The task was handed on from gateway to gateway more often than this gateway allows.',
  RESULT_NOT_RETAINED: "The result could not be kept under the installation's privacy policy.",
  APPROVAL_REQUIRED: 'A person must approve the result before it is released. No message is needed.',
  APPROVAL_EXPIRED: 'The task was closed because its result was not approved in time.',
  APPROVAL_REJECTED: 'The result was not approved and is not released.',
};

/** The status message of a task that ended for `reason`; its id is the same for every reader. */
export function reasonMessage(task: string, context: string, revision: number, reason: Reason): Message {
  return {
    messageId: `${task}-${revision}`,
    contextId: context,
    taskId: task,
    role: 'ROLE_AGENT',
    parts: reasonParts(reason),
  };
}

/** The words alone, where they are told otherwise than by a task's end. */
export function reasonParts(reason: Reason): Part[] {
  return [{ text: WORDS[reason] }];
}
