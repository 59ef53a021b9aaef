import type { Message } from '../protocol/index.ts';
import type { Action } from '../storage/port.ts';
import { type MessagePayload, messageActions, sealerOf } from './content.ts';
import type { Head, MessageRef, WorkingRef } from './formats.ts';
import type { TaskServices } from './services.ts';
import { workingActions, workingName } from './working.ts';

/** Bytes of a message and its redacted copy, sealed: a transaction has at most 4 MB (design §4, sizes). */
const MAX_KEPT_BYTES = 3_500_000;

/** Thrown for a message that grows too large for one transaction when it is redacted. Nothing was written. */
export class MessageTooLarge extends Error {
  readonly tag = 'MessageTooLarge';
  constructor() {
    super('a message is too large to be kept redacted');
  }
}

/**
 * The puts of one more message of a task, in the form in which the task is kept: as it is, or redacted, with the
 * original in the run's working state (design §7). What was not redacted is never written to the history then. Throws
 * `MessageTooLarge`, `RedactionUnavailable`.
 */
export async function keptMessage(
  services: TaskServices,
  head: Head,
  number: number,
  payload: MessagePayload,
): Promise<{ readonly ref: MessageRef; readonly actions: readonly Action[] }> {
  const sealer = sealerOf(services, head, head.salt!);
  if (head.form === 'full') return messageActions(sealer, head.copy, number, payload);
  const { messages } = await services.privacy.redact(head.profile, {
    messages: [payload.message],
    artifacts: [],
  });
  const kept = await messageActions(sealer, head.copy, number, {
    ...payload,
    message: messages[0] as Message,
  });
  const actions = [...kept.actions, ...(await original(services, head, number, payload))];
  if (actions.reduce((sum, action) => sum + bytesOf(action), 0) > MAX_KEPT_BYTES) throw new MessageTooLarge();
  return { ref: kept.ref, actions };
}

function bytesOf(action: Action): number {
  const content = action.kind === 'put' ? action.item['content'] : undefined;
  return content instanceof Uint8Array ? content.length : 0;
}

function original(
  services: TaskServices,
  head: Head,
  number: number,
  payload: MessagePayload,
): Promise<readonly Action[]> {
  const working: WorkingRef | undefined = head.working;
  // A run that keeps redacted text has its working state from its first message on.
  if (!working) throw new Error('a redacted task has no working state');
  return workingActions(services, head, working, workingName.message(number), payload);
}
