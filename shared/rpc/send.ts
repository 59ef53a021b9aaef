import { project } from '../journal/project.ts';
import { readCaughtUp, waitForRest } from '../journal/watch.ts';
import {
  type A2AFailure,
  encodeSendMessageResponse,
  err,
  missingExtensions,
  ok,
  type Result,
} from '../protocol/index.ts';
import { mayOpenTask } from '../quotas/index.ts';
import { isRetainable, type Profile, resolveLevel } from '../registry/index.ts';
import { needOf } from '../runs/decide.ts';
import { endRun, nameOf } from '../runs/recover.ts';
import { type Accepted, type Accepting, createTask, resumeTask } from '../tasks/accept.ts';
import { isWithdrawn } from '../tasks/content.ts';
import { findSent, type SentMessage } from '../tasks/dedup.ts';
import type { Head } from '../tasks/formats.ts';
import { MessageTooLarge } from '../tasks/kept.ts';
import { readHead } from '../tasks/read-head.ts';
import { snapshot } from '../tasks/snapshot.ts';
import { modesThatDoNotFit } from './accept-modes.ts';
import { type Answer, type Call, invalid } from './call.ts';
import { refusalOfConfig, refusalOfWebhook } from './push.ts';
import { grantedProfile, SKILL_METADATA } from './tenant.ts';

export type Send = Call<'SendMessage'> | Call<'SendStreamingMessage'>;

/** What a send led to: a task that was created, resumed, or that the same message had led to before. */
export interface Sent {
  readonly task: string;
  /** The revision that this send committed; for a repeated one, the one that the task had come to. */
  readonly revision: number;
  readonly profile: string;
  readonly repeated: boolean;
}

/**
 * SendMessage (design §5): answers the task, at once if asked to, else when it is terminal or interrupted or the cap is
 * reached. The client continues with GetTask.
 */
export async function sendMessage(call: Call<'SendMessage'>): Promise<Answer> {
  const accepted = await acceptSend(call);
  if (!accepted.ok) return accepted;
  const { services, params, settings } = call;
  const sent = accepted.value;
  const immediately = params.configuration?.returnImmediately === true;
  const seen = immediately
    ? await readCaughtUp(services, sent.task)
    : await waitForRest(services, sent.task, sent.revision, await capOf(call, sent));
  if (!seen || (await isWithdrawn(services, seen.head))) return err({ kind: 'task-not-found' });
  if (!(await call.permitted())) return err({ kind: 'unauthenticated' });
  const task = await snapshot(services, seen.head, seen.view, {
    historyLength: params.configuration?.historyLength,
    maxHistory: settings.maxHistoryMessages,
  });
  if (task === 'withdrawn') return err({ kind: 'task-not-found' });
  return ok(encodeSendMessageResponse({ task }));
}

/**
 * All checks of a send, in the order of design §5, then its one transaction. `place` is asked last: a stream takes its
 * place there, when nothing else stands in the way.
 */
export async function acceptSend(
  call: Send,
  place: () => Promise<A2AFailure | undefined> = async () => undefined,
): Promise<Result<Sent, A2AFailure>> {
  const { services, client, params } = call;
  const sent: SentMessage = {
    client: client.id,
    tenant: params.tenant ?? '',
    message: params.message,
    push: params.configuration?.taskPushNotificationConfig,
  };
  const before = await findSent(services, sent);
  const named = await profileOf(call);
  const isSwitchedOff = named.ok && !named.value.profile.dedup;
  if (before && !isSwitchedOff) {
    return before.kind === 'same' ? repeated(call, before.task, place) : err(REUSED);
  }
  if (!named.ok) return named;
  const { profile, head } = named.value;
  const refused = (await refusalOf(call, profile)) ?? (await refusalOfTask(call, head));
  if (refused) {
    // A follow-up that is sent twice at once: the other one may have moved the task on since the look above.
    const now = head && profile.dedup ? await findSent(services, sent) : undefined;
    return now?.kind === 'same' ? repeated(call, now.task, place) : err(refused);
  }
  const refusal = (await overQuota(call, head)) ?? (await place());
  if (refusal) return err(refusal);

  const accepting: Accepting = {
    ...sent,
    profile,
    ceiling: await levelOf(call, profile),
    outputModes: params.configuration?.acceptedOutputModes,
  };
  try {
    return head
      ? await resume(call, head, accepting)
      : await created(call, await createTask(services, accepting));
  } catch (error) {
    if (error instanceof MessageTooLarge)
      return err(invalid('message.parts', 'are too large to be kept redacted'));
    throw error;
  }
}

const REUSED: A2AFailure = {
  kind: 'invalid-params',
  reason: 'MESSAGE_ID_REUSED',
  violations: [{ field: 'message.messageId', description: 'was used before with another message' }],
};

async function repeated(
  call: Send,
  task: string,
  place: () => Promise<A2AFailure | undefined>,
): Promise<Result<Sent, A2AFailure>> {
  const refusal = (await call.rate()) ?? (await place());
  if (refusal) return err(refusal);
  return asItStands(call, task);
}

async function asItStands(call: Send, task: string): Promise<Result<Sent, A2AFailure>> {
  const head = await ownHead(call, task);
  if (!head) return err({ kind: 'task-not-found' });
  call.services.metrics.count('MessageRepeated');
  return ok({ task, revision: head.revision, profile: head.profile, repeated: true });
}

/** The profile a message is for: its tenant, its task's, the one its metadata names, or the default one. */
async function profileOf(call: Send): Promise<Result<{ profile: Profile; head?: Head }, A2AFailure>> {
  const { services, client, params, settings } = call;
  const { message, tenant } = params;
  if (tenant !== undefined) {
    const named = await grantedProfile(services, client, tenant);
    if (!named.ok) return named;
  }
  if (message.taskId !== undefined) {
    const head = await readHead(services, message.taskId);
    const own = head && head.client === client.id && (tenant === undefined || tenant === head.profile);
    if (!own) return err({ kind: 'task-not-found' });
    const profile = await grantedProfile(services, client, head.profile);
    return profile.ok ? ok({ profile: profile.value, head }) : profile;
  }
  const skill = message.metadata?.[SKILL_METADATA] ?? params.metadata?.[SKILL_METADATA];
  const id = tenant ?? (typeof skill === 'string' ? skill : settings.defaultProfile);
  if (id === undefined) return err(invalid('tenant', 'is required: there is no default profile'));
  const profile = await grantedProfile(services, client, id);
  return profile.ok ? ok({ profile: profile.value }) : profile;
}

async function refusalOf(call: Send, profile: Profile): Promise<A2AFailure | undefined> {
  const { params, settings, extensions } = call;
  const required = profile.extensions.filter((extension) => extension.required).map(({ uri }) => uri);
  const missing = missingExtensions(required, extensions);
  if (missing.length > 0) return { kind: 'extension-support-required', missing };
  const push = params.configuration?.taskPushNotificationConfig;
  const refused = push && (await refusalOfWebhook(call, push, 'configuration.taskPushNotificationConfig.'));
  if (refused) return refused;
  const accepted = params.configuration?.acceptedOutputModes ?? [];
  const violations = modesThatDoNotFit(profile, params.message.parts, accepted);
  if (violations.length > 0) return { kind: 'content-type-not-supported', violations };
  if (!isRetainable(await levelOf(call, profile))) {
    return { kind: 'unsupported-operation', reason: 'RESULT_NOT_RETAINABLE' };
  }
  if (params.message.parts.length > settings.maxParts) {
    return invalid('message.parts', `has more than ${settings.maxParts} parts`);
  }
  if ((params.message.referenceTaskIds ?? []).length > settings.maxReferenceTasks) {
    return invalid('message.referenceTaskIds', `has more than ${settings.maxReferenceTasks} entries`);
  }
  return undefined;
}

/** The ceiling at acceptance: profile and first provider count (design §7). */
async function levelOf(call: Send, profile: Profile) {
  const first = profile.providers[0];
  const provider = first === undefined ? undefined : await call.services.registry.provider(first);
  return resolveLevel(call.settings.answerLevel, profile.answerLevel, provider?.answerLevel);
}

async function refusalOfTask(call: Send, head: Head | undefined): Promise<A2AFailure | undefined> {
  const { message } = call.params;
  const known = await Promise.all((message.referenceTaskIds ?? []).map((task) => ownHead(call, task)));
  if (known.includes(undefined)) return { kind: 'task-not-found' };
  if (!head) return undefined;
  if (message.contextId !== undefined && message.contextId !== head.context) {
    return invalid('message.contextId', "is not the task's context");
  }
  if (head.messages >= call.settings.maxTaskMessages) {
    return { kind: 'unsupported-operation', reason: 'TASK_FULL' };
  }
  const refused = refusalOfState(head) ?? (await refusalOfLate(call, head));
  if (refused || isRetainable(await call.services.privacy.levelOf(head))) return refused;
  return { kind: 'unsupported-operation', reason: 'RESULT_NOT_RETAINABLE' };
}

/** The task, if it is this client's; one that waits for its purge is gone already. */
async function ownHead({ services, client }: Send, task: string): Promise<Head | undefined> {
  const head = await readHead(services, task);
  return head?.client === client.id && !(await isWithdrawn(services, head)) ? head : undefined;
}

function refusalOfState(head: Head): A2AFailure | undefined {
  switch (head.state) {
    case 'TASK_STATE_INPUT_REQUIRED':
    case 'TASK_STATE_AUTH_REQUIRED':
      return head.approval ? { kind: 'unsupported-operation', reason: 'AWAITING_APPROVAL' } : undefined;
    case 'TASK_STATE_SUBMITTED':
      return { kind: 'unsupported-operation', reason: 'TASK_SUBMITTED' };
    case 'TASK_STATE_WORKING':
      return { kind: 'unsupported-operation', reason: 'TASK_WORKING' };
    default:
      return { kind: 'unsupported-operation', reason: 'TASK_TERMINAL' };
  }
}

/** The limit of a question holds from its moment on, also before the sweeper has come to end the task. */
async function refusalOfLate({ services }: Send, head: Head): Promise<A2AFailure | undefined> {
  const need = needOf(head, services.clock.now());
  if (need.kind !== 'end') return undefined;
  await endRun(services, head, need.reason);
  return { kind: 'unsupported-operation', reason: 'TASK_TERMINAL' };
}

async function overQuota(call: Send, head: Head | undefined): Promise<A2AFailure | undefined> {
  const refusal = await call.rate();
  if (refusal || head) return refusal;
  const quota = await mayOpenTask(call.services, call.client.id, call.settings.openTasks);
  if (quota.kind === 'within') return undefined;
  return { kind: 'quota-exceeded', quota: 'OPEN_TASKS', retryAfterSeconds: quota.retryAfterSeconds };
}

/** A task that moved on between the look and the commit is looked at again: its new state decides. */
async function resume(call: Send, head: Head, accepting: Accepting): Promise<Result<Sent, A2AFailure>> {
  const { services, client } = call;
  for (let found: Head | undefined = head; found && found.client === client.id; ) {
    const refusal = refusalOfState(found) ?? (await refusalOfConfig(call, found, accepting.push));
    if (refusal && refusal !== 'stands') return err(refusal);
    const resumed = await resumeTask(services, found, { ...accepting, pushStands: refusal === 'stands' });
    if (resumed.kind === 'busy') return err({ kind: 'unsupported-operation', reason: 'TASK_WORKING' });
    if (resumed.kind !== 'changed') return created(call, resumed);
    found = resumed.head ?? (await readHead(services, found.task));
  }
  return err({ kind: 'task-not-found' });
}

async function created(call: Send, accepted: Accepted): Promise<Result<Sent, A2AFailure>> {
  switch (accepted.kind) {
    case 'message-id-reused':
      return err(REUSED);
    case 'duplicate':
      return asItStands(call, accepted.task);
    case 'accepted': {
      const { task, revision, profile } = accepted.head;
      await Promise.all([queue(call, task), projectNow(call, task)]);
      call.services.metrics.count(revision === 1 ? 'TaskCreated' : 'TaskResumed');
      return ok({ task, revision, profile, repeated: false });
    }
  }
}

/** Best effort: the stream and the due index send what the committed state still needs (P6). */
async function queue(call: Send, task: string): Promise<void> {
  try {
    await call.services.runQueue.send({ task });
  } catch (error) {
    call.services.log.warn('a run is left to the stream', { task, error: nameOf(error) });
  }
}

async function projectNow(call: Send, task: string): Promise<void> {
  try {
    await project(call.services, task);
  } catch (error) {
    call.services.log.warn('a projection is left to the stream', { task, error: nameOf(error) });
  }
}

async function capOf(call: Call<'SendMessage'>, sent: Sent): Promise<number> {
  const profile = await call.services.registry.profile(sent.profile);
  const seconds = profile?.blockingSeconds ?? 25;
  return Math.min(call.services.clock.now() + seconds * 1000, call.deadline);
}
