import type { Outcome } from '../guard/index.ts';
import { lastIndex } from '../journal/events.ts';
import type { StreamResponse } from '../protocol/index.ts';
import { nameOf } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import { type Head, type Revision, revisionOf } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import { EXCHANGE_MS, eventAt, noteAttempt, post } from './attempt.ts';
import { type Config, type ConfigSecret, configOf, jobOf, MAX_ATTEMPTS } from './formats.ts';
import { halt } from './halt.ts';
import { judge, type Verdict } from './outcome.ts';
import { readConfig } from './read-config.ts';
import { openSecret } from './secret.ts';
import type { DeliveryServices, OutboxMessage } from './services.ts';
import { endJob, expire, type Position, type Settlement, settle, unchanged } from './settle.ts';

/** Longer than an exchange: while it holds, no other worker of this config begins. */
const LEASE_MS = EXCHANGE_MS + 15_000;
/** What one event may take at most; a worker that has less left hands over. */
const EVENT_MS = EXCHANGE_MS + 5_000;

type Next = 'again' | 'rest' | { readonly wakeAt: number };

/**
 * Delivers what a config has due, event by event, in order (design §6, P7): one request in flight, each attempt begun by
 * one conditional write on the config. Ends when nothing is due, or hands over before `until` (epoch ms).
 */
export async function deliver(
  services: DeliveryServices,
  message: OutboxMessage,
  until: number,
): Promise<void> {
  const { task, config } = message;
  for (;;) {
    if (services.clock.now() + EVENT_MS > until) return wake(services, message, 0);
    const next = await deliverNext(services, task, config);
    if (next === 'rest') return;
    if (next !== 'again') return wake(services, message, next.wakeAt - services.clock.now());
  }
}

/** Queue delays end at 15 minutes; who wakes early reads the due time and waits again. */
export function wake(services: Pick<DeliveryServices, 'outboxQueue'>, message: OutboxMessage, ms: number) {
  return services.outboxQueue.send(message, Math.min(900, Math.max(0, Math.ceil(ms / 1000))));
}

async function deliverNext(services: DeliveryServices, task: string, id: string): Promise<Next> {
  const now = services.clock.now();
  const config = await readConfig(services, task, id);
  if (config?.state !== 'active') return 'rest';
  if (config.lease && config.lease.until > now) return { wakeAt: config.lease.until };
  if (config.notBefore !== undefined && config.notBefore > now) return { wakeAt: config.notBefore };

  const position = await findPosition(services, config);
  if (!position) return 'rest';
  if (position.job.state !== 'open') return apply(services, position, expire(position));
  if (now >= position.job.deadline) return apply(services, position, expire(position));
  const most = config.single ? 1 : MAX_ATTEMPTS;
  if (config.attempts >= most) return apply(services, position, settle(position, { kind: 'retry' }, now, 0));
  return attempt(services, position);
}

/** The job exactly at the config's progress, and its journal entry; one that is not visible yet will be woken for. */
async function findPosition(services: DeliveryServices, config: Config): Promise<Position | undefined> {
  const { task, id, progress } = config;
  const [job, entry] = await services.store.getMany([
    { table: 'outbox', key: keys.pushJob(task, id, progress.revision) },
    { table: 'view', key: keys.journal(task, progress.revision) },
  ]);
  if (!job) return undefined;
  return { config, job: jobOf(job), last: entry ? lastIndex(revisionOf(entry)) : 0 };
}

async function attempt(services: DeliveryServices, position: Position): Promise<Next> {
  const { config } = position;
  const item = await services.store.get('view', keys.journal(config.task, config.progress.revision), {
    consistent: true,
  });
  const head = await readHead(services, config.task);
  // Job before journal entry: a transaction's items become visible one by one. Without a head there is nothing to tell.
  if (!head) return 'rest';
  if (!item) return { wakeAt: services.clock.now() + 1_000 };
  const entry: Revision = revisionOf(item);
  const prepared = await prepare(services, position, head, entry);
  if (prepared.verdict) {
    const settlement = settle(position, prepared.verdict, services.clock.now(), 0);
    return apply(services, position, settlement, prepared.refusal);
  }
  const { secret, event } = prepared;

  const begun = await begin(services, config);
  if (!begun) return 'again';
  const outcome = await post(services, begun, secret, event, config.progress);
  const now = services.clock.now();
  const verdict = judge(outcome, now);
  const at = { at: begun.lease!.until - LEASE_MS, progress: config.progress, number: begun.attempts };
  const settled = { ...position, config: begun };
  const next = await apply(
    services,
    settled,
    settle(settled, verdict, now, services.random.fraction()),
    outcome,
  );
  await noteAttempt(services, begun, outcome, at).catch((error: unknown) =>
    services.log.warn('an attempt could not be noted', { task: config.task, error: nameOf(error) }),
  );
  return next;
}

/** Everything that can fail by our own fault comes before the attempt begins, and uses none. */
async function prepare(
  services: DeliveryServices,
  position: Position,
  head: Head,
  entry: Revision,
): Promise<
  | { readonly verdict: Verdict; readonly refusal?: Outcome }
  | { readonly verdict?: undefined; readonly secret: ConfigSecret; readonly event: StreamResponse }
> {
  const { config } = position;
  const secret = await openSecret(services.sealer, config);
  const text = services.guard.checkText(secret.url, await services.policyOf(config.client));
  if (text.verdict === 'refuse') {
    const verdict: Verdict = { kind: 'stop', reason: 'address_refused' };
    return { verdict, refusal: { kind: 'refused', rule: text.rule } };
  }
  const event = await eventAt(services, head, entry, config.progress.index);
  // Removed meanwhile: passed over, as if delivered; the state update behind it is sent (P9).
  if (event === 'removed') return { verdict: { kind: 'delivered' } };
  return { secret, event };
}

/** Lease and attempt in one write, on the condition that nothing of the config changed. `undefined`: read again. */
async function begin(services: DeliveryServices, config: Config): Promise<Config | undefined> {
  const now = services.clock.now();
  const token = Buffer.from(services.random.bytes(12)).toString('base64url');
  const outcome = await services.store.write({
    kind: 'update',
    table: 'outbox',
    key: keys.pushConfig(config.task, config.id),
    changes: { set: { lease: token, until: now + LEASE_MS, attempts: config.attempts + 1 } },
    when: [
      ...unchanged(config),
      config.lease
        ? { attribute: 'lease', is: '=', value: config.lease.token }
        : { attribute: 'lease', is: 'absent' },
    ],
  });
  const item = outcome.kind === 'done' ? outcome.item : outcome.items[0];
  const found = item && configOf(item);
  // Also a write of ours whose answer was lost; a worker that was frozen since then sends nothing any more.
  if (found?.lease?.token !== token) return undefined;
  return services.clock.now() < found.lease.until - EXCHANGE_MS ? found : undefined;
}

/**
 * Writes how an event, and with it perhaps its job, went. The job first: a worker that dies in between leaves an ended
 * job, which the next one passes over instead of sending it again.
 */
async function apply(
  services: DeliveryServices,
  position: Position,
  settlement: Settlement,
  outcome?: Outcome,
): Promise<Next> {
  const { config, job } = position;
  if (settlement.ended && job.state === 'open') {
    await services.store.write(endJob(job, settlement.ended, services.clock.now()));
    services.metrics.count('PushJobEnded', 1, { state: settlement.ended });
  }
  if (settlement.halt) {
    await halt(services, config, settlement, outcome);
    return 'rest';
  }
  await services.store.write({
    kind: 'update',
    table: 'outbox',
    key: keys.pushConfig(config.task, config.id),
    changes: settlement.changes,
    when: [
      ...unchanged(config),
      config.lease
        ? { attribute: 'lease', is: '=', value: config.lease.token }
        : { attribute: 'lease', is: 'absent' },
    ],
  });
  if (settlement.wakeAt !== undefined) return { wakeAt: settlement.wakeAt };
  return 'again';
}
