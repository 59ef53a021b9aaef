import type { Message } from '../protocol/index.ts';
import { prepareConfig } from '../push/manage.ts';
import type { AnswerLevel, Profile } from '../registry/types.ts';
import { keys } from '../storage/keys.ts';
import type { Action, StoredItem } from '../storage/port.ts';
import { commit, DUE_AHEAD_MS } from './commit.ts';
import { messageActions, sealerOf } from './content.ts';
import { compareSent, dedupAction, type SentMessage } from './dedup.ts';
import { type Head, headItem, headOf, type Revision, revisionItem, revisionOf } from './formats.ts';
import type { TaskServices } from './services.ts';

export interface Accepting extends SentMessage {
  readonly profile: Profile;
  readonly ceiling: AnswerLevel;
  readonly outputModes?: readonly string[] | undefined;
}

export type Accepted =
  | { readonly kind: 'accepted'; readonly head: Head; readonly revision: Revision }
  /** The same message was sent before, or at the same moment. */
  | { readonly kind: 'duplicate'; readonly task: string }
  | { readonly kind: 'message-id-reused' };

/**
 * Creates a task: head, sealed message, revision 1 and dedup item in one transaction (design §5, SendMessage). The ids
 * the message lacks are set here, once, so every reader sees the same ones.
 */
export async function createTask(services: TaskServices, accepting: Accepting): Promise<Accepted> {
  const { client, profile } = accepting;
  const task = services.random.uuid();
  const context = accepting.message.contextId ?? services.random.uuid();
  const sealer = await services.sealer.begin({ client, task, purpose: 'content' });
  const message = stamped(accepting.message, task, context);
  const written = await messageActions(sealer, 1, { message, ...modes(accepting) });
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
    ceiling: accepting.ceiling,
    tried: [],
    messages: 1,
    configs: config ? [config.ref] : [],
    configsEdition: config ? 1 : 0,
    due: keys.dueAt(now + DUE_AHEAD_MS),
  };
  const revision: Revision = {
    task,
    revision: 1,
    commit: id,
    state: head.state,
    statusAt: now,
    message: written.ref,
  };
  const absent = [{ attribute: 'pk', is: 'absent' }] as const;
  const actions: Action[] = [
    { kind: 'put', table: 'state', item: headItem(head), when: absent },
    { kind: 'put', table: 'state', item: revisionItem(revision), when: absent },
    ...written.actions,
    ...(config ? [config.action] : []),
    ...(profile.dedup ? [await dedupAction(services, accepting, task)] : []),
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
  return decideDuplicate(services, accepting, outcome.items.at(-1), task);
}

export type Resumed = Accepted | { readonly kind: 'changed'; readonly head?: Head };

/**
 * Continues an interrupted task with a message of its client: one transaction that puts the task back to WORKING, adds
 * the message and queues the run. `changed`: the head is not the one that was read; decide anew.
 */
export async function resumeTask(services: TaskServices, head: Head, accepting: Accepting): Promise<Resumed> {
  if (!head.salt) return { kind: 'changed', head };
  const sealer = sealerOf(services, head, head.salt);
  const message = stamped(accepting.message, head.task, head.context);
  const written = await messageActions(sealer, head.messages + 1, { message, ...modes(accepting) });
  const config =
    accepting.push && (await prepareConfig(services, head.task, head.client, head.revision, accepting.push));
  const dedup = accepting.profile.dedup ? [await dedupAction(services, accepting, head.task)] : [];
  const committed = await commit(services, head, {
    state: 'TASK_STATE_WORKING',
    run: 'queued',
    restart: true,
    deadline: services.clock.now() + accepting.profile.runSeconds * 1000,
    message: { ref: written.ref, spoken: false },
    ...(config ? { config: config.ref } : {}),
    with: [...written.actions, ...(config ? [config.action] : []), ...dedup],
  });
  if (committed.kind === 'committed')
    return { kind: 'accepted', head: committed.head, revision: committed.revision };
  const duplicate = dedup.length > 0 ? (committed.items.at(-1) as StoredItem | undefined) : undefined;
  if (duplicate) return decideDuplicate(services, accepting, duplicate, head.task);
  return { kind: 'changed', ...(committed.head ? { head: committed.head } : {}) };
}

async function decideDuplicate(
  services: TaskServices,
  sent: SentMessage,
  item: StoredItem | undefined,
  task: string,
): Promise<Accepted> {
  // Condition failures without an item cannot come from the dedup put: the id of the new task is random.
  if (!item) throw new Error('a transaction was refused without a reason');
  const found = await compareSent(services, sent, item);
  if (found?.kind === 'same') return { kind: 'duplicate', task: found.task };
  if (found?.kind === 'different') return { kind: 'message-id-reused' };
  throw new Error(`the dedup entry of task ${task} changed while it was read`);
}

function stamped(message: Message, task: string, context: string): Message {
  return { ...message, taskId: task, contextId: context };
}

function modes(accepting: Accepting): { outputModes?: readonly string[] } {
  return accepting.outputModes?.length ? { outputModes: accepting.outputModes } : {};
}
