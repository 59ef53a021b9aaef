import type { TaskState } from '../protocol/index.ts';
import type { AnswerLevel } from '../registry/types.ts';
import { keys } from '../storage/keys.ts';
import type { Item, StoredItem, Value } from '../storage/port.ts';
import type {
  ConfigRef,
  ContentForm,
  Head,
  MessageRef,
  Reason,
  ResultRef,
  Revision,
  RunStatus,
  View,
} from './model.ts';

/**
 * The stored formats of a task (design §4; README: stored formats). Every item carries its format version in `v`; a
 * reader that meets another version refuses it rather than guess.
 */
export const FORMAT = 1;
/** `copy` of content that was never rewritten. */
export const FIRST_COPY = '0';

export type * from './model.ts';

export function headItem(head: Head): StoredItem {
  return {
    ...keys.head(head.task),
    v: FORMAT,
    client: head.client,
    context: head.context,
    profile: head.profile,
    created: head.createdAt,
    state: head.state,
    at: head.statusAt,
    rev: head.revision,
    commit: head.commit,
    run: head.run,
    attempts: head.attempts,
    max: head.maxAttempts,
    epoch: head.epoch,
    ceiling: head.ceiling,
    form: head.form,
    copy: head.copy,
    keep: head.keepSeconds,
    turns: head.turns,
    waiting: head.waiting,
    tried: head.tried,
    messages: head.messages,
    configs: head.configs as unknown as Value,
    configsEdition: head.configsEdition,
    ...given({
      salt: head.salt,
      work: head.working as Value | undefined,
      wid: head.workingId,
      approval: head.approval,
      old: spareAttribute(head.spare),
      turn: head.turn,
      deadline: head.deadline,
      reason: head.reason,
    }),
    ...(head.lease ? { lease: head.lease.token, until: head.lease.until } : {}),
    ...(head.due ? { ds: keys.dueShard(head.task), da: head.due } : {}),
  };
}

/** Spare copies as they are stored: one text, so that a write can be conditioned on it; `undefined`: there are none. */
export function spareAttribute(spare: readonly string[]): string | undefined {
  return spare.length > 0 ? spare.join(',') : undefined;
}

/** Thrown when a stored item is not of a format this version reads; names the item's kind, never its content. */
export class FormatError extends Error {
  readonly tag = 'FormatError';
  constructor(kind: string) {
    super(`a stored ${kind} is not of a format that this version reads`);
  }
}

/** The head in an item; `undefined` for none, and for what a purge left of one. */
export function liveHead(item: StoredItem | undefined): Head | undefined {
  return item && !isTombstone(item) ? headOf(item) : undefined;
}

/** What a purge leaves for a day, so that nothing late brings the task back (design §7). */
export function isTombstone(item: Item): boolean {
  return item['gone'] === true;
}

export function headOf(item: StoredItem): Head {
  const read = reader(item, 'head');
  const token = read.maybeText('lease');
  const due = read.maybeText('da');
  return {
    task: item.pk.slice(2),
    client: read.text('client'),
    context: read.text('context'),
    profile: read.text('profile'),
    createdAt: read.number('created'),
    state: read.text('state') as TaskState,
    statusAt: read.number('at'),
    revision: read.number('rev'),
    commit: read.text('commit'),
    run: read.text('run') as RunStatus,
    attempts: read.number('attempts'),
    maxAttempts: read.number('max'),
    epoch: read.text('epoch'),
    ceiling: read.text('ceiling') as AnswerLevel,
    form: read.text('form') as ContentForm,
    copy: read.text('copy'),
    keepSeconds: read.number('keep'),
    turns: read.number('turns'),
    waiting: read.number('waiting'),
    tried: (item['tried'] as string[] | undefined) ?? [],
    messages: read.number('messages'),
    configs: item['configs'] as unknown as ConfigRef[],
    configsEdition: read.number('configsEdition'),
    spare: read.maybeText('old')?.split(',') ?? [],
    ...given({
      salt: item['salt'] as Uint8Array | undefined,
      working: item['work'] as Head['working'],
      workingId: item['wid'] as string | undefined,
      approval: item['approval'] as Head['approval'],
      turn: item['turn'] as number | undefined,
      deadline: item['deadline'] as number | undefined,
      reason: item['reason'] as Reason | undefined,
      due,
    }),
    ...(token ? { lease: { token, until: read.number('until') } } : {}),
  };
}

export function revisionItem(revision: Revision): StoredItem {
  return {
    ...keys.revision(revision.task, revision.revision),
    ...entry(revision),
    ...given({ dedup: revision.dedup }),
  };
}

/** The journal entry is what the projector publishes of a revision (design §11). */
export function journalItem(revision: Revision): StoredItem {
  return { ...keys.journal(revision.task, revision.revision), ...entry(revision) };
}

/** Reads a revision item or a journal entry. */
export function revisionOf(item: StoredItem): Revision {
  const read = reader(item, 'revision');
  return {
    task: item.pk.slice(2),
    revision: read.number('rev'),
    commit: read.text('commit'),
    state: read.text('state') as TaskState,
    statusAt: read.number('at'),
    ...given({
      message: item['message'] as MessageRef | undefined,
      spoken: item['spoken'] as boolean | undefined,
      result: item['result'] as ResultRef | undefined,
      reason: item['reason'] as Reason | undefined,
      dedup: item['dedup'] as string | undefined,
    }),
  };
}

export function viewItem(view: View, open: boolean): StoredItem {
  return {
    ...keys.view(view.task),
    v: FORMAT,
    client: view.client,
    context: view.context,
    profile: view.profile,
    created: view.createdAt,
    rev: view.revision,
    state: view.state,
    at: view.statusAt,
    messages: view.messages,
    status: view.statusMessage,
    ...given({ result: view.result as Value | undefined, reason: view.reason }),
    gc: keys.viewOfClient(view.client),
    gx: keys.viewOfContext(view.client, view.context),
    go: keys.viewOrder(view.statusAt, view.task),
    ...(open ? { gp: keys.viewOfClient(view.client), gq: view.task } : {}),
  };
}

export function viewOf(item: StoredItem): View {
  const read = reader(item, 'view');
  return {
    task: item.pk.slice(2),
    client: read.text('client'),
    context: read.text('context'),
    profile: read.text('profile'),
    createdAt: read.number('created'),
    revision: read.number('rev'),
    state: read.text('state') as TaskState,
    statusAt: read.number('at'),
    messages: item['messages'] as unknown as number[],
    statusMessage: read.number('status'),
    ...given({
      result: item['result'] as ResultRef | undefined,
      reason: item['reason'] as Reason | undefined,
    }),
  };
}

/** The view after one more revision. */
export function advance(view: View | undefined, head: Head, revision: Revision): View {
  const messages = view?.messages ?? [];
  const result = revision.result ?? view?.result;
  return {
    task: head.task,
    client: head.client,
    context: head.context,
    profile: head.profile,
    createdAt: head.createdAt,
    revision: revision.revision,
    state: revision.state,
    statusAt: revision.statusAt,
    messages: revision.message ? [...messages, revision.message.slices] : messages,
    statusMessage: revision.message && revision.spoken ? revision.message.number : 0,
    ...given({ result, reason: revision.reason }),
  };
}

function entry(revision: Revision): Item {
  return {
    v: FORMAT,
    rev: revision.revision,
    commit: revision.commit,
    state: revision.state,
    at: revision.statusAt,
    ...given({
      message: revision.message as Value | undefined,
      spoken: revision.spoken,
      result: revision.result as Value | undefined,
      reason: revision.reason,
    }),
  };
}

/** Drops what is absent: the store knows no undefined, and exact optional types want the key gone. */
export function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}

function reader(item: StoredItem, kind: string) {
  if (item['v'] !== FORMAT) throw new FormatError(kind);
  const text = (name: string): string => {
    const value = item[name];
    if (typeof value !== 'string') throw new FormatError(kind);
    return value;
  };
  const number = (name: string): number => {
    const value = item[name];
    if (typeof value !== 'number') throw new FormatError(kind);
    return value;
  };
  return { text, number, maybeText: (name: string) => (item[name] === undefined ? undefined : text(name)) };
}
