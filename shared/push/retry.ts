import { lastIndex } from '../journal/events.ts';
import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import { type Revision, revisionOf } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import { EXCHANGE_MS, eventAt, noteAttempt, post } from './attempt.ts';
import { type Config, type Job, jobOf, MAX_ATTEMPTS } from './formats.ts';
import { halt } from './halt.ts';
import { judge } from './outcome.ts';
import { readConfig } from './read-config.ts';
import { openSecret } from './secret.ts';
import type { DeliveryServices, OutboxMessage } from './services.ts';
import { endJob, type Position, type Settlement, settle } from './settle.ts';

const LEASE_MS = EXCHANGE_MS + 15_000;

/**
 * One attempt of an operator's retry of a job: outside the config's order, but under its lease, so that the config still
 * has one request in flight (design §6). Returns when to come back, epoch ms; `undefined`: it is over.
 */
export async function deliverRetry(
  services: DeliveryServices,
  message: OutboxMessage & { readonly retry: NonNullable<OutboxMessage['retry']> },
): Promise<number | undefined> {
  const { task, retry } = message;
  const now = services.clock.now();
  const item = await services.store.get(
    'outbox',
    keys.pushRetry(task, message.config, retry.revision, retry.id),
    {
      consistent: true,
    },
  );
  const job = item && jobOf(item);
  if (!job?.retry || job.state !== 'open') return undefined;
  const config = await readConfig(services, task, message.config);
  if (config?.state !== 'active') return giveUp(services, job, 'superseded');
  if (now >= job.deadline) return giveUp(services, job, 'expired');
  if (job.retry.attempts >= MAX_ATTEMPTS) return giveUp(services, job, 'exhausted');
  if (config.lease && config.lease.until > now) return config.lease.until;
  const entry = await services.store.get('view', keys.journal(task, retry.revision), { consistent: true });
  const head = await readHead(services, task);
  if (!head || !entry) return giveUp(services, job, 'superseded');
  return attemptRetry(services, config, job, head, revisionOf(entry));
}

async function attemptRetry(
  services: DeliveryServices,
  config: Config,
  job: Job,
  head: Parameters<typeof eventAt>[1],
  entry: Revision,
): Promise<number | undefined> {
  const { index, attempts } = job.retry!;
  const progress = { revision: job.revision, index };
  const secret = await openSecret(services.sealer, config);
  const event = await eventAt(services, head, entry, index);
  const last = lastIndex(entry);
  const track = (made: number): Position => ({
    config: { ...config, progress, attempts: made, single: false },
    job,
    last,
  });
  if (event === 'removed') return write(services, job, settle(track(attempts), { kind: 'delivered' }, 0, 0));

  const token = Buffer.from(services.random.bytes(12)).toString('base64url');
  const now = services.clock.now();
  const begun = await services.store.transact(
    begin(config, job, token, now + LEASE_MS),
    services.random.uuid(),
  );
  if (begun.kind === 'refused') return services.clock.now() + 1_000;
  const outcome = await post(services, config, secret, event, progress);
  const verdict = judge(outcome, services.clock.now());
  const settlement = settle(track(attempts + 1), verdict, services.clock.now(), services.random.fraction());
  const at = { at: now, progress, number: attempts + 1 };
  await release(services, config, token);
  if (settlement.halt) {
    await halt(services, config, settlement, outcome);
    return giveUp(services, job, 'failed');
  }
  const next = await write(services, job, settlement);
  await noteAttempt(services, config, outcome, at);
  return next;
}

function begin(config: Config, job: Job, token: string, until: number): Action[] {
  const { task, config: id, revision, retry } = job;
  return [
    {
      kind: 'update',
      table: 'outbox',
      key: keys.pushConfig(task, id),
      changes: { set: { lease: token, until } },
      when: [
        { attribute: 'state', is: '=', value: 'active' },
        { attribute: 'generation', is: '=', value: config.generation },
        config.lease
          ? { attribute: 'lease', is: '=', value: config.lease.token }
          : { attribute: 'lease', is: 'absent' },
      ],
    },
    {
      kind: 'update',
      table: 'outbox',
      key: keys.pushRetry(task, id, revision, retry!.id),
      changes: { set: { attempts: retry!.attempts + 1 } },
      when: [
        { attribute: 'state', is: '=', value: 'open' },
        { attribute: 'attempts', is: '=', value: retry!.attempts },
      ],
    },
  ];
}

async function release(services: DeliveryServices, config: Config, token: string): Promise<void> {
  await services.store.write({
    kind: 'update',
    table: 'outbox',
    key: keys.pushConfig(config.task, config.id),
    changes: { remove: ['lease', 'until'] },
    when: [{ attribute: 'lease', is: '=', value: token }],
  });
}

/** The settlement as it concerns the retry's own item. */
async function write(
  services: DeliveryServices,
  job: Job,
  settlement: Settlement,
): Promise<number | undefined> {
  if (settlement.ended) return giveUp(services, job, settlement.ended);
  const index = settlement.changes.set?.['index'];
  if (index !== undefined) {
    await services.store.write({
      kind: 'update',
      table: 'outbox',
      key: keys.pushRetry(job.task, job.config, job.revision, job.retry!.id),
      changes: { set: { index, attempts: 0 } },
      when: [{ attribute: 'state', is: '=', value: 'open' }],
    });
  }
  return settlement.wakeAt ?? services.clock.now();
}

async function giveUp(services: DeliveryServices, job: Job, state: Job['state']): Promise<undefined> {
  await services.store.write(endJob(job, state, services.clock.now()));
}
