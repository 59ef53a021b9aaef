import { createHash } from 'node:crypto';
import type { Part, PeerTaskStatus } from '../protocol/index.ts';
import { projectQuietly } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import { commit } from '../tasks/commit.ts';
import { keptMessage } from '../tasks/kept.ts';
import { readHead } from '../tasks/read-head.ts';
import { readWorking, workingActions, workingName } from '../tasks/working.ts';
import { dependenciesOf } from './dependencies.ts';
import type { Dependency } from './formats.ts';
import { oldestAsking } from './reply.ts';
import type { ReconcilerServices } from './services.ts';

/** Less than the shortest wait between two polls, ms. */
const ECHO_MS = 4_500;
const NO_WORDS: readonly Part[] = [{ text: 'The agent that works on this task needs an answer.' }];

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
    parts: parts?.length ? parts : NO_WORDS,
  });
  await services.store.transact(
    [
      {
        kind: 'update',
        table: 'delegation',
        key: keys.dependency(dependency.task, dependency.id),
        changes: {
          set: { asks, askedAt: services.clock.now(), question: nameOfQuestion(status) },
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

/** Of several that ask, shows the oldest, which gets the client's reply, unless one is shown already. Harmless to repeat. */
export async function showQuestion(services: ReconcilerServices, task: string): Promise<void> {
  const head = await readHead(services, task);
  if (head?.run !== 'suspended' || head.waiting === 0 || head.state !== 'TASK_STATE_WORKING') return;
  const oldest = oldestAsking(await dependenciesOf(services, task, head.turn));
  if (!oldest) return;
  const question = await readWorking<'question'>(services, head, workingName.question(oldest.id));
  const message = {
    messageId: services.random.uuid(),
    contextId: head.context,
    taskId: head.task,
    role: 'ROLE_AGENT' as const,
    parts: [...(question?.parts ?? NO_WORDS)],
  };
  const written = await keptMessage(services, head, head.messages + 1, { message });
  await commit(services, head, {
    state: oldest.asks === 'auth' ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED',
    run: 'suspended',
    message: { ref: written.ref, spoken: true },
    with: written.actions,
  });
  await projectQuietly(services, task);
}
