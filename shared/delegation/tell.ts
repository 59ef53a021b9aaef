import { nameOf } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import type { Changes, Condition } from '../storage/port.ts';
import { isPassing } from './failures.ts';
import { type Dependency, dependencyOf } from './formats.ts';
import type { ReconcilerServices } from './services.ts';
import { noteAnswer, noteFailure } from './unread.ts';

/** After how long a remote is told again, ms, by the attempts so far; after the last it is not. */
const TELL_AGAIN_MS = [10_000, 60_000, 300_000, 900_000, 1_800_000, 60_000];
/** How often a remote is told that nobody waits any more, at most; over about fifty minutes. */
export const MAX_TELLS = TELL_AGAIN_MS.length;
const CALL_MS = 10_000;

/**
 * What the ending of a dependency sets where its remote is to be told: the first attempt follows at once, and the due
 * index has the next, so that neither a crash nor a remote that is away loses it.
 */
export function firstTelling(dependency: Pick<Dependency, 'task' | 'id'>, now: number): Changes['set'] {
  return telling(dependency, 1, now);
}

/** The first attempt, by whoever ended it. Returns when to come back, epoch ms, as `tellAgain` does. */
export async function tellFirst(
  services: ReconcilerServices,
  ended: Dependency,
): Promise<number | undefined> {
  return ended.remoteTask === undefined ? undefined : call(services, ended, 1);
}

/**
 * Tells a remote that nobody waits for its task any more (CancelTask), at most `MAX_TELLS` times until it answers: each
 * attempt is counted before it is made, by one worker. Best effort, also where the agent was disabled meanwhile; that it
 * could not be told is logged and counted. The dependency has ended whatever comes of it (P6).
 */
export async function tellAgain(
  services: ReconcilerServices,
  ended: Dependency,
): Promise<number | undefined> {
  const now = services.clock.now();
  const { tell, due } = ended;
  if (tell === undefined || (due !== undefined && due > keys.dueAt(now))) return undefined;
  if (tell >= MAX_TELLS) {
    await stop(services, ended, tell);
    services.metrics.count('RemoteUntold');
    services.log.warn('a remote agent could not be told that nobody waits any more', named(ended));
    return undefined;
  }
  const outcome = await write(services, ended, tell, { set: telling(ended, tell + 1, now) ?? {} });
  return outcome ? call(services, outcome, tell + 1) : undefined;
}

async function call(
  services: ReconcilerServices,
  ended: Dependency,
  attempt: number,
): Promise<number | undefined> {
  const again = services.clock.now() + TELL_AGAIN_MS[attempt - 1]!;
  if (!(await isTold(services, ended))) return again;
  await stop(services, ended, attempt);
  return undefined;
}

/** Whether the remote answered, whatever it answered: that its task is over, say, or cannot be canceled. */
async function isTold(services: ReconcilerServices, ended: Dependency): Promise<boolean> {
  try {
    const agent = await services.registry.agent(ended.agent);
    if (!agent || !ended.remoteTask) return true;
    const client = await services.clientOf(agent);
    const answer = await client.cancelTask({ id: ended.remoteTask }, { withinMs: CALL_MS });
    if (answer.kind === 'ok') noteAnswer(services, ended, answer);
    else noteFailure(services, ended, answer);
    return answer.kind === 'ok' || !isPassing(answer);
  } catch (error) {
    services.log.warn('a remote agent could not be called', { ...named(ended), error: nameOf(error) });
    return false;
  }
}

function telling({ task, id }: Pick<Dependency, 'task' | 'id'>, attempt: number, now: number) {
  return {
    tell: attempt,
    ds: keys.dueShard(`${task}#${id}`),
    da: keys.dueAt(now + TELL_AGAIN_MS[attempt - 1]!),
  };
}

async function stop(services: ReconcilerServices, ended: Dependency, attempt: number): Promise<void> {
  await write(services, ended, attempt, { remove: ['tell', 'ds', 'da'] });
}

/** `undefined`: another worker went on, or the task was purged. */
async function write(
  services: ReconcilerServices,
  { task, id }: Dependency,
  attempt: number,
  changes: Changes,
): Promise<Dependency | undefined> {
  const when: readonly Condition[] = [{ attribute: 'tell', is: '=', value: attempt }];
  const key = keys.dependency(task, id);
  const outcome = await services.store.write({ kind: 'update', table: 'delegation', key, changes, when });
  return outcome.kind === 'done' && outcome.item ? dependencyOf(outcome.item) : undefined;
}

function named({ task, id, agent }: Dependency) {
  return { task, dependency: id, agent };
}
