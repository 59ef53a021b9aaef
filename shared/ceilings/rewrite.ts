import { keys } from '../storage/keys.ts';
import type { Action, Condition, Value } from '../storage/port.ts';
import { fenceDeliveries } from '../tasks/commit.ts';
import { type ContentRead, messageActions, readCopy, redacted, resultActions } from '../tasks/content.ts';
import { type ContentRefs, contentOf, deleteValues, placesOfContent } from '../tasks/content-places.ts';
import { type Head, headOf, liveHead, spareAttribute, type WorkingRef } from '../tasks/formats.ts';
import { readRevisions } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';
import { beginWorking, workingActions, workingName } from '../tasks/working.ts';

/**
 * Rewrites a task's content redacted (design §7): redacted copies under a new salt, the originals into the working state
 * where the run still needs them, then the head switches to them in one write, and the old items go. Until the switch,
 * reads redact on the way out; with it, deliveries that opened the originals lose their condition. The head names the new
 * copy before anything of it is written, and nothing of it is written once the head is another: what a try that died
 * left is opened by nothing and found by the next one, or by the purge. Returns the new head; `undefined`: the task
 * changed meanwhile or has no content, so look at it anew. Throws `RedactionUnavailable`, before anything was written.
 */
export async function rewriteRedacted(services: TaskServices, head: Head): Promise<Head | undefined> {
  const revisions = await readRevisions(services, head.task, 1, head.revision);
  if (revisions.length < head.revision) return undefined;
  const content = contentOf(revisions);
  const stored = await readCopy(services, { head, ...content });
  if (!stored) return undefined;
  const kept = await redacted(services, head.profile, stored);
  const copy = Buffer.from(services.random.bytes(6)).toString('base64url');
  const reserved = await reserve(services, head, copy);
  if (!reserved) return undefined;
  const { client, task } = head;
  const sealer = await services.sealer.begin({ client, task, purpose: 'content' });
  const items = [
    ...(await originals(services, reserved, content, stored)),
    ...(await copies(sealer, copy, content, kept)),
  ];
  for (const item of items) if (!(await writeBeside(services, reserved, item))) return undefined;
  const { salt, epoch } = sealer.owner;
  const switched = await switchTo(services, reserved, { salt, epoch, copy });
  return switched && dropSpare(services, switched, content);
}

/** Removes what nothing opens any more of a task's copies. Harmless to repeat. Returns the head after it. */
export async function dropSpare(
  services: TaskServices,
  head: Head,
  content?: ContentRefs,
): Promise<Head | undefined> {
  if (head.spare.length === 0) return head;
  const refs = content ?? contentOf(await readRevisions(services, head.task, 1, head.revision));
  for (const copy of head.spare) await deleteValues(services, placesOfContent(head.task, refs, copy));
  const outcome = await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: { remove: ['old'] },
    when: [{ attribute: 'pk', is: 'present' }, spareIs(head)],
  });
  return outcome.kind === 'done' ? outcome.item && headOf(outcome.item) : liveHead(outcome.items[0]);
}

/** The new copy's name, and a working state for the originals where the run goes on and has none yet. */
async function reserve(services: TaskServices, head: Head, copy: string): Promise<Head | undefined> {
  const working =
    head.run === 'ended' || head.working ? undefined : await beginWorking(services, head.client, head.task);
  const outcome = await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: {
      set: {
        old: spareAttribute([...head.spare, copy]),
        ...(working ? { work: working as unknown as Value, wid: working.id } : {}),
      },
    },
    when: [...isStill(head), spareIs(head)],
  });
  const found = outcome.kind === 'done' ? outcome.item && headOf(outcome.item) : liveHead(outcome.items[0]);
  // Also a write of ours whose answer was lost.
  return found?.spare.includes(copy) && found.revision === head.revision ? found : undefined;
}

async function originals(
  services: TaskServices,
  head: Head,
  { messages }: ContentRefs,
  stored: ContentRead,
): Promise<readonly Action[]> {
  const working: WorkingRef | undefined = head.run === 'ended' ? undefined : head.working;
  if (!working) return [];
  const written = messages.map(({ number }, i) =>
    workingActions(services, head, working, workingName.message(number), stored.messages[i]!),
  );
  return (await Promise.all(written)).flat();
}

async function copies(
  sealer: Parameters<typeof messageActions>[0],
  copy: string,
  { messages, result }: ContentRefs,
  kept: ContentRead,
): Promise<readonly Action[]> {
  const written = await Promise.all(
    messages.map(({ number }, i) => messageActions(sealer, copy, number, kept.messages[i]!)),
  );
  const actions = written.flatMap((each) => each.actions);
  if (!result || !kept.result) return actions;
  const rewritten = await resultActions(sealer, copy, result.id, kept.result, 'any-size');
  return rewritten === 'too-large' ? actions : [...actions, ...rewritten.actions];
}

/** One item, while the head still is the one that was read. */
async function writeBeside(services: TaskServices, head: Head, item: Action): Promise<boolean> {
  const beside: Action = { kind: 'check', table: 'state', key: keys.head(head.task), when: isStill(head) };
  const outcome = await services.store.transact([beside, item], services.random.uuid());
  return outcome.kind === 'done';
}

async function switchTo(
  services: TaskServices,
  head: Head,
  to: Pick<Head, 'epoch' | 'copy'> & { readonly salt: Uint8Array },
): Promise<Head | undefined> {
  const spare = [...head.spare.filter((copy) => copy !== to.copy), head.copy];
  const outcome = await services.store.transact(
    [
      {
        kind: 'update',
        table: 'state',
        key: keys.head(head.task),
        changes: { set: { ...to, old: spareAttribute(spare), form: 'redacted' } },
        when: [...isStill(head), spareIs(head)],
      },
      ...fenceDeliveries(head),
    ],
    services.random.uuid(),
  );
  const found = outcome.kind === 'done' ? undefined : liveHead(outcome.items[0]);
  if (outcome.kind === 'refused' && found?.copy !== to.copy) return undefined;
  return { ...(found ?? head), ...to, spare, form: 'redacted' };
}

function isStill(head: Head): readonly Condition[] {
  return [
    { attribute: 'rev', is: '=', value: head.revision },
    { attribute: 'copy', is: '=', value: head.copy },
  ];
}

function spareIs({ spare }: Head): Condition {
  const value = spareAttribute(spare);
  return value === undefined ? { attribute: 'old', is: 'absent' } : { attribute: 'old', is: '=', value };
}
