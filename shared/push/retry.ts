import type { Outcome } from '../guard/index.ts';
import { lastIndex } from '../journal/events.ts';
import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import { isWithdrawn } from '../tasks/content.ts';
import { type Head, type Revision, revisionOf } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import { deliveryOf, EXCHANGE_MS, LEASE_MS, type Made, noteAttempt, prepare } from './attempt.ts';
import { type Config, type Delivery, type Job, type JobEnd, jobOf, type Standing } from './formats.ts';
import { halt } from './halt.ts';
import { judge } from './outcome.ts';
import { readConfig } from './read-config.ts';
import type { DeliveryServices, OutboxMessage } from './services.ts';
import { areSpent, type Position, type Settlement, settle } from './settle.ts';
import { configUpdate, endJob, jobUpdate, progressUpdate, RELEASE, standingChanges } from './standing.ts';
import { type Next, waitFor } from './wake.ts';

/** An operator's retry with what it is about. */
interface Turn {
  readonly config: Config;
  readonly job: Job;
  readonly standing: Standing;
}

/**
 * The next event of an operator's retry of a job: outside the config's order, but under its lease, so that the config
 * still has one request in flight (design §6).
 */
export async function deliverRetry(
  services: DeliveryServices,
  message: OutboxMessage & { readonly retry: NonNullable<OutboxMessage['retry']> },
): Promise<Next> {
  const { task, config: id, retry } = message;
  const item = await services.store.get('outbox', keys.pushRetry(task, id, retry.revision, retry.id), {
    consistent: true,
  });
  const job = item && jobOf(item);
  if (!job?.retry || job.state !== 'open') return 'rest';
  const config = await readConfig(services, task, id);
  if (!config || config.state === 'stopped') return end(services, job, 'superseded');
  // Held, like every job of a paused config.
  if (config.state === 'paused') return 'rest';
  const now = services.clock.now();
  const { standing } = job.retry;
  if (now >= job.deadline) return end(services, job, 'expired');
  if (config.lease && config.lease.until > now) return { wakeAt: config.lease.until };
  if (standing.notBefore !== undefined && standing.notBefore > now)
    return waitFor(message, standing.notBefore);
  const entryItem = await services.store.get('view', keys.journal(task, retry.revision), {
    consistent: true,
  });
  const head = await readHead(services, task);
  if (!head || (await isWithdrawn(services, head))) return end(services, job, 'superseded');
  if (!entryItem) return { wakeAt: now + 1_000 };
  const entry = revisionOf(entryItem);
  const turn: Turn = { config, job, standing };
  const position: Position = { standing, deadline: job.deadline, last: lastIndex(entry) };
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
  const { index, attempts } = turn.standing;
  const { clock } = services;
  const prepared = await prepare(services, config, { ...of, index });
  // The due index looks again each minute.
  if (prepared.kind === 'held') return 'rest';
  if (prepared.kind !== 'ready') {
    const verdict = prepared.kind === 'removed' ? prepared : prepared.verdict;
    const outcome = prepared.kind === 'refused' ? prepared.outcome : undefined;
    return apply(services, turn, settle(position, verdict, clock.now(), 0), outcome);
  }
  const at = clock.now();
  if (at >= job.deadline) return end(services, job, 'expired');
  const lease = {
    token: Buffer.from(services.random.bytes(12)).toString('base64url'),
    until: at + LEASE_MS,
  };
  const begun = await services.store.transact(begin(turn, lease), services.random.uuid());
  if (begun.kind === 'refused') return 'again';
  if (clock.now() > lease.until - EXCHANGE_MS) return { wakeAt: lease.until };
  const outcome = await services.guard.request(prepared.call);
  const now = clock.now();
  const standing = { ...turn.standing, attempts: attempts + 1 };
  const { revision } = job;
  const made: Made = { config, revision, index, number: standing.attempts, at, outcome };
  const settlement = settle({ ...position, standing }, judge(outcome, now), now, services.random.fraction());
  const held: Turn = { config: { ...config, lease }, job, standing };
  // Frozen meanwhile: whoever has the lease now says how it goes on.
  const next =
    now < lease.until ? await apply(services, held, settlement, outcome, deliveryOf(made, now)) : 'again';
  await noteAttempt(services, made);
  return next;
}

/** Lease and attempt, on the condition that config and retry are what they were. */
function begin({ config, job, standing }: Turn, lease: NonNullable<Config['lease']>): Action[] {
  const { index, attempts } = standing;
  const counted = jobUpdate(job, { set: { attempts: attempts + 1 } });
  const same = [
    { attribute: 'index', is: '=', value: index },
    { attribute: 'attempts', is: '=', value: attempts },
  ] as const;
  return [
    configUpdate(config, { set: { lease: lease.token, until: lease.until } }),
    { ...counted, when: [...counted.when, ...same] },
  ];
}

/** Writes how it went, then gives the lease back. */
async function apply(
  services: DeliveryServices,
  { config, job, standing }: Turn,
  settlement: Settlement,
  outcome?: Outcome,
  delivery?: Delivery,
): Promise<Next> {
  if (settlement.kind === 'halt') {
    await halt(services, config, job, settlement, outcome);
    return 'rest';
  }
  let next: Next = 'again';
  if (settlement.kind === 'job-ended') next = await end(services, job, settlement.state, delivery);
  else await services.store.write(jobUpdate(job, standingChanges(standing.index, settlement)));
  if (settlement.kind === 'wait') next = { wakeAt: settlement.until, due: true };
  if (config.lease) await services.store.write(progressUpdate(config, { remove: [...RELEASE] }));
  // Whoever came for the config's own events meanwhile waits for the whole lease: they go on now.
  if (next !== 'again') await services.outboxQueue.send({ task: config.task, config: config.id });
  return next;
}

async function end(services: DeliveryServices, job: Job, state: JobEnd, delivery?: Delivery): Promise<Next> {
  const now = services.clock.now();
  await services.store.write(endJob(job, state, now, state === 'delivered' ? delivery : undefined));
  services.metrics.count('PushJobEnded', 1, { state });
  return 'rest';
}
