import { keys } from '../storage/keys.ts';
import type { Action, StoredItem } from '../storage/port.ts';
import { dependenciesOf } from './dependencies.ts';
import { type Dependency, dependencyOf, type Registration, registrationOf } from './formats.ts';
import type { InboxServices } from './services.ts';

/** What an operator sees of a dependency: ids, states and times; no content, no credential (P10). Times are ISO, UTC. */
export interface DependencyShown {
  /** `<task>/<id>`, as the other commands take it. */
  readonly dependency: string;
  readonly agent: string;
  readonly state: string;
  readonly [fact: string]: string | number | boolean | undefined;
}

export interface DependencyFilter {
  readonly agent?: string;
  /** Leaves out those that ended. */
  readonly open?: boolean;
}

/** Open dependencies that one list shows, and entries of the due index that it looks at for them. */
export const MOST_SHOWN = 200;
const MOST_LOOKED = 5_000;

/** Those of one task, in the order in which its steps were handed on, ended ones too. */
export async function listDependencies(
  services: InboxServices,
  task: string,
  filter: DependencyFilter = {},
): Promise<readonly DependencyShown[]> {
  const all = await dependenciesOf(services, task);
  return all
    .filter(({ agent }) => filter.agent === undefined || agent === filter.agent)
    .filter(({ state }) => filter.open !== true || state !== 'ended')
    .map(shown);
}

/**
 * Open ones of all tasks, those that are due first in front, at most `MOST_SHOWN`: each that has not ended stands in the
 * due index (P6). `more`: there may be further ones.
 */
export async function listOpenDependencies(
  services: InboxServices,
  agent?: string,
): Promise<{ readonly dependencies: readonly DependencyShown[]; readonly more: boolean }> {
  const found: Dependency[] = [];
  let looked = 0;
  let more = false;
  for (const partition of keys.dueShards()) {
    let after: Readonly<Record<string, string>> | undefined;
    do {
      const page = await services.store.query({
        table: 'delegation',
        index: 'due',
        partition,
        limit: 100,
        ...(after ? { after } : {}),
      });
      const items = await services.store.getMany(
        page.items.map(({ pk, sk }) => ({ table: 'delegation' as const, key: { pk, sk } })),
      );
      found.push(...items.flatMap((item) => openOne(item, agent)));
      looked += page.items.length;
      after = page.next;
      if (after && (found.length > MOST_SHOWN || looked >= MOST_LOOKED)) {
        more = true;
        break;
      }
    } while (after);
  }
  found.sort((a, b) => (a.due ?? '').localeCompare(b.due ?? ''));
  return {
    dependencies: found.slice(0, MOST_SHOWN).map(shown),
    more: more || found.length > MOST_SHOWN,
  };
}

function openOne(item: StoredItem | undefined, agent: string | undefined): Dependency[] {
  const dependency = item && dependencyOf(item);
  if (!dependency || dependency.state === 'ended') return [];
  return agent === undefined || dependency.agent === agent ? [dependency] : [];
}

/** One, with its callback address; `undefined`: there is none. */
export async function showDependency(
  services: InboxServices,
  task: string,
  id: string,
): Promise<object | undefined> {
  const dependency = await read(services, task, id);
  if (!dependency) return undefined;
  const item =
    dependency.registration &&
    (await services.store.get('delegation', keys.registration(dependency.registration), {
      consistent: true,
    }));
  return {
    ...shown(dependency),
    call: dependency.call,
    messageId: dependency.messageId,
    remoteContext: dependency.remoteContext,
    push: dependency.push,
    registered: dependency.registered,
    createdAt: iso(dependency.createdAt),
    endedAt: iso(dependency.endedAt),
    leaseUntil: iso(dependency.lease?.until),
    ...(item ? callback(item) : {}),
  };
}

function callback(item: StoredItem): object {
  const registration: Registration = registrationOf(item);
  const last = item['lastAt'];
  return {
    registration: registration.id,
    registrationState: registration.state,
    signalsWaiting: registration.signals,
    lastSignalAt: iso(typeof last === 'number' ? last : undefined),
  };
}

export type Operated = 'done' | 'ended' | 'unknown';

/** Makes one due now and wakes it; `audit` is part of the same write. */
export function pollDependency(
  services: InboxServices,
  task: string,
  id: string,
  audit: Action,
): Promise<Operated> {
  return change(services, task, id, {}, audit);
}

/**
 * Has one ended as canceled. Here it is only asked for: the reconciler, which alone holds dependencies and calls remote
 * agents, tells the remote and resolves it, once, as it does everything else (P8).
 */
export function cancelDependency(
  services: InboxServices,
  task: string,
  id: string,
  audit: Action,
): Promise<Operated> {
  return change(services, task, id, { canceled: true }, audit);
}

async function change(
  services: InboxServices,
  task: string,
  id: string,
  set: { readonly canceled?: true },
  audit: Action,
): Promise<Operated> {
  const key = keys.dependency(task, id);
  const due = { ds: keys.dueShard(`${task}#${id}`), da: keys.dueAt(services.clock.now()) };
  const update: Action = {
    kind: 'update',
    table: 'delegation',
    key,
    changes: { set: { ...set, ...due } },
    when: [{ attribute: 'state', is: 'in', values: ['new', 'sent'] }],
  };
  const outcome = await services.store.transact([update, audit], services.random.uuid());
  if (outcome.kind === 'refused') return outcome.items[0] ? 'ended' : 'unknown';
  await services.inboxQueue.send({ task, dependency: id });
  return 'done';
}

async function read(services: InboxServices, task: string, id: string): Promise<Dependency | undefined> {
  const item = await services.store.get('delegation', keys.dependency(task, id), { consistent: true });
  return item && dependencyOf(item);
}

function shown(dependency: Dependency): DependencyShown {
  const { task, id, agent, state, outcome, remoteTask, tries, polls, deadline, due, asks } = dependency;
  return {
    dependency: `${task}/${id}`,
    agent,
    state,
    ...(outcome ? { outcome } : {}),
    ...(asks ? { asks } : {}),
    ...(dependency.canceled ? { canceled: true } : {}),
    ...(dependency.tell === undefined ? {} : { told: dependency.tell }),
    ...(remoteTask ? { remoteTask } : {}),
    tries,
    polls,
    next: iso(due === undefined ? undefined : Number(due)),
    deadline: iso(deadline),
  };
}

function iso(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
