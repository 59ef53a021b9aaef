import type { Artifact, Message } from '../protocol/index.ts';
import { projectQuietly } from '../runs/recover.ts';
import type { RunMessage, WorkQueue } from '../runtime/ports.ts';
import { keys } from '../storage/keys.ts';
import { commit, DUE_AHEAD_MS } from '../tasks/commit.ts';
import { liveHead } from '../tasks/formats.ts';
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

export async function listApprovals(services: Pick<StateServices, 'store'>): Promise<readonly Waiting[]> {
  const page = await services.store.query({
    table: 'state',
    partition: keys.approval('').pk,
    consistent: true,
    limit: 500,
  });
  return page.items.map((item) => ({
    task: item.sk,
    client: String(item['client']),
    profile: String(item['profile']),
    revision: Number(item['rev']),
    since: new Date(Number(item['at'])).toISOString(),
    until: new Date(Number(item['deadline'])).toISOString(),
  }));
}

/** The draft as its approver has to see it: content, for this one reader. */
export async function showApproval(
  services: TaskServices,
  task: string,
): Promise<
  | (Pick<Waiting, 'task' | 'client' | 'profile' | 'revision'> & {
      readonly artifacts: readonly Artifact[];
      readonly message?: Message;
    })
  | undefined
> {
  const head = await readHead(services, task);
  if (head?.approval !== 'awaited') return undefined;
  const draft = await readWorking<'draft'>(services, head, workingName.draft());
  if (!draft) return undefined;
  const { client, profile, revision } = head;
  return { task, client, profile, revision, ...draft };
}

/** `stale`: what waits there is not the revision that was meant. */
export type Decided = 'decided' | 'not-waiting' | 'stale';

/** An approval has this long to be carried out, ms. */
const CARRY_OUT_MS = 3_600_000;

/**
 * Releases that draft: the run is queued and the executor completes it, its result kept, under the ceiling of that
 * moment. Conditioned on the draft's revision. Writes the head alone: the task stays AUTH_REQUIRED until it is completed.
 */
export async function approve(
  services: StateServices & { readonly runQueue: WorkQueue<RunMessage> },
  task: string,
  revision: number | undefined,
): Promise<Decided> {
  const head = await readHead(services, task);
  if (head?.approval !== 'awaited') return 'not-waiting';
  if (revision !== undefined && revision !== head.revision) return 'stale';
  const now = services.clock.now();
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
    ],
    services.random.uuid(),
  );
  if (outcome.kind === 'refused' && liveHead(outcome.items[0])?.approval !== 'given') return 'not-waiting';
  await services.runQueue.send({ task });
  return 'decided';
}

/** Ends the task REJECTED; its draft can be read by nobody any more. */
export async function reject(
  services: StateServices,
  task: string,
  revision: number | undefined,
): Promise<Decided> {
  const head = await readHead(services, task);
  if (head?.approval !== 'awaited') return 'not-waiting';
  if (revision !== undefined && revision !== head.revision) return 'stale';
  const committed = await commit(
    services,
    head,
    { state: 'TASK_STATE_REJECTED', run: 'ended', reason: 'APPROVAL_REJECTED' },
    [{ attribute: 'approval', is: '=', value: 'awaited' }],
  );
  if (committed.kind === 'refused') return 'not-waiting';
  services.metrics.count('TaskEnded', 1, { state: 'TASK_STATE_REJECTED', reason: 'APPROVAL_REJECTED' });
  await projectQuietly(services, task);
  return 'decided';
}
