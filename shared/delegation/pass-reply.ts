import type { CallFailure } from '../client/index.ts';
import type { Head } from '../tasks/formats.ts';
import { originalOf } from '../tasks/working.ts';
import { update } from './advance.ts';
import { GONE, REFUSED_REPLIES } from './endings.ts';
import { again, apply, ended, isHeld, reach, reconcile, retried } from './exchange.ts';
import { isPassing } from './failures.ts';
import type { Dependency } from './formats.ts';
import { readMessage } from './read-message.ts';
import type { ReconcilerServices } from './services.ts';
import { completedBy, noteAnswer, noteFailure } from './unread.ts';

/** Replies in a row that a remote may refuse; with the last the step is over, or our client would be asked for ever. */
export const MAX_REFUSED_REPLIES = 3;

/**
 * Passes our client's reply on to the remote's task, under an id of its own. A Message in return ends the step as it does
 * for a send. A task of another id is not applied, as with GetTask. A reply that the remote does not accept has our client
 * asked again, so often.
 */
export async function passReply(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
): Promise<number | undefined> {
  const reached = await reach(services, dependency);
  if (!reached) return ended(services, dependency, GONE);
  const number = dependency.reply!;
  const original = (await originalOf(services, head, number)) ?? (await readMessage(services, head, number));
  if (!isHeld(services, dependency)) return again(services, dependency);
  const answer = await reached.client.sendMessage({
    message: {
      messageId: `${dependency.messageId}-${number}`,
      role: 'ROLE_USER',
      parts: [...(original?.message.parts ?? [])],
      taskId: dependency.remoteTask!,
      ...(dependency.remoteContext ? { contextId: dependency.remoteContext } : {}),
    },
    configuration: { returnImmediately: true },
  });
  if (answer.kind !== 'ok') return notPassed(services, dependency, answer);
  noteAnswer(services, dependency, answer);
  const { value } = answer;
  if (value.kind === 'message') return ended(services, dependency, completedBy(services, value.message));
  const replied = await passed(services, dependency);
  if (value.kind === 'unknown') return reconcile(services, replied);
  if (value.task.id === dependency.remoteTask) return apply(services, replied, value.task, answer);
  noteFailure(services, dependency, {
    kind: 'protocol-error',
    fault: { kind: 'task-mismatch', expected: '', received: '' },
    status: 200,
    mayHaveActed: true,
  });
  return reconcile(services, replied);
}

/** What became of the task, its own state says; and what a refusal means. */
async function notPassed(
  services: ReconcilerServices,
  dependency: Dependency,
  failure: CallFailure,
): Promise<number | undefined> {
  noteFailure(services, dependency, failure);
  if (isPassing(failure)) return retried(services, dependency, failure, REFUSED_REPLIES);
  if (!isRefusal(failure)) return reconcile(services, await passed(services, dependency));
  const refused = (dependency.refused ?? 0) + 1;
  if (refused >= MAX_REFUSED_REPLIES) return ended(services, dependency, REFUSED_REPLIES);
  const changes = { polls: 0, tries: 0, refused };
  await update(services, dependency, { remove: ['reply', 'repliedAt'], set: changes });
  const { reply: _, repliedAt: __, ...rest } = dependency;
  return reconcile(services, { ...rest, ...changes });
}

async function passed(services: ReconcilerServices, dependency: Dependency): Promise<Dependency> {
  const changes = { polls: 0, tries: 0, repliedAt: services.clock.now() };
  await update(services, dependency, { remove: ['reply', 'refused', 'faults'], set: changes });
  const { reply: _, refused: __, faults: ___, ...rest } = dependency;
  return { ...rest, ...changes };
}

/** Whether the remote surely did not take it. */
function isRefusal(failure: CallFailure): boolean {
  switch (failure.kind) {
    case 'remote-error':
    case 'unsupported':
      return true;
    case 'transport-error':
      return !failure.mayHaveActed;
    case 'protocol-error':
    case 'outcome-unknown':
      return false;
  }
}
