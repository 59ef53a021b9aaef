import type { Artifact, Part } from '../protocol/index.ts';
import { keys } from '../storage/keys.ts';
import type { Action, Condition, StoredItem } from '../storage/port.ts';
import { DUE_AHEAD_MS } from '../tasks/commit.ts';
import { type Head, liveHead } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import { workingActions, workingName } from '../tasks/working.ts';
import { countRegistrations } from './count.ts';
import { TOO_LARGE } from './endings.ts';
import { type Dependency, type DependencyOutcome, dependencyOf } from './formats.ts';
import type { ReconcilerServices } from './services.ts';
import { firstTelling } from './tell.ts';

export interface Resolution {
  readonly outcome: DependencyOutcome;
  readonly artifacts: readonly Artifact[];
  readonly message?: readonly Part[];
  /** The remote may still be at work: it is told that nobody waits any more. */
  readonly tell?: true;
}

/** A resumed run has this long where its profile is gone, seconds. */
const RUN_SECONDS = 1_800;
const TRIES = 20;
/** Bytes of what a remote brought, sealed: it is written in one transaction, which takes 4 MB. */
export const MAX_ANSWER_BYTES = 3_500_000;

/**
 * Resolves a dependency: its outcome, what it brought as working state, and the head's counter in one transaction; the
 * last of a turn queues the run (design §8, P8). Of two at once one is written, and the other is decided anew. What is
 * larger than a transaction takes ends it as failed. Returns what was written; `undefined`: it was resolved before, or the
 * task is over.
 */
export async function resolve(
  services: ReconcilerServices,
  read: Dependency,
  resolution: Resolution,
): Promise<Resolution | undefined> {
  let dependency = read;
  for (let tries = 0; tries < TRIES; tries++) {
    const head = await readHead(services, dependency.task);
    if (!head?.working || head.waiting === 0 || !isOfTurn(head, dependency)) return undefined;
    const { artifacts, message } = resolution;
    const answer = await workingActions(services, head, head.working, workingName.answer(dependency.id), {
      artifacts,
      ...(message ? { message } : {}),
    });
    if (sealedBytes(answer) > MAX_ANSWER_BYTES) return resolve(services, dependency, TOO_LARGE);
    const outcome = await services.store.transact(
      [
        endDependency(dependency, resolution, services.clock.now()),
        await countDown(services, head),
        ...answer,
        ...endRegistration(dependency),
      ],
      services.random.uuid(),
    );
    if (outcome.kind === 'done') {
      services.metrics.count('DependencyEnded', 1, { outcome: resolution.outcome });
      if (head.waiting === 1) await services.runQueue.send({ task: dependency.task }).catch(() => {});
      return resolution;
    }
    if (outcome.failed.includes(0)) {
      const standing = openOf(outcome.items[0]);
      if (!standing) return undefined;
      // Another worker registered it, or closed its registration, since it was read.
      dependency = standing;
    }
    if (outcome.failed.includes(1)) {
      const found = liveHead(outcome.items[1]);
      if (!found || found.run === 'ended') return undefined;
    }
  }
  throw new Error('the task changed too often to be told what its remote agent answered');
}

/** Ends a dependency of a task that is over: nobody waits for it any more. `undefined`: it ended before. */
export async function abandon(
  services: ReconcilerServices,
  read: Dependency,
): Promise<Dependency | undefined> {
  let dependency: Dependency | undefined = read;
  for (let tries = 0; dependency && tries < TRIES; tries++) {
    const outcome = await services.store.transact(
      [endDependency(dependency, ABANDONED, services.clock.now()), ...endRegistration(dependency)],
      services.random.uuid(),
    );
    if (outcome.kind === 'done') return dependency;
    dependency = openOf(outcome.items[0]);
  }
  return undefined;
}

const ABANDONED = { outcome: 'canceled', tell: true } as const;

/** What stood in the way of an ending, unless it had ended already. */
function openOf(item: StoredItem | undefined): Dependency | undefined {
  const dependency = item && dependencyOf(item);
  return dependency?.state === 'ended' ? undefined : dependency;
}

function isOfTurn(head: Head, dependency: Dependency): boolean {
  return head.turn !== undefined && dependency.id.startsWith(`${String(head.turn).padStart(4, '0')}.`);
}

/** Only the dependency that was read: whether it has a registration that counts decides what ends with it. */
function endDependency(
  dependency: Dependency,
  { outcome, tell }: Pick<Resolution, 'outcome' | 'tell'>,
  now: number,
): Action {
  const tells = tell && dependency.remoteTask !== undefined;
  return {
    kind: 'update',
    table: 'delegation',
    key: keys.dependency(dependency.task, dependency.id),
    changes: {
      set: { state: 'ended', outcome, endedAt: now, ...(tells ? firstTelling(dependency, now) : {}) },
      remove: ['lease', 'until', 'askedAt', 'asks', 'shown', 'reply', ...(tells ? [] : ['ds', 'da'])],
    },
    when: [{ attribute: 'state', is: 'in', values: ['new', 'sent'] }, ...asRegistered(dependency)],
  };
}

function sealedBytes(actions: readonly Action[]): number {
  return actions.reduce((sum, action) => {
    const content = action.kind === 'put' ? action.item['content'] : undefined;
    return sum + (content instanceof Uint8Array ? content.length : 0);
  }, 0);
}

/** Holds while nobody registered or closed anything for the dependency since it was read. */
export function asRegistered({ push, registration }: Dependency): readonly Condition[] {
  return [
    { attribute: 'push', is: '=', value: push },
    registration === undefined
      ? { attribute: 'registration', is: 'absent' }
      : { attribute: 'registration', is: '=', value: registration },
  ];
}

/** An ended registration takes callbacks and changes nothing; it counts no more. Without push it ended before. */
export function endRegistration({ registration, push }: Dependency): Action[] {
  if (registration === undefined || push === 'off') return [];
  return [
    {
      kind: 'update',
      table: 'delegation',
      key: keys.registration(registration),
      changes: { set: { state: 'ended' } },
      when: [{ attribute: 'pk', is: 'present' }],
    },
    countRegistrations(-1),
  ];
}

async function countDown(services: ReconcilerServices, head: Head): Promise<Action> {
  const last = head.waiting === 1;
  const now = services.clock.now();
  const profile = last ? await services.registry.profile(head.profile) : undefined;
  return {
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: {
      set: {
        waiting: head.waiting - 1,
        ...(last
          ? {
              run: 'queued',
              attempts: 0,
              deadline: now + (profile?.runSeconds ?? RUN_SECONDS) * 1000,
              ds: keys.dueShard(head.task),
              da: keys.dueAt(now + DUE_AHEAD_MS),
            }
          : {}),
      },
    },
    when: [
      { attribute: 'pk', is: 'present' },
      { attribute: 'waiting', is: '=', value: head.waiting },
      { attribute: 'run', is: '=', value: 'suspended' },
      { attribute: 'rev', is: '=', value: head.revision },
    ],
  };
}
