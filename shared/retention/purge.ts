import { keys } from '../storage/keys.ts';
import type { Action, Condition, StoredItem } from '../storage/port.ts';
import { FORMAT, type Head, liveHead, spareAttribute } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { StateServices } from '../tasks/services.ts';
import { removeRemains } from './remains.ts';

const TRIES = 20;

export type Purged = 'purged' | 'unknown';

/**
 * Takes a task away for good (P12). One acknowledged write drops the salts and the content of the head, and with it the
 * push configs, so that no attempt starts any more; from then on the gateway can read nothing of the task. What remains
 * of it is removed after that, resumably: the tombstone stays due until all is gone, and the sweeper goes on where this
 * could not. `isMeant` is asked of the head that is taken away, so that a task which changed since it was found old is
 * not purged for its age.
 */
export async function purgeTask(
  services: StateServices,
  task: string,
  isMeant: (head: Head) => boolean = () => true,
): Promise<Purged> {
  for (let tries = 0; tries < TRIES; tries++) {
    const head = await readHead(services, task);
    if (!head || !isMeant(head)) return 'unknown';
    const actions = purgeActions(head, services.clock.now());
    const outcome = await services.store.transact(actions, services.random.uuid());
    if (outcome.kind === 'refused') continue;
    services.metrics.count('TaskPurged');
    try {
      await removeRemains(services, task);
    } catch (error) {
      const name = error instanceof Error ? error.name : 'unknown';
      services.log.warn('the remains of a purged task are left to the sweeper', { task, error: name });
    }
    return 'purged';
  }
  throw new Error('the task changed too often to be purged');
}

/** Whether what stands there is a tombstone whose task still has remains, and not a head. */
export function hasRemains(item: StoredItem): boolean {
  return liveHead(item) === undefined && item['da'] !== undefined;
}

/** The tombstone keeps ids, so that the rest can be found; it expires only once there is no rest. */
function purgeActions(head: Head, now: number): Action[] {
  const item: StoredItem = {
    ...keys.head(head.task),
    v: FORMAT,
    gone: true,
    client: head.client,
    copies: [head.copy, ...head.spare],
    messages: head.messages,
    ...(head.workingId === undefined ? {} : { working: head.workingId }),
    ds: keys.dueShard(head.task),
    da: keys.dueAt(now),
  };
  return [
    { kind: 'put', table: 'state', item, when: conditions(head) },
    ...head.configs.map(
      ({ id }): Action => ({ kind: 'delete', table: 'outbox', key: keys.pushConfig(head.task, id) }),
    ),
    { kind: 'delete', table: 'state', key: keys.approval(head.task) },
  ];
}

/** Everything that the tombstone tells of, as it was read. */
function conditions(head: Head): Condition[] {
  const spare = spareAttribute(head.spare);
  return [
    { attribute: 'rev', is: '=', value: head.revision },
    { attribute: 'copy', is: '=', value: head.copy },
    { attribute: 'configsEdition', is: '=', value: head.configsEdition },
    spare === undefined ? { attribute: 'old', is: 'absent' } : { attribute: 'old', is: '=', value: spare },
  ];
}
