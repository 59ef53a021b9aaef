import type { Part } from '../protocol/index.ts';
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

const NO_WORDS: readonly Part[] = [{ text: 'The agent that works on this task needs an answer.' }];

/**
 * A remote that waits for input or authorisation: what it asks is kept as working state and shown to our client when it is
 * its turn (design §8). Of several that ask, the oldest is shown, and gets the client's reply.
 */
export async function noteQuestion(
  services: ReconcilerServices,
  dependency: Dependency,
  asks: 'input' | 'auth',
  parts: readonly Part[] | undefined,
): Promise<void> {
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
        changes: { set: { asks, askedAt: services.clock.now() } },
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
  await showQuestion(services, dependency.task);
}

/** Shows the oldest question, unless one is shown already. */
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
