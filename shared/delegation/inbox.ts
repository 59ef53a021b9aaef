import type { TaskPushNotificationConfig } from '../protocol/index.ts';
import { keys } from '../storage/keys.ts';
import type { Head } from '../tasks/formats.ts';
import { readWorking, workingName } from '../tasks/working.ts';
import { countRegistrations } from './count.ts';
import type { Dependency } from './formats.ts';
import { asRegistered, endRegistration } from './resolve.ts';
import type { ReconcilerServices } from './services.ts';
import { pendingRegistration, registrationId } from './suspend.ts';

export async function forgetCredential(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
): Promise<void> {
  if (!head.working) return;
  const key = keys.working(head.task, `${head.working.id}.${workingName.credential(dependency.id)}`, 0);
  await services.store.write({ kind: 'delete', table: 'state', key });
}

/** The config that tells a remote where to call back; `undefined`: push is off, or nobody knows our address. */
export async function callbackOf(
  services: ReconcilerServices,
  head: Head,
  dependency: Dependency,
): Promise<TaskPushNotificationConfig | undefined> {
  const { registration, push } = dependency;
  if (push === 'off' || !registration || !services.publicUrl) return undefined;
  const kept = await readWorking<'credential'>(services, head, workingName.credential(dependency.id));
  if (!kept) return undefined;
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
      ...(await pendingRegistration(services, head, head.working, dependency, registration)),
      countRegistrations(1),
    ],
    services.random.uuid(),
  );
  return outcome.kind === 'done' ? { ...dependency, registration } : undefined;
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
  const outcome = await services.store.transact(
    [
      {
        kind: 'update',
        table: 'delegation',
        key: keys.dependency(dependency.task, dependency.id),
        changes: { set: changes },
        when: [
          { attribute: 'state', is: 'in', values: ['new', 'sent'] },
          { attribute: 'lease', is: '=', value: dependency.lease?.token ?? '' },
          ...asRegistered(dependency),
        ],
      },
      ...endRegistration(dependency),
    ],
    services.random.uuid(),
  );
  if (outcome.kind !== 'done') return undefined;
  await forgetCredential(services, head, dependency);
  return { ...dependency, ...changes };
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

/** What a body claims decides nothing; that it is not about our task is worth knowing, once (design §8). */
export function noteClaim(
  services: ReconcilerServices,
  { task, id, remoteTask }: Dependency,
  { waiting, claimed }: Signals,
): void {
  if (waiting === 0 || claimed === undefined || claimed === remoteTask) return;
  services.metrics.count('CallbackMismatch');
  services.log.warn('a callback names another task than the one that is waited for', {
    task,
    dependency: id,
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
