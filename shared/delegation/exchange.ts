import { type A2AClient, type Answered, type CallFailure, pollDelayMs } from '../client/index.ts';
import type { PeerTask } from '../protocol/index.ts';
import type { RemoteAgent } from '../registry/index.ts';
import { nameOf } from '../runs/recover.ts';
import type { Head } from '../tasks/formats.ts';
import { originalOf, readWorking, workingName } from '../tasks/working.ts';
import { retryMs, update } from './advance.ts';
import { isEcho, noteQuestion, showQuestion } from './ask.ts';
import type { Dependency, DependencyOutcome } from './formats.ts';
import {
  callbackOf,
  drain,
  localRegistration,
  noteClaim,
  settleRegistration,
  signalsOf,
  withoutPush,
} from './inbox.ts';
import { readMessage } from './read-message.ts';
import { type Resolution, resolve } from './resolve.ts';
import type { ReconcilerServices } from './services.ts';
import { completedWith, noteFailure, noteUnread } from './unread.ts';

type Wake = Promise<number | undefined>;

const GONE: Resolution = {
  outcome: 'failed',
  artifacts: [],
  message: [{ text: 'The agent that was asked is not available any more.' }],
};
const REFUSED: Resolution = {
  outcome: 'failed',
  artifacts: [],
  message: [{ text: 'The agent that was asked did not accept the message.' }],
};

/**
 * A remote that answers a send with a fault of its own may have run the agent, and without dedup runs it again: so often,
 * not until the deadline. One that cannot be reached is tried until then.
 */
const MAX_FAULTS = 4;

/** Sends the message: the same `messageId` and body each time, until the remote acknowledged a task or answered. */
export async function send(services: ReconcilerServices, head: Head, dependency: Dependency): Wake {
  const reached = await reach(services, dependency);
  if (!reached) return ended(services, dependency, GONE);
  const outgoing = await readWorking<'outgoing'>(services, head, workingName.outgoing(dependency.id));
  if (!outgoing) return ended(services, dependency, GONE);
  const push = await callbackOf(services, head, dependency);
  // What was acknowledged meanwhile would be sent with another body than before.
  if (push === 'gone' || !isHeld(services, dependency)) return again(services, dependency);
  const answer = await reached.client.sendMessage({
    message: {
      messageId: dependency.messageId,
      role: 'ROLE_USER',
      parts: [...outgoing.parts],
    },
    configuration: { returnImmediately: true, ...(push ? { taskPushNotificationConfig: push } : {}) },
  });
  if (answer.kind !== 'ok') return sendFailed(services, head, dependency, answer);
  noteUnread(services, dependency, answer);
  const { value } = answer;
  if (value.kind === 'message') {
    return ended(services, dependency, {
      outcome: 'completed',
      artifacts: [{ artifactId: services.random.uuid(), parts: value.message.parts }],
    });
  }
  if (value.kind !== 'task') return ended(services, dependency, REFUSED);
  const sent = await acknowledge(services, head, dependency, value.task, push !== undefined);
  if (!sent) return services.clock.now() + 1_000;
  const wakeAt = await apply(services, sent, value.task, answer);
  // Its callback is registered next, at once: what happens until then is not called back.
  return wakeAt !== undefined && sent.push === 'separate' ? services.clock.now() : wakeAt;
}

/** `separate`: the local registration first, then the remote one, then GetTask once, which closes the gap. */
export async function registerCallback(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
): Wake {
  const reached = await reach(services, dependency);
  if (!reached) return ended(services, dependency, GONE);
  const local = await localRegistration(services, head, dependency);
  const push = local && (await callbackOf(services, head, local));
  if (!push || push === 'gone' || !local.remoteTask) return reconcile(services, local ?? dependency);
  const answer = await reached.client.createPushConfig({ ...push, taskId: local.remoteTask });
  if (answer.kind !== 'ok') noteFailure(services, dependency, answer);
  if (answer.kind !== 'ok' && isPassing(answer)) return retried(services, dependency, answer);
  if (answer.kind === 'unsupported' || answer.kind === 'remote-error')
    return reconcile(services, (await withoutPush(services, head, local)) ?? local);
  // It may have registered what it answered so strangely to: its callbacks are taken.
  await settleRegistration(services, head, local, { set: { registered: true } });
  return reconcile(services, local);
}

/** Passes our client's reply on to the remote's task. */
export async function passReply(services: ReconcilerServices, head: Head, dependency: Dependency): Wake {
  const reached = await reach(services, dependency);
  if (!reached) return ended(services, dependency, GONE);
  const number = dependency.reply!;
  const original = (await originalOf(services, head, number)) ?? (await readMessage(services, head, number));
  if (!original || !isHeld(services, dependency)) return again(services, dependency);
  const answer = await reached.client.sendMessage({
    message: {
      messageId: `${dependency.messageId}-${number}`,
      role: 'ROLE_USER',
      parts: [...original.message.parts],
      taskId: dependency.remoteTask!,
      ...(dependency.remoteContext ? { contextId: dependency.remoteContext } : {}),
    },
    configuration: { returnImmediately: true },
  });
  if (answer.kind === 'ok') noteUnread(services, dependency, answer);
  else noteFailure(services, dependency, answer);
  if (answer.kind !== 'ok' && isPassing(answer)) return retried(services, dependency, answer);
  const changes = { polls: 0, tries: 0, repliedAt: services.clock.now() };
  await update(services, dependency, { remove: ['reply'], set: changes });
  const { reply: _, ...rest } = dependency;
  const replied = { ...rest, ...changes };
  // What a refusal means, the remote's own state says.
  if (answer.kind !== 'ok' || answer.value.kind !== 'task') return reconcile(services, replied);
  return apply(services, replied, answer.value.task, answer);
}

/** Asks the remote for its state, as the owning actor, and drains the signals that were there before. */
export async function reconcile(services: ReconcilerServices, dependency: Dependency): Wake {
  const reached = await reach(services, dependency);
  if (!reached) return ended(services, dependency, GONE);
  const signals = await signalsOf(services, dependency);
  noteClaim(services, dependency, signals);
  const started = services.clock.now();
  const answer = await reached.client.getTask({ id: dependency.remoteTask!, historyLength: 0 });
  services.metrics.milliseconds('ReconcileDuration', services.clock.now() - started);
  if (answer.kind !== 'ok') return reconcileFailed(services, dependency, answer);
  services.metrics.count('RemoteAnswered');
  noteUnread(services, dependency, answer);
  if (signals.waiting > 0 && signals.lastAt !== undefined)
    services.metrics.milliseconds('ReconcileLag', Math.max(0, services.clock.now() - signals.lastAt));
  const wakeAt = await apply(services, dependency, answer.value, answer);
  await drain(services, dependency, signals.waiting);
  return wakeAt;
}

/** Best effort, never rejects: the remote is told that nobody waits any more. What cannot tell it ends all the same (P6). */
export async function cancelRemote(services: ReconcilerServices, dependency: Dependency): Promise<void> {
  const { task, id, remoteTask } = dependency;
  if (!remoteTask) return;
  try {
    const reached = await reach(services, dependency);
    await reached?.client.cancelTask({ id: remoteTask }, { withinMs: 10_000 });
  } catch (error) {
    services.log.warn('a remote agent could not be told that nobody waits any more', {
      task,
      dependency: id,
      error: nameOf(error),
    });
  }
}

/** Applies what an authenticated call returned; a callback's body decides nothing (P8). */
async function apply(
  services: ReconcilerServices,
  dependency: Dependency,
  task: PeerTask,
  answer: Pick<Answered<unknown>, 'notices'>,
): Wake {
  const { state, message } = task.status;
  const outcome = outcomeOf(state);
  if (outcome === 'completed') return ended(services, dependency, completedWith(task, answer));
  if (outcome) {
    return ended(services, dependency, {
      outcome,
      artifacts: task.artifacts ?? [],
      ...(message ? { message: message.parts } : {}),
    });
  }
  if (state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED') {
    if (dependency.askedAt === undefined && !isEcho(dependency, task.status, services.clock.now())) {
      const asks = state === 'TASK_STATE_AUTH_REQUIRED' ? 'auth' : 'input';
      await noteQuestion(services, dependency, asks, task.status);
    }
    // Whoever noted it, or passed on the reply to the one before it, may have died before it was shown.
    await showQuestion(services, dependency.task);
  } else if (dependency.askedAt !== undefined) {
    // It goes on by itself: its question is none any more.
    await update(services, dependency, { remove: ['askedAt', 'asks'] });
  }
  await update(services, dependency, { set: { polls: dependency.polls + 1, tries: 0 } });
  return services.clock.now() + pollDelayMs(dependency.polls);
}

/** An unknown state is never read as completed. */
function outcomeOf(state: PeerTask['status']['state']): DependencyOutcome | undefined {
  switch (state) {
    case 'TASK_STATE_COMPLETED':
      return 'completed';
    case 'TASK_STATE_FAILED':
      return 'failed';
    case 'TASK_STATE_CANCELED':
      return 'canceled';
    case 'TASK_STATE_REJECTED':
      return 'rejected';
    default:
      return undefined;
  }
}

async function sendFailed(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
  failure: CallFailure,
): Wake {
  noteFailure(services, dependency, failure);
  // A remote without push is sent to again, without the config: it refused the first message as a whole.
  if (failure.kind === 'unsupported' && failure.code === -32003 && dependency.push !== 'off') {
    await withoutPush(services, head, dependency);
    return services.clock.now();
  }
  const broken = failure.kind === 'remote-error' && dependency.tries >= MAX_FAULTS;
  if (broken || !isPassing(failure)) return ended(services, dependency, REFUSED);
  return retried(services, dependency, failure);
}

/** Comes back later, each time later than before. */
async function retried(services: ReconcilerServices, dependency: Dependency, failure: CallFailure): Wake {
  return Math.max(await again(services, dependency), services.clock.now() + retryAfterOf(failure));
}

async function again(services: ReconcilerServices, dependency: Dependency): Promise<number> {
  await update(services, dependency, { set: { tries: dependency.tries + 1 } });
  return services.clock.now() + retryMs(dependency.tries);
}

/** Who stood still for longer than its lease leaves the sending to whoever took the dependency meanwhile. */
function isHeld(services: ReconcilerServices, { lease }: Dependency): boolean {
  return lease !== undefined && services.clock.now() < lease.until;
}

async function reconcileFailed(
  services: ReconcilerServices,
  dependency: Dependency,
  failure: CallFailure,
): Wake {
  noteFailure(services, dependency, failure);
  const lost = failure.kind === 'remote-error' && failure.code === -32001;
  // The remote that acknowledged the task does not know it any more: nothing will come of it.
  if (lost && dependency.tries >= 3) return ended(services, dependency, GONE);
  await update(services, dependency, { set: { tries: dependency.tries + 1 } });
  return services.clock.now() + Math.max(retryMs(dependency.tries + 2), retryAfterOf(failure));
}

function isPassing(failure: CallFailure): boolean {
  switch (failure.kind) {
    case 'remote-error':
    case 'unsupported':
    case 'transport-error':
    case 'outcome-unknown':
      return failure.retryable;
    case 'protocol-error':
      return false;
  }
}

function retryAfterOf(failure: CallFailure): number {
  return 'retryAfterMs' in failure ? (failure.retryAfterMs ?? 0) : 0;
}

/** A resolution that was not written met one that was, or the end of the task: which of them, a look says. */
async function ended(services: ReconcilerServices, dependency: Dependency, resolution: Resolution): Wake {
  const isWritten = await resolve(services, dependency, resolution);
  return isWritten ? undefined : services.clock.now() + 1_000;
}

async function reach(
  services: ReconcilerServices,
  dependency: Dependency,
): Promise<{ readonly agent: RemoteAgent; readonly client: A2AClient } | undefined> {
  const agent = await services.registry.agent(dependency.agent);
  return agent && !agent.disabled ? { agent, client: await services.clientOf(agent) } : undefined;
}

/** The acknowledged task id; from here on the credential stands in no other form than its hash. */
async function acknowledge(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
  task: PeerTask,
  registered: boolean,
): Promise<Dependency | undefined> {
  const changes = {
    state: 'sent' as const,
    remoteTask: task.id,
    ...(task.contextId ? { remoteContext: task.contextId } : {}),
    registered,
    tries: 0,
  };
  const acknowledged = registered
    ? await settleRegistration(services, head, dependency, { set: changes })
    : await update(services, dependency, { set: changes });
  return acknowledged ? { ...dependency, ...changes } : undefined;
}
