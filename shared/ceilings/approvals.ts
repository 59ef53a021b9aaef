import type { Artifact, Message } from '../protocol/index.ts';
import { isRetainable } from '../registry/index.ts';
import { nameOf, projectQuietly } from '../runs/recover.ts';
import type { RunMessage, WorkQueue } from '../runtime/ports.ts';
import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import { commit, DUE_AHEAD_MS } from '../tasks/commit.ts';
import type { Head } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { StateServices, TaskServices } from '../tasks/services.ts';
import { readWorking, workingName } from '../tasks/working.ts';

/** A result that waits for a person (design §7, approval). Times are ISO, UTC. */
export interface Waiting {
  readonly task: string;
  readonly client: string;
  readonly profile: string;
  /** The draft's revision: what an approval is for. */
  readonly revision: number;
  readonly since: string;
  readonly until: string;
}

/** What waits, the oldest first; at most 500 of them. */
export async function listApprovals(
  services: Pick<StateServices, 'store' | 'clock'>,
): Promise<readonly Waiting[]> {
  const page = await services.store.query({
    table: 'state',
    partition: keys.approval('').pk,
    consistent: true,
    limit: 500,
  });
  const now = services.clock.now();
  const open = page.items.filter((item) => Number(item['deadline']) > now);
  const waiting = open.map((item) => ({
    task: item.sk,
    client: String(item['client']),
    profile: String(item['profile']),
    revision: Number(item['rev']),
    since: new Date(Number(item['at'])).toISOString(),
    until: new Date(Number(item['deadline'])).toISOString(),
  }));
  return waiting.sort((a, b) => (a.since < b.since ? -1 : 1));
}

/** How many wait, at most 500: what operators see without asking. */
export function countApprovals(services: Pick<StateServices, 'store'>): Promise<number> {
  return services.store.count({ table: 'state', partition: keys.approval('').pk }, 500);
}

/** A draft with what its approver has to know. */
export interface Approval extends Pick<Waiting, 'task' | 'client' | 'profile' | 'revision'> {
  readonly artifacts: readonly Artifact[];
  readonly message?: Message;
}

/**
 * The draft as the client would get it, for the person who decides on it: redacted where the result is kept redacted.
 * `undefined`: nothing waits, or its level allows nothing to be shown any more (P9). Throws `RedactionUnavailable`.
 */
export async function showApproval(services: TaskServices, task: string): Promise<Approval | undefined> {
  const head = await readHead(services, task);
  if (!head || !isAwaited(head, services.clock.now())) return undefined;
  const level = await services.privacy.levelOf(head);
  const draft = isRetainable(level) && (await readWorking<'draft'>(services, head, workingName.draft()));
  if (!draft) return undefined;
  const { client, profile, revision } = head;
  const messages = draft.message ? [draft.message] : [];
  const shown =
    level === 'full'
      ? { messages, artifacts: draft.artifacts }
      : await services.privacy.redact(profile, { messages, artifacts: draft.artifacts });
  const [message] = shown.messages;
  return { task, client, profile, revision, artifacts: shown.artifacts, ...(message ? { message } : {}) };
}

/** `stale`: what waits there is not the revision that was meant. `not-waiting`: nothing waits, or somebody was faster. */
export type Decided = 'decided' | 'not-waiting' | 'stale';

/** The audit entry of a decision, which names the draft's revision that it was on. */
export type AuditOf = (revision: number) => Action;

/** An approval has this long to be carried out, ms. */
const CARRY_OUT_MS = 3_600_000;

/**
 * Releases that draft: the run is queued and the executor completes it, its result kept, under the ceiling of that
 * moment. Conditioned on the draft's revision. Writes the head alone: the task stays AUTH_REQUIRED until it is completed.
 * `audit` is written with it, and with nothing else.
 */
export async function approve(
  services: StateServices & { readonly runQueue: WorkQueue<RunMessage> },
  task: string,
  revision: number | undefined,
  audit: AuditOf,
): Promise<Decided> {
  const head = await readHead(services, task);
  const now = services.clock.now();
  const open = openFor(head, revision, now);
  if (open !== 'open' || !head) return open === 'stale' ? 'stale' : 'not-waiting';
  const outcome = await services.store.transact(
    [
      {
        kind: 'update',
        table: 'state',
        key: keys.head(task),
        changes: {
          set: {
            run: 'queued',
            approval: 'given',
            attempts: 0,
            deadline: now + CARRY_OUT_MS,
            ds: keys.dueShard(task),
            da: keys.dueAt(now + DUE_AHEAD_MS),
          },
        },
        when: [
          { attribute: 'rev', is: '=', value: head.revision },
          { attribute: 'approval', is: '=', value: 'awaited' },
        ],
      },
      { kind: 'delete', table: 'state', key: keys.approval(task) },
      audit(head.revision),
    ],
    services.random.uuid(),
  );
  if (outcome.kind === 'refused') return 'not-waiting';
  try {
    await services.runQueue.send({ task });
  } catch (error) {
    services.log.warn('an approved run is left to the sweeper', { task, error: nameOf(error) });
  }
  return 'decided';
}

/** Ends the task REJECTED; its draft can be read by nobody any more. `audit` is written with it, and with nothing else. */
export async function reject(
  services: StateServices,
  task: string,
  revision: number | undefined,
  audit: AuditOf,
): Promise<Decided> {
  for (;;) {
    const head = await readHead(services, task);
    const open = openFor(head, revision, services.clock.now());
    if (open !== 'open' || !head) return open === 'stale' ? 'stale' : 'not-waiting';
    const committed = await commit(
      services,
      head,
      {
        state: 'TASK_STATE_REJECTED',
        run: 'ended',
        reason: 'APPROVAL_REJECTED',
        with: [audit(head.revision)],
      },
      [{ attribute: 'approval', is: '=', value: 'awaited' }],
    );
    // A ceiling that was lowered meanwhile is no decision: it is looked at anew.
    if (committed.kind === 'refused') continue;
    services.metrics.count('TaskEnded', 1, { state: 'TASK_STATE_REJECTED', reason: 'APPROVAL_REJECTED' });
    await projectQuietly(services, task);
    return 'decided';
  }
}

/** Its limit holds from its moment on, also before the sweeper has come to end the task. */
function isAwaited(head: Pick<Head, 'approval' | 'deadline'>, now: number): boolean {
  return head.approval === 'awaited' && now < (head.deadline ?? Number.POSITIVE_INFINITY);
}

/** Pure: whether this draft can be decided on. */
function openFor(
  head: Head | undefined,
  revision: number | undefined,
  now: number,
): 'open' | 'stale' | 'not-waiting' {
  if (!head || !isAwaited(head, now)) return 'not-waiting';
  return revision === undefined || revision === head.revision ? 'open' : 'stale';
}
