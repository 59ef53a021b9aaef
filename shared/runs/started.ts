import { createHash } from 'node:crypto';
import { listDependencies } from '../delegation/operate.ts';
import type { InboxServices } from '../delegation/services.ts';
import { wakeDependencies } from '../delegation/wake.ts';
import { waitForRest } from '../journal/watch.ts';
import { encodeTask, isInterrupted, type JsonObject, type Message } from '../protocol/index.ts';
import { isRetainable, type Profile, type Registry, resolveLevel } from '../registry/index.ts';
import { createTask, resumeTask } from '../tasks/accept.ts';
import { cancelTask } from '../tasks/cancel.ts';
import { isWithdrawn } from '../tasks/content.ts';
import type { Head, View } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';
import { snapshot } from '../tasks/snapshot.ts';
import { nameOf, projectQuietly, type RecoveryServices } from './recover.ts';

/** The client that runs of administrators belong to; no registered client can have its id (design §8). */
export const ADMIN_CLIENT = 'admin';

export interface StartedServices extends TaskServices, RecoveryServices, InboxServices {
  readonly registry: Registry;
}

export interface StartedRun {
  /** A profile's id, or `agent:<id>`; published or not. */
  readonly profile: string;
  readonly text: string;
  /** Of `planRun`. */
  readonly task: string;
  readonly context: string;
}

/** Thrown when the profile went away since the caller looked. */
export class ProfileGone extends Error {
  readonly tag = 'ProfileGone';
  constructor() {
    super('the profile is not there any more');
  }
}

/**
 * The ids of a run, so that the audit can name them before it is started: its task, and a context of its own. That begins
 * with a digest of who starts the run, which is how the run is known as theirs later; the name itself stands in the audit
 * only.
 */
export function planRun(
  { random }: Pick<TaskServices, 'random'>,
  actor: string,
): Pick<StartedRun, 'task' | 'context'> {
  return { task: random.uuid(), context: `${digestOf(actor)}.${random.uuid()}` };
}

export function isStartedBy(head: Pick<Head, 'context'>, actor: string): boolean {
  return head.context.startsWith(`${digestOf(actor)}.`);
}

function digestOf(actor: string): string {
  return createHash('sha256').update(actor).digest('base64url').slice(0, 22);
}

/** Starts a run for the client `admin`, as a message of a client would; the ceiling rules are the same (design §7). */
export async function startRun(services: StartedServices, run: StartedRun): Promise<object> {
  const profile = await services.registry.profile(run.profile);
  if (!profile) throw new ProfileGone();
  const accepted = await createTask(services, {
    client: ADMIN_CLIENT,
    tenant: '',
    task: run.task,
    message: messageOf(services, run.text, { contextId: run.context }),
    // The message's id is ours and new: there is nothing to recognise a repetition by.
    profile: { ...profile, dedup: false },
    ceiling: await levelOf(services, profile),
  });
  if (accepted.kind !== 'accepted') throw new Error('a new message id was taken already');
  const { head } = accepted;
  await moveOn(services, head.task, () => services.runQueue.send({ task: head.task }));
  services.metrics.count('TaskCreated');
  return { id: head.task, profile: head.profile, state: head.state };
}

async function levelOf(services: StartedServices, profile: Profile) {
  const [settings, first] = await Promise.all([
    services.registry.settings(),
    services.registry.provider(profile.providers[0] ?? ''),
  ]);
  return resolveLevel(settings.answerLevel, profile.answerLevel, first?.answerLevel);
}

/**
 * States and times of a run, and how it waits for remote agents. Who started it gets `task` besides, the task as a client
 * would see it. `waitMs`: for how long to wait until the run rests.
 */
export async function showRun(
  services: StartedServices,
  task: string,
  actor: string,
  waitMs: number,
): Promise<object | undefined> {
  const before = await readHead(services, task);
  if (before?.client !== ADMIN_CLIENT) return undefined;
  const seen = await waitForRest(services, task, before.revision, services.clock.now() + waitMs);
  if (!seen) return undefined;
  const { head, view } = seen;
  const isOwn = isStartedBy(head, actor);
  // Gone already, as to a client.
  if (await isWithdrawn(services, head)) return undefined;
  const shown = isOwn ? await taskOf(services, head, view) : undefined;
  if (shown === 'withdrawn') return undefined;
  return {
    id: task,
    profile: head.profile,
    state: view.state,
    ...(view.reason ? { reason: view.reason } : {}),
    createdAt: new Date(head.createdAt).toISOString(),
    statusAt: new Date(view.statusAt).toISOString(),
    run: head.run,
    waiting: head.waiting,
    ...(shown ? { task: shown } : { content: 'for who started the run' }),
    ...(head.turns > 0 ? { dependencies: await listDependencies(services, task) } : {}),
  };
}

async function taskOf(services: StartedServices, head: Head, view: View): Promise<JsonObject | 'withdrawn'> {
  const { maxHistoryMessages: maxHistory } = await services.registry.settings();
  const task = await snapshot(services, head, view, { historyLength: 0, maxHistory });
  return task === 'withdrawn' ? task : encodeTask(task);
}

const TRIES = 8;

/** Answers what a run asks: its own provider, or the remote agent that waits for input (design §8). */
export async function replyToRun(
  services: StartedServices,
  task: string,
  text: string,
  actor: string,
): Promise<'accepted' | 'not-asked' | 'not-kept' | 'not-yours' | 'unknown'> {
  let head = await readHead(services, task);
  for (let tries = 0; tries < TRIES; tries++) {
    if (head?.client !== ADMIN_CLIENT) return 'unknown';
    if (!isStartedBy(head, actor)) return 'not-yours';
    const [profile, settings] = await Promise.all([
      services.registry.profile(head.profile),
      services.registry.settings(),
    ]);
    const takes = isInterrupted(head.state) && !head.approval && head.messages < settings.maxTaskMessages;
    if (!profile || !takes) return 'not-asked';
    // What may not be kept is not taken: the run ends as soon as the tightening comes to it (P9).
    if (!isRetainable(await services.privacy.levelOf(head))) return 'not-kept';
    const resumed = await resumeTask(services, head, {
      client: ADMIN_CLIENT,
      tenant: '',
      message: messageOf(services, text, {}),
      profile: { ...profile, dedup: false },
      ceiling: head.ceiling,
    });
    if (resumed.kind === 'busy') return 'not-asked';
    if (resumed.kind === 'accepted') {
      const { run, waiting } = resumed.head;
      await moveOn(services, task, async () => {
        if (run === 'queued') await services.runQueue.send({ task });
        if (waiting > 0) await wakeDependencies(services, task);
      });
      return 'accepted';
    }
    head = await readHead(services, task);
  }
  throw new Error('the task changed too often to take a reply');
}

/** Ends a run; remote agents that work for it are told. Any administrator may, of runs that one started. */
export async function cancelRun(
  services: StartedServices,
  task: string,
): Promise<'canceled' | 'terminal' | 'unknown'> {
  const canceled = await cancelTask(services, ADMIN_CLIENT, task);
  if (canceled.kind === 'canceled') {
    await moveOn(services, task, () => wakeDependencies(services, task));
  }
  return canceled.kind;
}

/** Best effort: the stream and the due index do what is left undone here (P6). */
async function moveOn(services: StartedServices, task: string, wake: () => Promise<unknown>): Promise<void> {
  const woken = wake().catch((error: unknown) =>
    services.log.warn('a run is left to the stream', { task, error: nameOf(error) }),
  );
  await Promise.all([woken, projectQuietly(services, task)]);
}

function messageOf(services: StartedServices, text: string, more: { contextId?: string }): Message {
  return { messageId: services.random.uuid(), role: 'ROLE_USER', parts: [{ text }], ...more };
}
