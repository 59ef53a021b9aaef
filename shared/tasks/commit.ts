import { isTerminal, type TaskState } from '../protocol/index.ts';
import { isRetainable } from '../registry/levels.ts';
import { keys } from '../storage/keys.ts';
import type { Action, Condition, Value } from '../storage/port.ts';
import {
  type ConfigRef,
  given,
  type Head,
  liveHead,
  type MessageRef,
  type Reason,
  type ResultRef,
  type Revision,
  type RunStatus,
  revisionItem,
  revisionOf,
  type WorkingRef,
} from './formats.ts';
import type { StateServices } from './services.ts';

/** A due entry is first set this far ahead; only the sweeper moves it (design §4, time). */
export const DUE_AHEAD_MS = 60_000;

/** One change that remote parties can see. */
export interface Step {
  readonly state: TaskState;
  readonly run: RunStatus;
  /** Kept for a run that goes on in its executor, dropped otherwise. */
  readonly keepLease?: boolean;
  /** Attempts start anew when a task is resumed. */
  readonly restart?: boolean;
  readonly deadline?: number;
  readonly message?: { readonly ref: MessageRef; readonly spoken: boolean };
  readonly result?: ResultRef;
  readonly reason?: Reason;
  /** A push config that this step adds; its fence is the revision before. */
  readonly config?: ConfigRef;
  /** Digest of the dedup item that is written with it. */
  readonly dedup?: string;
  /** A suspended run that waits for a person's approval. */
  readonly approval?: 'awaited';
  readonly working?: WorkingRef;
  /** Steps are handed to remote agents: the turn, and how many of it are waited for. */
  readonly turn?: { readonly number: number; readonly waiting: number };
  /** The provider spoke for itself: what it left of a turn is over. */
  readonly endTurn?: boolean;
  /** Content, dedup and the like: written in the same transaction. */
  readonly with?: readonly Action[];
}

export type Committed =
  | { readonly kind: 'committed'; readonly head: Head; readonly revision: Revision }
  /** Nothing was written. `head` is the head that stood there (absent: none); `items`: what stood in the way of `with`. */
  | { readonly kind: 'refused'; readonly head?: Head; readonly items: readonly (Value | undefined)[] };

/**
 * The one way in which a task changes visibly (design §4, transactions): head and revision in one transaction, on the
 * condition that the head is the one that was read, its ceiling and its copy of the content included (P1, P9), and on
 * what the caller adds (lease token). A terminal head is never changed (P5). Where the content goes, deliveries that
 * opened it before lose their condition. A commit whose answer was lost recognises itself by its id.
 */
export async function commit(
  services: StateServices,
  head: Head,
  step: Step,
  when: readonly Condition[] = [],
): Promise<Committed> {
  if (isTerminal(head.state)) return { kind: 'refused', head, items: [] };
  const id = Buffer.from(services.random.bytes(16)).toString('base64url');
  const next = nextHead(head, step, id, services.clock.now());
  const revision = revisionFrom(next, step);
  const actions: Action[] = [
    headUpdate(head, next, when),
    { kind: 'put', table: 'state', item: revisionItem(revision), when: [{ attribute: 'pk', is: 'absent' }] },
    // Whoever waited for a person waits no more, however that came.
    ...(head.approval === 'awaited' && !next.approval
      ? [{ kind: 'delete', table: 'state', key: keys.approval(head.task) } as const]
      : []),
    ...(head.salt && !next.salt ? fenceDeliveries(head) : []),
    ...(step.with ?? []),
  ];
  const outcome = await services.store.transact(actions, id);
  if (outcome.kind === 'done') return { kind: 'committed', head: next, revision };
  const [headFound, revisionFound, ...items] = outcome.items;
  if (revisionFound && revisionOf(revisionFound).commit === id)
    return { kind: 'committed', head: next, revision };
  const found = liveHead(headFound);
  if (found?.commit === id) return { kind: 'committed', head: next, revision };
  return { kind: 'refused', ...given({ head: found }), items };
}

/** No attempt starts any more with what was read of the task before this (design §6, P9). */
export function fenceDeliveries({ task, configs }: Pick<Head, 'task' | 'configs'>): Action[] {
  return configs.map(({ id }) => ({
    kind: 'update',
    table: 'outbox',
    key: keys.pushConfig(task, id),
    changes: { add: { generation: 1 } },
    when: [{ attribute: 'pk', is: 'present' }],
  }));
}

/**
 * Pure: the head after the step. The end of a run takes the salt of its working state with it, and that of the content
 * where it may not be kept as it stands (P9); it leaves a due entry for the day on which the task is purged.
 */
export function nextHead(head: Head, step: Step, commitId: string, now: number): Head {
  const ended = step.run === 'ended';
  const {
    lease,
    deadline: _deadline,
    due,
    reason: _reason,
    approval: _approval,
    salt,
    working,
    turn,
    ...rest
  } = head;
  const statusAt = Math.max(now, head.statusAt + 1);
  return {
    ...rest,
    state: step.state,
    statusAt,
    revision: head.revision + 1,
    commit: commitId,
    run: step.run,
    attempts: step.restart ? 0 : head.attempts,
    messages: step.message ? step.message.ref.number : head.messages,
    configs: step.config ? [...head.configs, step.config] : head.configs,
    configsEdition: step.config ? head.configsEdition + 1 : head.configsEdition,
    turns: step.turn?.number ?? head.turns,
    waiting: ended ? 0 : (step.turn?.waiting ?? head.waiting),
    ...given({
      turn: ended || step.endTurn ? undefined : (step.turn?.number ?? turn),
      lease: step.keepLease ? lease : undefined,
      deadline: ended ? undefined : (step.deadline ?? head.deadline),
      reason: step.reason,
      approval: step.approval,
      salt: ended && !mayStay(head) ? undefined : salt,
      working: ended ? undefined : (step.working ?? working),
      workingId: step.working?.id ?? head.workingId,
      due: dueAfter(step, statusAt, head, now) ?? due,
    }),
  } as Head;
}

/** Whether content may stay as it is stored: not what waits to be redacted when the run ends for another reason. */
function mayStay({ ceiling, form }: Head): boolean {
  return isRetainable(ceiling) && (ceiling === 'full' || form === 'redacted');
}

/**
 * Only what makes a run runnable, ends it, or has it wait for less long sets a due entry; else the one that stands is the
 * sweeper's.
 */
function dueAfter(
  { run, deadline }: Pick<Step, 'run' | 'deadline'>,
  statusAt: number,
  head: Head,
  now: number,
): string | undefined {
  if (run === 'ended') return keys.dueAt(statusAt + head.keepSeconds * 1000);
  if (run === 'queued') return keys.dueAt(now + DUE_AHEAD_MS);
  const limit = deadline === undefined ? undefined : keys.dueAt(deadline);
  return limit !== undefined && head.due !== undefined && limit < head.due ? limit : undefined;
}

export function revisionFrom(next: Head, step: Step): Revision {
  return {
    task: next.task,
    revision: next.revision,
    commit: next.commit,
    state: next.state,
    statusAt: next.statusAt,
    ...given({
      message: step.message?.ref,
      spoken: step.message?.spoken || undefined,
      result: step.result,
      reason: step.reason,
      dedup: step.dedup,
    }),
  };
}

function headUpdate(head: Head, next: Head, when: readonly Condition[]): Action {
  const remove = [
    ...(next.lease ? [] : ['lease', 'until']),
    ...(next.deadline === undefined ? ['deadline'] : []),
    ...(next.reason === undefined ? ['reason'] : []),
    ...(next.approval === undefined ? ['approval'] : []),
    ...(next.turn === undefined ? ['turn'] : []),
    ...(next.salt === undefined ? ['salt'] : []),
    ...(next.working === undefined ? ['work'] : []),
  ];
  return {
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: {
      set: {
        state: next.state,
        at: next.statusAt,
        rev: next.revision,
        commit: next.commit,
        run: next.run,
        attempts: next.attempts,
        messages: next.messages,
        deadline: next.deadline,
        reason: next.reason,
        approval: next.approval,
        turn: next.turn,
        turns: next.turns,
        waiting: next.waiting,
        ...(next.working && next.working !== head.working
          ? { work: next.working as unknown as Value, wid: next.working.id }
          : {}),
        // Only a step that makes the run runnable sets the due entry; writing the one that was read would undo a sweeper's.
        ...(next.due !== undefined && next.due !== head.due
          ? { ds: keys.dueShard(head.task), da: next.due }
          : {}),
        ...(next.configsEdition === head.configsEdition
          ? {}
          : { configs: next.configs as unknown as Value, configsEdition: next.configsEdition }),
      },
      remove,
    },
    when: [
      { attribute: 'pk', is: 'present' },
      { attribute: 'rev', is: '=', value: head.revision },
      // Neither makes a revision: what was sealed for another copy would open for nobody.
      { attribute: 'ceiling', is: '=', value: head.ceiling },
      { attribute: 'copy', is: '=', value: head.copy },
      // Creating or deleting a push config makes no revision: the list that was read must be the one that stands.
      ...(next.configsEdition === head.configsEdition
        ? []
        : [{ attribute: 'configsEdition', is: '=', value: head.configsEdition } as const]),
      ...when,
    ],
  };
}
