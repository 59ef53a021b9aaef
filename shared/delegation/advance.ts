import { applyCeiling } from '../ceilings/apply.ts';
import { isRetainable } from '../registry/index.ts';
import { nameOf } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import type { Action, Changes, Condition } from '../storage/port.ts';
import type { Head } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import { showQuestion } from './ask.ts';
import { CANCELED, lateness } from './endings.ts';
import { ended, reconcile, registerCallback, send } from './exchange.ts';
import { type Dependency, dependencyOf } from './formats.ts';
import { signalsOf } from './inbox.ts';
import { passReply } from './pass-reply.ts';
import { abandon } from './resolve.ts';
import type { InboxMessage, ReconcilerServices } from './services.ts';
import { tellAgain, tellFirst } from './tell.ts';

/** Longer than any call to a remote; while it holds, no other worker of this dependency begins. */
const LEASE_MS = 90_000;
/** Who is at it ends soon as a rule; what it did not see is looked at then. */
const LOOK_AGAIN_MS = 2_000;

/**
 * Moves one dependency on by one step: sends it, registers a callback, passes a reply on, asks for the remote's state, or
 * gives it up, and tells the remote of one that ended here (design §8). Every step can be repeated with the same ids and bodies. Returns when to come back, epoch ms;
 * `undefined`: it waits for something that will wake it, or ended.
 */
export async function advance(
  services: ReconcilerServices,
  { task, dependency: id }: InboxMessage,
): Promise<number | undefined> {
  const item = await services.store.get('delegation', keys.dependency(task, id), { consistent: true });
  const found = item && dependencyOf(item);
  if (!found) return undefined;
  if (found.state === 'ended') return tellAgain(services, found);
  const now = services.clock.now();
  if (found.lease && found.lease.until > now) return Math.min(found.lease.until, now + LOOK_AGAIN_MS);
  if (!(await hasWork(services, found, now))) return undefined;
  const held = await take(services, found, now);
  if (!held) return services.clock.now() + 1_000;
  try {
    const wakeAt = await step(services, held, laterThan(now, found.due));
    await release(services, held, wakeAt);
    return wakeAt;
  } catch (error) {
    services.log.warn('a dependency could not be moved on', {
      task,
      dependency: id,
      agent: held.agent,
      error: nameOf(error),
    });
    services.metrics.count('ReconcileFailed');
    const wakeAt = services.clock.now() + retryMs(held.tries);
    await update(services, held, { set: { tries: held.tries + 1 } });
    await release(services, held, wakeAt);
    return wakeAt;
  }
}

/**
 * Whether anything is to be done before the due time. Each step sends one message for its next due time; one that comes
 * earlier and finds nothing new ends here, or every callback would leave a poller of its own behind.
 */
async function hasWork(services: ReconcilerServices, dependency: Dependency, now: number): Promise<boolean> {
  const { due, state, tries, canceled, reply } = dependency;
  if (due === undefined || due <= keys.dueAt(now) || canceled) return true;
  if (tries === 0 && (state === 'new' || reply !== undefined)) return true;
  if (await isSignaled(services, dependency)) return true;
  const head = await readHead(services, dependency.task);
  return !head || head.run === 'ended';
}

/** What was signaled before a look that came to nothing is the business of the next try, which is due. */
async function isSignaled(services: ReconcilerServices, dependency: Dependency): Promise<boolean> {
  const { tries, lookedAt = 0 } = dependency;
  const { waiting, lastAt = lookedAt } = await signalsOf(services, dependency);
  return waiting > 0 && (tries === 0 || lastAt >= lookedAt);
}

/** When it is due anyway: a look before that, because of a signal, is no poll. */
function laterThan(now: number, due: string | undefined): number | undefined {
  return due !== undefined && due > keys.dueAt(now) ? Number(due) : undefined;
}

async function step(
  services: ReconcilerServices,
  dependency: Dependency,
  due: number | undefined,
): Promise<number | undefined> {
  const head = await readHead(services, dependency.task);
  if (!head || head.run === 'ended' || !head.working) return givenUp(services, dependency);
  // Nothing more of it goes out, and nothing more is taken: the run ends here, not when the tightening's job has come (P9).
  if (!isRetainable(await services.privacy.levelOf(head))) {
    if ((await applyCeiling(services, head)) !== 'ended') return services.clock.now() + 1_000;
    return givenUp(services, dependency);
  }
  if (services.clock.now() >= dependency.deadline) return ended(services, dependency, lateness(dependency));
  if (dependency.canceled) return ended(services, dependency, CANCELED);
  return stepOfLive(services, head, dependency, due);
}

async function givenUp(services: ReconcilerServices, dependency: Dependency): Promise<number | undefined> {
  const given = await abandon(services, dependency);
  return given && tellFirst(services, given);
}

async function stepOfLive(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
  due: number | undefined,
): Promise<number | undefined> {
  if (dependency.state === 'new') return send(services, head, dependency);
  if (dependency.push === 'separate' && !dependency.registered)
    return registerCallback(services, head, dependency);
  const wakeAt =
    dependency.reply === undefined
      ? await reconcile(services, dependency, due)
      : await passReply(services, head, dependency);
  // What our client is shown follows what is asked, also where whoever changed that died before it was shown.
  if (dependency.reply !== undefined || head.state !== 'TASK_STATE_WORKING')
    await showQuestion(services, dependency.task);
  return wakeAt;
}

/** 1 s, 2 s, 4 s … up to five minutes. */
export function retryMs(tries: number): number {
  return Math.min(300_000, 1_000 * 2 ** Math.min(tries, 9));
}

/** A write about a dependency this worker holds; one that ended or was taken meanwhile stays as it is. */
export async function update(
  services: Pick<ReconcilerServices, 'store'>,
  dependency: Dependency,
  changes: Changes,
): Promise<boolean> {
  const outcome = await services.store.write(heldUpdate(dependency, changes));
  return outcome.kind === 'done';
}

/** The same as part of a transaction, on further conditions. */
export function heldUpdate(
  { task, id, lease }: Dependency,
  changes: Changes,
  when: readonly Condition[] = [],
): Extract<Action, { kind: 'update' }> {
  return {
    kind: 'update',
    table: 'delegation',
    key: keys.dependency(task, id),
    changes,
    when: [
      { attribute: 'state', is: 'in', values: ['new', 'sent'] },
      { attribute: 'lease', is: '=', value: lease?.token ?? '' },
      ...when,
    ],
  };
}

async function take(
  services: ReconcilerServices,
  dependency: Dependency,
  now: number,
): Promise<Dependency | undefined> {
  const token = Buffer.from(services.random.bytes(12)).toString('base64url');
  const outcome = await services.store.write({
    kind: 'update',
    table: 'delegation',
    key: keys.dependency(dependency.task, dependency.id),
    changes: {
      set: {
        lease: token,
        until: now + LEASE_MS,
        lookedAt: now,
        ds: keys.dueShard(`${dependency.task}#${dependency.id}`),
        da: keys.dueAt(now + LEASE_MS),
      },
    },
    when: [
      { attribute: 'state', is: '=', value: dependency.state },
      dependency.lease
        ? { attribute: 'lease', is: '=', value: dependency.lease.token }
        : { attribute: 'lease', is: 'absent' },
    ],
  });
  const item = outcome.kind === 'done' ? outcome.item : outcome.items[0];
  const found = item && dependencyOf(item);
  return found?.lease?.token === token ? found : undefined;
}

/** Gives the dependency back, due at its next step; without one, at its deadline. */
async function release(
  services: ReconcilerServices,
  dependency: Dependency,
  wakeAt: number | undefined,
): Promise<void> {
  const { deadline } = dependency;
  // Behind the deadline it is tried again as any other step: one that stays due has the sweeper wake it over and over.
  const isLate = services.clock.now() >= deadline;
  const at = isLate ? (wakeAt ?? services.clock.now() + LEASE_MS) : Math.min(wakeAt ?? deadline, deadline);
  await update(services, dependency, {
    set: { ds: keys.dueShard(`${dependency.task}#${dependency.id}`), da: keys.dueAt(at) },
    remove: ['lease', 'until'],
  });
}
