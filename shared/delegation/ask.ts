import { createHash } from 'node:crypto';
import type { Part, PeerTaskStatus } from '../protocol/index.ts';
import { endRun, projectQuietly } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import { commit } from '../tasks/commit.ts';
import type { Head } from '../tasks/formats.ts';
import { keptMessage } from '../tasks/kept.ts';
import { readHead } from '../tasks/read-head.ts';
import { readWorking, workingActions, workingName } from '../tasks/working.ts';
import { dependenciesOf } from './dependencies.ts';
import type { Dependency } from './formats.ts';
import { nextAsking, waitsUntil } from './reply.ts';
import type { ReconcilerServices } from './services.ts';
import { wakeDependencies } from './wake.ts';

/** Less than the shortest wait between two polls, ms. */
const ECHO_MS = 4_500;
const NO_WORDS: readonly Part[] = [{ text: 'The agent that works on this task needs an answer.' }];
const ASKED_AGAIN: Part = { text: 'The agent that works on this task did not accept the last answer.' };
/** Bytes of a question as JSON, as of any message. */
const MAX_QUESTION_BYTES = 2_000_000;

/**
 * A remote that waits for input or authorisation: what it asks is kept as working state, to be shown to our client when it
 * is its turn (design §8).
 */
export async function noteQuestion(
  services: ReconcilerServices,
  dependency: Dependency,
  asks: 'input' | 'auth',
  status: PeerTaskStatus,
): Promise<void> {
  const parts = status.message?.parts;
  const head = await readHead(services, dependency.task);
  if (!head?.working || head.run !== 'suspended') return;
  const question = await workingActions(services, head, head.working, workingName.question(dependency.id), {
    parts: [...(dependency.refused ? [ASKED_AGAIN] : []), ...(parts?.length ? parts : NO_WORDS)],
  });
  await services.store.transact(
    [
      {
        kind: 'update',
        table: 'delegation',
        key: keys.dependency(dependency.task, dependency.id),
        changes: {
          set: { asks, askedAt: services.clock.now(), question: nameOfQuestion(status) },
          remove: ['shown'],
        },
        when: [
          { attribute: 'state', is: '=', value: 'sent' },
          { attribute: 'askedAt', is: 'absent' },
          { attribute: 'reply', is: 'absent' },
        ],
      },
      // Kept only while the run still has its working state.
      {
        kind: 'check',
        table: 'state',
        key: keys.head(head.task),
        when: [{ attribute: 'work', is: 'present' }],
      },
      ...question,
    ],
    services.random.uuid(),
  );
}

/** Whether a question could not be shown as a message. */
export function isTooLong({ message }: PeerTaskStatus): boolean {
  return message !== undefined && Buffer.byteLength(JSON.stringify(message.parts)) > MAX_QUESTION_BYTES;
}

/**
 * Whether a status is the question that our client's reply answers, and no new one: a remote may acknowledge a reply with
 * the task as it stood before. After `ECHO_MS` it is taken for what it says.
 */
export function isEcho(dependency: Dependency, status: PeerTaskStatus, now: number): boolean {
  const { question, repliedAt } = dependency;
  if (repliedAt === undefined || now >= repliedAt + ECHO_MS) return false;
  return question === nameOfQuestion(status);
}

/** Of what tells two questions apart without what they say: where and when it was asked, and by which message. */
function nameOfQuestion({ state, timestamp, message }: PeerTaskStatus): string {
  const named = JSON.stringify([state, timestamp ?? null, message?.messageId ?? null]);
  return createHash('sha256').update(named).digest('base64url');
}

/**
 * Brings what our client is shown in line with what remotes ask: of several that ask, the oldest question, which stays
 * until it is answered or withdrawn; without any, the task works on. Our client never waits with an answer that nobody
 * takes. A task that has no room for one message more ends. Harmless to repeat.
 */
export async function showQuestion(services: ReconcilerServices, task: string): Promise<void> {
  const head = await readHead(services, task);
  if (head?.run !== 'suspended' || head.waiting === 0) return;
  const dependencies = await dependenciesOf(services, task, head.turn);
  const next = nextAsking(dependencies);
  const isShown = head.state !== 'TASK_STATE_WORKING';
  if (next === undefined) {
    if (isShown) await goOn(services, head, dependencies);
  } else if (!isShown || !next.shown) {
    await show(services, head, next, waitsUntil(dependencies));
  }
}

async function goOn(
  services: ReconcilerServices,
  head: Head,
  dependencies: readonly Dependency[],
): Promise<void> {
  const deadline = waitsUntil(dependencies);
  await commit(services, head, { state: 'TASK_STATE_WORKING', run: 'suspended', deadline });
  await projectQuietly(services, head.task);
}

async function show(
  services: ReconcilerServices,
  head: Head,
  asking: Dependency,
  until: number,
): Promise<void> {
  const { maxTaskMessages } = await services.registry.settings();
  // There is to be room for the answer.
  if (head.messages >= maxTaskMessages - 1) {
    if (await endRun(services, head, 'TOO_MANY_MESSAGES')) await wakeDependencies(services, head.task);
    return;
  }
  const question = await readWorking<'question'>(services, head, workingName.question(asking.id));
  const message = {
    messageId: services.random.uuid(),
    contextId: head.context,
    taskId: head.task,
    role: 'ROLE_AGENT' as const,
    parts: [...(question?.parts ?? NO_WORDS)],
  };
  const written = await keptMessage(services, head, head.messages + 1, { message });
  const profile = await services.registry.profile(head.profile);
  const limit = profile ? services.clock.now() + profile.inputSeconds * 1000 : until;
  await commit(services, head, {
    state: asking.asks === 'auth' ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED',
    run: 'suspended',
    deadline: Math.min(until, limit),
    message: { ref: written.ref, spoken: true },
    with: [...written.actions, shownAction(asking)],
  });
  await projectQuietly(services, head.task);
}

/** Holds while it is still asked. */
function shownAction({ task, id, askedAt }: Dependency): Action {
  return {
    kind: 'update',
    table: 'delegation',
    key: keys.dependency(task, id),
    changes: { set: { shown: true } },
    when: [
      { attribute: 'state', is: '=', value: 'sent' },
      { attribute: 'askedAt', is: '=', value: askedAt! },
    ],
  };
}
