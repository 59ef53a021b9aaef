import { keys } from '../storage/keys.ts';
import type { Action, Condition, Key, Value } from '../storage/port.ts';
import { messageActions, readStored, redacted, resultActions } from '../tasks/content.ts';
import {
  type Head,
  headOf,
  liveHead,
  type MessageRef,
  type ResultRef,
  type Revision,
} from '../tasks/formats.ts';
import { readRevisions } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';
import { keysOf } from '../tasks/slices.ts';
import { beginWorking, workingActions, workingName } from '../tasks/working.ts';

/**
 * Rewrites a task's content redacted (design §7): redacted copies under a new salt, the originals into the working state
 * where the run still needs them, then the head switches to them in one write, and the old items go. Until the switch,
 * reads redact on the way out. Resumable: what a try that died left is opened by nothing. Returns the new head;
 * `undefined`: the task changed meanwhile or is gone, so look at it anew. Throws `RedactionUnavailable`.
 */
export async function rewriteRedacted(services: TaskServices, head: Head): Promise<Head | undefined> {
  const revisions = await readRevisions(services, head.task, 1, head.revision);
  if (revisions.length < head.revision) return undefined;
  const content = contentOf(revisions);
  const stored = await readStored(services, { head, ...content });
  if (stored === 'removed') return undefined;
  const kept = await redacted(services, head.profile, stored);

  const { client, task } = head;
  const sealer = await services.sealer.begin({ client, task, purpose: 'content' });
  const copy = Buffer.from(services.random.bytes(6)).toString('base64url');
  const working =
    head.run === 'ended' ? undefined : (head.working ?? (await beginWorking(services, client, task)));
  const actions: Action[] = [];
  for (const [i, { number }] of content.messages.entries()) {
    actions.push(...(await messageActions(sealer, copy, number, kept.messages[i]!)).actions);
    if (!working) continue;
    const original = stored.messages[i]!;
    actions.push(...(await workingActions(services, head, working, workingName.message(number), original)));
  }
  if (content.result && kept.result) {
    const result = await resultActions(sealer, copy, content.result.id, kept.result, 'any-size');
    if (result !== 'too-large') actions.push(...result.actions);
  }
  await writeAll(services, actions);
  const { epoch, salt } = sealer.owner;
  const outcome = await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(task),
    changes: {
      set: {
        salt,
        epoch,
        copy,
        old: head.copy,
        form: 'redacted',
        work: working as unknown as Value | undefined,
      },
    },
    when: [
      { attribute: 'pk', is: 'present' },
      { attribute: 'rev', is: '=', value: head.revision },
      { attribute: 'copy', is: '=', value: head.copy },
    ],
  });
  const found = outcome.kind === 'done' ? outcome.item && headOf(outcome.item) : liveHead(outcome.items[0]);
  if (found?.copy !== copy) {
    await deleteAll(services, keysOfContent(task, content, copy));
    return undefined;
  }
  await dropOldCopy(services, found, content);
  return found;
}

export interface ContentRefs {
  readonly messages: readonly MessageRef[];
  readonly result?: ResultRef | undefined;
}

/** Where a task's content lies, by its revisions. */
export function contentOf(revisions: readonly Revision[]): ContentRefs {
  return {
    messages: revisions.flatMap(({ message }) => (message ? [message] : [])),
    result: revisions.findLast(({ result }) => result)?.result,
  };
}

/** Removes the copy that was replaced; nothing opens it any more. Resumable. */
export async function dropOldCopy(services: TaskServices, head: Head, content: ContentRefs): Promise<void> {
  if (head.oldCopy === undefined) return;
  await deleteAll(services, keysOfContent(head.task, content, head.oldCopy));
  await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: { remove: ['old'] },
    when: [{ attribute: 'old', is: '=', value: head.oldCopy }],
  });
}

/** Keys of one copy. A rewritten value may have more slices than its ref says; they are looked for by `purge`. */
export function keysOfContent(task: string, content: ContentRefs, copy: string): Key[] {
  const { messages, result } = content;
  return [
    ...messages.flatMap(({ number, slices }) =>
      keysOf({ slices, at: (slice) => keys.message(task, number, copy, slice) }, slices),
    ),
    ...(result
      ? keysOf(
          { slices: result.slices, at: (slice) => keys.result(task, result.id, copy, slice) },
          result.slices,
        )
      : []),
  ];
}

async function writeAll(services: TaskServices, actions: readonly Action[]): Promise<void> {
  for (const action of actions) if (action.kind !== 'check') await services.store.write(action);
}

/** Deletes items of the state table; `when`: only those for which it holds. */
export async function deleteAll(
  services: Pick<TaskServices, 'store'>,
  wanted: readonly Key[],
  when?: Condition,
): Promise<void> {
  for (const key of wanted) {
    await services.store.write({ kind: 'delete', table: 'state', key, ...(when ? { when: [when] } : {}) });
  }
}
