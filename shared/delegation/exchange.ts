import { type A2AClient, type Answered, type CallFailure, pollDelayMs } from '../client/index.ts';
import type { PeerSendResult, PeerTask } from '../protocol/index.ts';
import type { RemoteAgent } from '../registry/index.ts';
import type { Head } from '../tasks/formats.ts';
import { readWorking, workingName } from '../tasks/working.ts';
import { retryMs, update } from './advance.ts';
import { isEcho, isTooLong, noteQuestion, showQuestion } from './ask.ts';
import { GONE, LOST, REFUSED, TOO_LARGE, UNKEPT, UNREADABLE } from './endings.ts';
import { endingOf, isPassing, isTooLarge, retryAfterOf } from './failures.ts';
import type { Dependency, DependencyOutcome } from './formats.ts';
import { hopped } from './hops.ts';
import {
  callbackOf,
  drain,
  localRegistration,
  noteClaim,
  settleRegistration,
  signalsOf,
  withoutPush,
} from './inbox.ts';
import { type Resolution, resolve } from './resolve.ts';
import type { ReconcilerServices } from './services.ts';
import { tellFirst } from './tell.ts';
import { completedBy, completedWith, endedWith, noteAnswer, noteFailure } from './unread.ts';

type Wake = Promise<number | undefined>;

/**
 * A remote that answers a send with a fault of its own, or whose answer we cannot write, may have run the agent, and
 * without dedup runs it again: so often, not until the deadline. One that cannot be reached is tried until then.
 */
export const MAX_FAULTS = 4;

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
      metadata: hopped(outgoing.hops),
    },
    configuration: { returnImmediately: true, ...(push ? { taskPushNotificationConfig: push } : {}) },
  });
  if (answer.kind !== 'ok') return sendFailed(services, head, dependency, answer);
  noteAnswer(services, dependency, answer);
  try {
    return await taken(services, head, dependency, answer, push !== undefined);
  } catch (error) {
    return faulted(services, dependency, error);
  }
}

async function taken(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
  answer: Answered<PeerSendResult>,
  withPush: boolean,
): Wake {
  const { value } = answer;
  if (value.kind === 'message') return ended(services, dependency, completedBy(services, value.message));
  if (value.kind !== 'task') return ended(services, dependency, UNREADABLE);
  const sent = await acknowledge(services, head, dependency, value.task, withPush);
  if (!sent) return services.clock.now() + 1_000;
  const wakeAt = await apply(services, sent, value.task, answer);
  // Its callback is registered next, at once: what happens until then is not called back.
  return wakeAt !== undefined && sent.push === 'separate' ? services.clock.now() : wakeAt;
}

/** A fault of ours behind an answer. The message is sent again, and not for ever. */
async function faulted(services: ReconcilerServices, dependency: Dependency, error: unknown): Wake {
  const faults = (dependency.faults ?? 0) + 1;
  if (faults > MAX_FAULTS) return ended(services, dependency, UNKEPT);
  await update(services, dependency, { set: { faults } });
  throw error;
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
  if (answer.kind === 'ok') noteAnswer(services, dependency, answer);
  else noteFailure(services, dependency, answer);
  const failed = answer.kind === 'unsupported' || answer.kind === 'remote-error';
  const tired = failed && (dependency.faults ?? 0) >= MAX_FAULTS;
  if (answer.kind !== 'ok' && isPassing(answer) && !tired) return retried(services, dependency, answer, GONE);
  if (failed) return reconcile(services, (await withoutPush(services, head, local)) ?? local);
  // It may have registered what it answered so strangely to: its callbacks are taken.
  await settleRegistration(services, head, local, { set: { registered: true } });
  return reconcile(services, local);
}

/**
 * Asks the remote for its state, as the owning actor, and drains the signals that were there before. `due`: when it would
 * have been asked without a signal, epoch ms; it is asked then all the same.
 */
export async function reconcile(services: ReconcilerServices, dependency: Dependency, due?: number): Wake {
  const reached = await reach(services, dependency);
  if (!reached) return ended(services, dependency, GONE);
  const signals = await signalsOf(services, dependency);
  const started = services.clock.now();
  const answer = await reached.client.getTask({ id: dependency.remoteTask!, historyLength: 0 });
  services.metrics.milliseconds('ReconcileDuration', services.clock.now() - started);
  if (answer.kind !== 'ok') return reconcileFailed(services, dependency, answer);
  noteAnswer(services, dependency, answer);
  if (signals.waiting > 0 && signals.lastAt !== undefined)
    services.metrics.milliseconds('ReconcileLag', Math.max(0, services.clock.now() - signals.lastAt));
  const wakeAt = await apply(services, dependency, answer.value, answer, due);
  noteClaim(services, dependency, signals);
  await drain(services, dependency, signals.waiting);
  return wakeAt;
}

/** Applies what an authenticated call returned; a callback's body decides nothing (P8). */
export async function apply(
  services: ReconcilerServices,
  dependency: Dependency,
  task: PeerTask,
  answer: Pick<Answered<unknown>, 'notices'>,
  due?: number,
): Wake {
  const { state } = task.status;
  const outcome = outcomeOf(state);
  if (outcome === 'completed') return ended(services, dependency, completedWith(task, answer));
  if (outcome) return ended(services, dependency, endedWith(outcome, task));
  if (state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED') {
    if (isTooLong(task.status)) return ended(services, dependency, TOO_LARGE);
    if (dependency.askedAt === undefined && !isEcho(dependency, task.status, services.clock.now())) {
      const asks = state === 'TASK_STATE_AUTH_REQUIRED' ? 'auth' : 'input';
      await noteQuestion(services, dependency, asks, task.status);
    }
    // Whoever noted it, or passed on the reply to the one before it, may have died before it was shown.
    await showQuestion(services, dependency.task);
  } else if (dependency.askedAt !== undefined) {
    // It goes on by itself: its question is none any more.
    await update(services, dependency, { remove: ['askedAt', 'asks', 'shown'] });
    await showQuestion(services, dependency.task);
  }
  const polls = dependency.polls + (due === undefined ? 1 : 0);
  await update(services, dependency, { set: { polls, tries: 0 } });
  return due ?? services.clock.now() + pollDelayMs(dependency.polls);
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
  if (isPassing(failure)) return retried(services, dependency, failure, REFUSED);
  return ended(services, dependency, endingOf(failure));
}

/** Comes back later, each time later than before; a remote that answers with faults only is given up by `resolution`. */
export async function retried(
  services: ReconcilerServices,
  dependency: Dependency,
  failure: CallFailure,
  resolution: Resolution,
): Wake {
  const faults = dependency.faults ?? 0;
  if (failure.kind === 'remote-error') {
    if (faults >= MAX_FAULTS) return ended(services, dependency, resolution);
    await update(services, dependency, { set: { faults: faults + 1 } });
  }
  return Math.max(await again(services, dependency), services.clock.now() + retryAfterOf(failure));
}

export async function again(services: ReconcilerServices, dependency: Dependency): Promise<number> {
  await update(services, dependency, { set: { tries: dependency.tries + 1 } });
  return services.clock.now() + retryMs(dependency.tries);
}

/** Who stood still for longer than its lease leaves the sending to whoever took the dependency meanwhile. */
export function isHeld(services: ReconcilerServices, { lease }: Dependency): boolean {
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
  if (lost && dependency.tries >= 3) return ended(services, dependency, LOST);
  // A larger answer than is read stays one.
  if (isTooLarge(failure)) return ended(services, dependency, TOO_LARGE);
  await update(services, dependency, { set: { tries: dependency.tries + 1 } });
  return services.clock.now() + Math.max(retryMs(dependency.tries + 2), retryAfterOf(failure));
}

/** A resolution that was not written met one that was, or the end of the task: which of them, a look says. */
export async function ended(
  services: ReconcilerServices,
  dependency: Dependency,
  resolution: Resolution,
): Wake {
  const written = await resolve(services, dependency, resolution);
  if (!written) return services.clock.now() + 1_000;
  // Of several steps another one may have been asked about, and waits for our client's answer no longer.
  if (dependency.askedAt !== undefined) await showQuestion(services, dependency.task);
  return written.tell ? tellFirst(services, dependency) : undefined;
}

export async function reach(
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
