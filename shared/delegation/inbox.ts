import type { TaskPushNotificationConfig } from '../protocol/index.ts';
import { keys } from '../storage/keys.ts';
import type { Action, Changes, Condition } from '../storage/port.ts';
import type { Head } from '../tasks/formats.ts';
import { readWorking, workingName } from '../tasks/working.ts';
import { heldUpdate } from './advance.ts';
import { countRegistrations, noteFull } from './count.ts';
import type { Dependency } from './formats.ts';
import { asRegistered, endRegistration } from './resolve.ts';
import type { ReconcilerServices } from './services.ts';
import { pendingRegistration, registrationId } from './suspend.ts';

/**
 * Writes about a dependency that its remote knows where to call back, or never will: the credential goes in the same
 * transaction, so that from here on it stands in no other form than its hash (design §8). `false`: the dependency is
 * another worker's by now, or ended.
 */
export async function settleRegistration(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
  changes: Changes,
  more: { readonly when?: readonly Condition[]; readonly with?: readonly Action[] } = {},
): Promise<boolean> {
  const outcome = await services.store.transact(
    [heldUpdate(dependency, changes, more.when), ...forgetCredential(head, dependency), ...(more.with ?? [])],
    services.random.uuid(),
  );
  return outcome.kind === 'done';
}

function forgetCredential({ task, working }: Head, { id }: Dependency): Action[] {
  if (!working) return [];
  const key = keys.working(task, `${working.id}.${workingName.credential(id)}`, 0);
  return [{ kind: 'delete', table: 'state', key }];
}

/**
 * The config that tells a remote where to call back; `undefined`: push is off, or nobody knows our address. `gone`: there
 * was one, and its credential is not there any more: the remote acknowledged it, or the run ended.
 */
export async function callbackOf(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
): Promise<TaskPushNotificationConfig | 'gone' | undefined> {
  const { registration, push } = dependency;
  if (push === 'off' || !registration || !services.publicUrl) return undefined;
  const kept = await readWorking<'credential'>(services, head, workingName.credential(dependency.id));
  if (!kept) return 'gone';
  return {
    id: registration,
    url: `${services.publicUrl}/callbacks/${registration}`,
    authentication: { scheme: 'Bearer', credentials: kept.credential },
  };
}

export async function localRegistration(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
): Promise<Dependency | undefined> {
  if (dependency.registration) return dependency;
  if (!head.working) return undefined;
  const registration = registrationId(services);
  const pending = await pendingRegistration(services, head, head.working, dependency, registration);
  const outcome = await services.store.transact(
    [
      {
        kind: 'update',
        table: 'delegation',
        key: keys.dependency(dependency.task, dependency.id),
        changes: { set: { registration } },
        when: [
          { attribute: 'state', is: '=', value: 'sent' },
          { attribute: 'registration', is: 'absent' },
        ],
      },
      ...pending,
      countRegistrations(1),
    ],
    services.random.uuid(),
  );
  if (outcome.kind === 'done') return { ...dependency, registration };
  // The count stands last.
  if (outcome.failed.includes(pending.length + 1)) noteFull(services, dependency);
  return undefined;
}

/**
 * The remote takes no push: it is polled from now on, and the registration that nobody will call ends and counts no more,
 * in one transaction. `undefined`: the dependency is another worker's by now, or ended.
 */
export async function withoutPush(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
): Promise<Dependency | undefined> {
  const changes = { push: 'off' as const, registered: false, tries: dependency.tries + 1 };
  const settled = await settleRegistration(
    services,
    head,
    dependency,
    { set: changes },
    { when: asRegistered(dependency), with: endRegistration(dependency) },
  );
  return settled ? { ...dependency, ...changes } : undefined;
}

/** Signals that were not reconciled yet; of the last of them, when it came, epoch ms, and the task that it claimed. */
export interface Signals {
  readonly waiting: number;
  readonly lastAt?: number | undefined;
  readonly claimed?: string | undefined;
}

export async function signalsOf(
  services: ReconcilerServices,
  { registration }: Dependency,
): Promise<Signals> {
  if (!registration) return { waiting: 0 };
  const item = await services.store.get('delegation', keys.registration(registration), { consistent: true });
  return {
    waiting: Number(item?.['signals'] ?? 0),
    lastAt: item?.['lastAt'] as number | undefined,
    claimed: item?.['claimedTask'] as string | undefined,
  };
}

/** What a body claims decides nothing; that it is not about our task is worth knowing, once a signal (design §8). */
export function noteClaim(
  services: ReconcilerServices,
  { task, id, agent, remoteTask }: Dependency,
  { waiting, claimed }: Signals,
): void {
  if (waiting === 0 || claimed === undefined || claimed === remoteTask) return;
  services.metrics.count('CallbackMismatch');
  services.log.warn('a callback names another task than the one that is waited for', {
    task,
    dependency: id,
    agent,
  });
}

export async function drain(
  services: ReconcilerServices,
  { registration }: Dependency,
  signals: number,
): Promise<void> {
  if (!registration || signals === 0) return;
  await services.store.write({
    kind: 'update',
    table: 'delegation',
    key: keys.registration(registration),
    changes: { add: { signals: -signals } },
    when: [{ attribute: 'signals', is: '>=', value: signals }],
  });
}
