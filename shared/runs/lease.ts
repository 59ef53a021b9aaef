import { type AnswerLevel, tighter } from '../registry/index.ts';
import { keys } from '../storage/keys.ts';
import type { Condition } from '../storage/port.ts';
import { type Head, headOf, liveHead } from '../tasks/formats.ts';
import type { StateServices } from '../tasks/services.ts';

/** How long a claim or a renewal holds, and how often it is renewed while the run goes on. */
export const LEASE_MS = 30_000;
export const RENEW_MS = 5_000;

/**
 * Takes a runnable run: a new lease token, one more attempt. Writes the head alone (design §4). `undefined`: it is not
 * the run that was read any more; whoever changed it sees to it. A claim whose answer was lost recognises its token.
 */
export async function claim(services: StateServices, head: Head): Promise<Head | undefined> {
  const token = Buffer.from(services.random.bytes(16)).toString('base64url');
  const until = services.clock.now() + LEASE_MS;
  const outcome = await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: { set: { run: 'running', lease: token, until, attempts: head.attempts + 1 } },
    when: [
      { attribute: 'rev', is: '=', value: head.revision },
      { attribute: 'run', is: '=', value: head.run },
      { attribute: 'attempts', is: '=', value: head.attempts },
      head.lease
        ? { attribute: 'lease', is: '=', value: head.lease.token }
        : { attribute: 'lease', is: 'absent' },
      // A renewal that arrived since the read keeps the run where it is.
      ...(head.lease ? [{ attribute: 'until', is: '=', value: head.lease.until } as const] : []),
    ],
  });
  if (outcome.kind === 'done') return outcome.item && headOf(outcome.item);
  const found = liveHead(outcome.items[0]);
  return found?.lease?.token === token ? found : undefined;
}

/** Prolongs the lease. `undefined`: the run is no longer this executor's (canceled, ended or claimed by another). */
export async function renew(services: StateServices, task: string, token: string): Promise<Head | undefined> {
  const outcome = await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(task),
    changes: { set: { until: services.clock.now() + LEASE_MS } },
    when: [holds(token)],
  });
  return outcome.kind === 'done' && outcome.item ? headOf(outcome.item) : undefined;
}

/** Gives a run back for another attempt; what was claimed by another meanwhile stays as it is. */
export async function release(services: StateServices, task: string, token: string): Promise<void> {
  await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(task),
    changes: { set: { run: 'queued' }, remove: ['lease', 'until'] },
    when: [holds(token), { attribute: 'run', is: '=', value: 'running' }],
  });
}

/**
 * Tightens the ceiling of a run that this executor holds and notes the provider that is about to be tried: a write of
 * its own before the attempt (design §7). `undefined`: the run is no longer this executor's.
 */
export async function tightenHeld(
  services: StateServices,
  head: Head,
  token: string,
  level: AnswerLevel,
  provider: string | undefined,
): Promise<Head | undefined> {
  const outcome = await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: {
      set: { ceiling: tighter(head.ceiling, level) },
      ...(provider === undefined ? {} : { append: { tried: [provider] } }),
    },
    // An administrator may have tightened it meanwhile: read again rather than loosen.
    when: [holds(token), { attribute: 'ceiling', is: '=', value: head.ceiling }],
  });
  if (outcome.kind === 'done') return outcome.item && headOf(outcome.item);
  const found = liveHead(outcome.items[0]);
  if (found?.lease?.token !== token) return undefined;
  const isNoted = provider === undefined || found.tried.includes(provider);
  return tighter(found.ceiling, level) === found.ceiling && isNoted
    ? found
    : tightenHeld(services, found, token, level, isNoted ? undefined : provider);
}

/** The condition of every write of an executor: the lease is its own. */
export function holds(token: string): Condition {
  return { attribute: 'lease', is: '=', value: token };
}
