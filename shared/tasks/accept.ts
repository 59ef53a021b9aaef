import { replyAction } from '../delegation/reply.ts';
import type { Message } from '../protocol/index.ts';
import { prepareConfig } from '../push/manage.ts';
import type { AnswerLevel, Profile } from '../registry/types.ts';
import { keys } from '../storage/keys.ts';
import type { Action, StoredItem } from '../storage/port.ts';
import { commit, DUE_AHEAD_MS } from './commit.ts';
import { compareSent, dedupAction, type SentMessage } from './dedup.ts';
import {
  FIRST_COPY,
  type Head,
  headItem,
  headOf,
  type Revision,
  revisionItem,
  revisionOf,
} from './formats.ts';
import { keptMessage } from './kept.ts';
import { readHead } from './read-head.ts';
import type { TaskServices } from './services.ts';
import { beginWorking } from './working.ts';

export interface Accepting extends SentMessage {
  readonly profile: Profile;
  readonly ceiling: AnswerLevel;
  readonly outputModes?: readonly string[] | undefined;
  /** The id that a new task gets, where it had to be known before; absent: one of its own. */
  readonly task?: string;
  /** The push config that comes with it is the one that its task has already. */
  readonly pushStands?: boolean;
}

export type Accepted =
  | { readonly kind: 'accepted'; readonly head: Head; readonly revision: Revision }
  /** The same message was sent before, or at the same moment. */
  | { readonly kind: 'duplicate'; readonly task: string }
  | { readonly kind: 'message-id-reused' };

/**
 * Creates a task: head, sealed message, revision 1 and dedup item in one transaction (design §5, SendMessage). The ids
 * the message lacks are set here, once, so every reader sees the same ones. `replaces`: a purged task whose dedup entry
 * still stands.
 */
export async function createTask(
  services: TaskServices,
  accepting: Accepting,
  replaces?: string,
): Promise<Accepted> {
  const { client, profile } = accepting;
  const task = accepting.task ?? services.random.uuid();
  const context = accepting.message.contextId ?? services.random.uuid();
  const sealer = await services.sealer.begin({ client, task, purpose: 'content' });
  const message = stamped(accepting.message, task, context);
  const redacts = accepting.ceiling === 'redacted';
  const working = redacts ? await beginWorking(services, client, task) : undefined;
  const config = accepting.push && (await prepareConfig(services, task, client, 0, accepting.push));
  const now = services.clock.now();
  const id = Buffer.from(services.random.bytes(16)).toString('base64url');
  const head: Head = {
    task,
    client,
    context,
    profile: profile.id,
    createdAt: now,
    state: 'TASK_STATE_SUBMITTED',
    statusAt: now,
    revision: 1,
    commit: id,
    run: 'queued',
    attempts: 0,
    maxAttempts: profile.attempts,
    deadline: now + profile.runSeconds * 1000,
    epoch: sealer.owner.epoch,
    salt: sealer.owner.salt,
    ...(working ? { working, workingId: working.id } : {}),
    ceiling: accepting.ceiling,
    form: redacts ? 'redacted' : 'full',
    copy: FIRST_COPY,
    spare: [],
    turns: 0,
    waiting: 0,
    keepSeconds: profile.retentionDays * 86_400,
    // The first provider counts from acceptance on (design §7).
    tried: profile.providers.slice(0, 1),
    messages: 1,
    configs: config ? [config.ref] : [],
    configsEdition: config ? 1 : 0,
    due: keys.dueAt(now + DUE_AHEAD_MS),
  };
  const written = await keptMessage(services, head, 1, { message, ...modes(accepting) });
  const dedup = profile.dedup ? await dedupAction(services, accepting, task, replaces) : undefined;
  const revision: Revision = {
    task,
    revision: 1,
    commit: id,
    state: head.state,
    statusAt: now,
    message: written.ref,
    ...(dedup ? { dedup: dedup.digest } : {}),
  };
  const absent = [{ attribute: 'pk', is: 'absent' }] as const;
  const actions: Action[] = [
    { kind: 'put', table: 'state', item: headItem(head), when: absent },
    { kind: 'put', table: 'state', item: revisionItem(revision), when: absent },
    ...written.actions,
    ...(config ? [config.action] : []),
    ...(dedup ? [dedup.action] : []),
  ];
  const outcome = await services.store.transact(actions, id);
  if (outcome.kind === 'done') return { kind: 'accepted', head, revision };
  const [headFound, revisionFound] = outcome.items;
  // The answer of the first try was lost: what stands there is ours.
  if (
    (headFound && headOf(headFound).commit === id) ||
    (revisionFound && revisionOf(revisionFound).commit === id)
  ) {
    return { kind: 'accepted', head, revision };
  }
  const decided = await decideDuplicate(services, accepting, outcome.items.at(-1), task);
  return decided.kind === 'purged' ? createTask(services, accepting, decided.task) : decided;
}

export type Resumed =
  | Accepted
  | { readonly kind: 'changed'; readonly head?: Head }
  /** It waits for remote agents, none of which asks anything. */
  | { readonly kind: 'busy' };

/**
 * Continues an interrupted task with a message of its client: one transaction that puts the task back to WORKING, adds
 * the message and queues the run. `changed`: the head is not the one that was read; decide anew.
 */
export async function resumeTask(
  services: TaskServices,
  head: Head,
  accepting: Accepting,
  replaces?: string,
): Promise<Resumed> {
  if (!head.salt) return { kind: 'changed', head };
  const message = stamped(accepting.message, head.task, head.context);
  const written = await keptMessage(services, head, head.messages + 1, { message, ...modes(accepting) });
  const config =
    accepting.push &&
    !accepting.pushStands &&
    (await prepareConfig(services, head.task, head.client, head.revision, accepting.push));
  const dedup = accepting.profile.dedup
    ? await dedupAction(services, accepting, head.task, replaces)
    : undefined;
  // A run that waits for remote agents goes on waiting: the reply is for the one that asks (design §8).
  const reply = head.waiting > 0 ? await replyAction(services, head, written.ref.number) : undefined;
  if (head.waiting > 0 && !reply) return { kind: 'busy' };
  const committed = await commit(services, head, {
    state: 'TASK_STATE_WORKING',
    ...(reply
      ? { run: 'suspended' as const, deadline: reply.deadline }
      : {
          run: 'queued' as const,
          restart: true,
          deadline: services.clock.now() + accepting.profile.runSeconds * 1000,
        }),
    message: { ref: written.ref, spoken: false },
    ...(config ? { config: config.ref } : {}),
    ...(dedup ? { dedup: dedup.digest } : {}),
    with: [
      ...written.actions,
      ...(reply ? [reply.action] : []),
      ...(config ? [config.action] : []),
      ...(dedup ? [dedup.action] : []),
    ],
  });
  if (committed.kind === 'committed')
    return { kind: 'accepted', head: committed.head, revision: committed.revision };
  const duplicate = dedup ? (committed.items.at(-1) as StoredItem | undefined) : undefined;
  if (duplicate) {
    const decided = await decideDuplicate(services, accepting, duplicate, head.task);
    return decided.kind === 'purged' ? resumeTask(services, head, accepting, decided.task) : decided;
  }
  return { kind: 'changed', ...(committed.head ? { head: committed.head } : {}) };
}

/** `purged`: the entry is of a task that a purge took away; it counts as absent (design §7). */
async function decideDuplicate(
  services: TaskServices,
  sent: SentMessage,
  item: StoredItem | undefined,
  task: string,
): Promise<Accepted | { readonly kind: 'purged'; readonly task: string }> {
  // Condition failures without an item cannot come from the dedup put: the id of the new task is random.
  if (!item) throw new Error(`the transaction of task ${task} was refused without a reason`);
  const found = await compareSent(services, sent, item);
  if (found.kind === 'same' && found.task === task) return { kind: 'duplicate', task };
  if (!(await readHead(services, found.task))) return { kind: 'purged', task: found.task };
  return found.kind === 'same' ? { kind: 'duplicate', task: found.task } : { kind: 'message-id-reused' };
}

function stamped(message: Message, task: string, context: string): Message {
  return { ...message, taskId: task, contextId: context };
}

function modes(accepting: Accepting): { outputModes?: readonly string[] } {
  return accepting.outputModes?.length ? { outputModes: accepting.outputModes } : {};
}
