import type { Outcome } from '../guard/index.ts';
import { lastIndex } from '../journal/events.ts';
import { nameOf } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import { isWithdrawn } from '../tasks/content.ts';
import { type Head, type Revision, revisionOf } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import {
  deliveryOf,
  EXCHANGE_MS,
  LEASE_MS,
  type Made,
  noteAttempt,
  type Prepared,
  prepare,
} from './attempt.ts';
import { type Config, configOf, type Delivery, type Job, jobOf } from './formats.ts';
import { halt } from './halt.ts';
import { judge } from './outcome.ts';
import { readConfig } from './read-config.ts';
import { deliverRetry } from './retry.ts';
import type { DeliveryServices, OutboxMessage } from './services.ts';
import { areSpent, LAST_CALL_MS, type Position, passOver, type Settlement, settle } from './settle.ts';
import { configUpdate, endJob, progressUpdate, RELEASE, standingChanges } from './standing.ts';
import { type Next, waitFor, wake } from './wake.ts';

/** What one event may take at most; a worker that has less left hands over. */
const EVENT_MS = EXCHANGE_MS + 5_000;

/**
 * Delivers what a config has due, event by event, in order (design §6, P7): one request in flight, each attempt begun by
 * one conditional write on the config. Ends when nothing is due, or hands over before `until` (epoch ms). A message
 * for an operator's retry delivers that one instead.
 */
export async function deliver(
  services: DeliveryServices,
  message: OutboxMessage,
  until: number,
): Promise<void> {
  const { retry } = message;
  for (;;) {
    const now = services.clock.now();
    if (now + EVENT_MS > until) return wake(services, message, { wakeAt: now });
    const next = retry
      ? await deliverRetry(services, { ...message, retry })
      : await deliverNext(services, message);
    if (next === 'rest') return;
    if (next !== 'again') return wake(services, message, next);
  }
}

/** A config's next event with the job it is of. */
interface Turn {
  readonly config: Config;
  readonly job: Job;
}

async function deliverNext(services: DeliveryServices, message: OutboxMessage): Promise<Next> {
  const config = await readConfig(services, message.task, message.config);
  if (config?.state !== 'active') return 'rest';
  const now = services.clock.now();
  if (config.lease && config.lease.until > now) return { wakeAt: config.lease.until };
  const { standing, revision } = config;
  if (standing.notBefore !== undefined && standing.notBefore > now)
    return waitFor(message, standing.notBefore);

  // Exactly the job after the config's progress; what is not visible yet wakes when it is.
  const [jobItem, entryItem] = await services.store.getMany([
    { table: 'outbox', key: keys.pushJob(config.task, config.id, revision) },
    { table: 'view', key: keys.journal(config.task, revision) },
  ]);
  if (!jobItem) return 'rest';
  const turn: Turn = { config, job: jobOf(jobItem) };
  const { state, deadline } = turn.job;
  if (state !== 'open') return apply(services, turn, passOver(state, standing.single));
  if (now >= deadline) return apply(services, turn, passOver('expired', standing.single));
  const head = await readHead(services, config.task);
  // Purged, or about to be: there is nothing to tell any more.
  if (!head || (await isWithdrawn(services, head))) return 'rest';
  // A transaction's items become visible one by one; and while a view is rebuilt, its journal is not there.
  if (!entryItem) return { wakeAt: now + 1_000 };
  const entry = revisionOf(entryItem);
  const position: Position = { standing, deadline, last: lastIndex(entry) };
  // Begun eight times, and nobody lived to say how the last one went.
  if (areSpent(standing)) return apply(services, turn, settle(position, { kind: 'retry' }, now, 0));
  return attempt(services, turn, position, { head, entry });
}

async function attempt(
  services: DeliveryServices,
  turn: Turn,
  position: Position,
  of: { readonly head: Head; readonly entry: Revision },
): Promise<Next> {
  const { config, job } = turn;
  const { index, single } = position.standing;
  const { clock } = services;
  let prepared: Prepared;
  try {
    prepared = await prepare(services, config, { ...of, index });
  } catch (error) {
    // Read again until shortly before its deadline; then those behind it have their turn.
    if (clock.now() < job.deadline - LAST_CALL_MS) throw error;
    const about = { task: config.task, config: config.id, error: nameOf(error) };
    services.log.error('an event was given up because it could not be read', about);
    return apply(services, turn, settle(position, { kind: 'failed' }, clock.now(), 0));
  }
  // Of a disabled client: the due index looks again each minute, and messages would only multiply.
  if (prepared.kind === 'held') return 'rest';
  if (prepared.kind === 'removed') return apply(services, turn, settle(position, prepared, clock.now(), 0));
  if (prepared.kind === 'refused') {
    const settlement = settle(position, prepared.verdict, clock.now(), 0);
    return apply(services, turn, settlement, prepared.outcome);
  }
  const at = clock.now();
  if (at >= job.deadline) return apply(services, turn, passOver('expired', single));

  const begun = await begin(services, config, at);
  if (!begun) return 'again';
  const until = at + LEASE_MS;
  // Frozen since: with what is left of the lease an exchange could outlive it.
  if (clock.now() > until - EXCHANGE_MS) return { wakeAt: until };
  const outcome = await services.guard.request(prepared.call);
  const now = clock.now();
  const { standing, revision } = begun;
  const made: Made = { config, revision, index, number: standing.attempts, at, outcome };
  // Frozen meanwhile: whoever has the lease now says how the job goes on.
  const next =
    now < until
      ? await applyMade(services, { config: begun, job }, { ...position, standing }, made)
      : 'again';
  await noteAttempt(services, made);
  return next;
}

async function applyMade(
  services: DeliveryServices,
  turn: Turn,
  position: Position,
  made: Made,
): Promise<Next> {
  const now = services.clock.now();
  const settlement = settle(position, judge(made.outcome, now), now, services.random.fraction());
  return apply(services, turn, settlement, made.outcome, deliveryOf(made, now));
}

/** Lease and attempt in one write, on the condition that nothing of the config changed. `undefined`: read again. */
async function begin(services: DeliveryServices, config: Config, at: number): Promise<Config | undefined> {
  const token = Buffer.from(services.random.bytes(12)).toString('base64url');
  const changes = { lease: token, until: at + LEASE_MS, attempts: config.standing.attempts + 1 };
  const outcome = await services.store.write(configUpdate(config, { set: changes }));
  const item = outcome.kind === 'done' ? outcome.item : outcome.items[0];
  const found = item && configOf(item);
  // Also a write of ours whose answer was lost.
  return found?.lease?.token === token ? found : undefined;
}

/**
 * Writes how an event, and with it perhaps its job, went. The job first: a worker that dies in between leaves an ended
 * job, which the next one passes over instead of sending it again.
 */
async function apply(
  services: DeliveryServices,
  { config, job }: Turn,
  settlement: Settlement,
  outcome?: Outcome,
  delivery?: Delivery,
): Promise<Next> {
  if (settlement.kind === 'halt') {
    await halt(services, config, job, settlement, outcome);
    return 'rest';
  }
  if (settlement.kind === 'job-ended') {
    const { state, single } = settlement;
    if (job.state === 'open') {
      const ended = state === 'delivered' ? delivery : undefined;
      await services.store.write(endJob(job, state, services.clock.now(), ended));
      services.metrics.count('PushJobEnded', 1, { state });
    }
    await services.store.write(
      progressUpdate(config, {
        set: { rev: config.revision + 1, index: 0, attempts: 0, single },
        remove: [...RELEASE, 'notBefore', 'spoiled'],
      }),
    );
    return 'again';
  }
  const { set, remove = [] } = standingChanges(config.standing.index, settlement);
  await services.store.write(
    progressUpdate(config, { ...(set ? { set } : {}), remove: [...RELEASE, ...remove] }),
  );
  return settlement.kind === 'wait' ? { wakeAt: settlement.until, due: true } : 'again';
}
