import { isTerminal, type TaskState } from '../protocol/index.ts';
import { keys } from '../storage/keys.ts';
import type { Action, Condition, Value } from '../storage/port.ts';
import {
  type ConfigRef,
  type EndReason,
  given,
  type Head,
  headOf,
  type MessageRef,
  type ResultRef,
  type Revision,
  type RunStatus,
  revisionItem,
  revisionOf,
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
  readonly reason?: EndReason;
  /** A push config that this step adds; its fence is the revision before. */
  readonly config?: ConfigRef;
  /** Content, dedup and the like: written in the same transaction. */
  readonly with?: readonly Action[];
}

export type Committed =
  | { readonly kind: 'committed'; readonly head: Head; readonly revision: Revision }
  /** Nothing was written. `head` is the head that stood there (absent: none); `items`: what stood in the way of `with`. */
  | { readonly kind: 'refused'; readonly head?: Head; readonly items: readonly (Value | undefined)[] };

/**
 * The one way in which a task changes visibly (design §4, transactions): head and revision in one transaction, on the
 * condition that the head is the one that was read, and on what the caller adds (lease token, ceiling). A terminal
 * head is never changed (P5). A commit whose answer was lost recognises itself by its id.
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
    ...(step.with ?? []),
  ];
  const outcome = await services.store.transact(actions, id);
  if (outcome.kind === 'done') return { kind: 'committed', head: next, revision };
  const [headFound, revisionFound, ...items] = outcome.items;
  if (revisionFound && revisionOf(revisionFound).commit === id)
    return { kind: 'committed', head: next, revision };
  if (headFound && headOf(headFound).commit === id) return { kind: 'committed', head: next, revision };
  return { kind: 'refused', ...given({ head: headFound ? headOf(headFound) : undefined }), items };
}

/** Pure: the head after the step. */
export function nextHead(head: Head, step: Step, commitId: string, now: number): Head {
  const ended = step.run === 'ended';
  const runnable = step.run === 'queued';
  const { lease, deadline: _deadline, due, reason: _reason, ...rest } = head;
  const deadline = ended ? undefined : (step.deadline ?? head.deadline);
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
    ...given({
      lease: step.keepLease ? lease : undefined,
      deadline,
      reason: step.reason,
      due: ended ? undefined : runnable ? keys.dueAt(now + DUE_AHEAD_MS) : due,
    }),
  } as Head;
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
    }),
  };
}

function headUpdate(head: Head, next: Head, when: readonly Condition[]): Action {
  const remove = [
    ...(next.lease ? [] : ['lease', 'until']),
    ...(next.deadline === undefined ? ['deadline'] : []),
    ...(next.reason === undefined ? ['reason'] : []),
    ...(next.due === undefined ? ['ds', 'da'] : []),
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
    when: [{ attribute: 'pk', is: 'present' }, { attribute: 'rev', is: '=', value: head.revision }, ...when],
  };
}
