import { createHash } from 'node:crypto';
import type { Outcome, RequestCall } from '../guard/index.ts';
import { eventsOf } from '../journal/events.ts';
import { encodeStreamResponse } from '../protocol/index.ts';
import { nameOf } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import type { Head, Revision } from '../tasks/formats.ts';
import { type Config, type Delivery, PUSH_FORMAT } from './formats.ts';
import { classOf, type Verdict } from './outcome.ts';
import { openSecret } from './secret.ts';
import type { DeliveryServices } from './services.ts';

/** The whole exchange of one attempt, ms (design §6). */
export const EXCHANGE_MS = 15_000;
/** Longer than an exchange: while it holds, no other worker of this config begins. */
export const LEASE_MS = EXCHANGE_MS + 15_000;
/** What was learned of attempts is kept this long, seconds. */
const ATTEMPTS_KEPT = 7 * 86_400;

/** The event an attempt is for. */
export interface EventPlace {
  readonly head: Head;
  readonly entry: Revision;
  readonly index: number;
}

export type Prepared =
  | { readonly kind: 'ready'; readonly call: RequestCall }
  /** Its content is gone; the state update behind it is sent (P9). */
  | { readonly kind: 'removed' }
  /** Its client is disabled: nothing is sent for it meanwhile. */
  | { readonly kind: 'held' }
  | { readonly kind: 'refused'; readonly verdict: Verdict; readonly outcome: Outcome };

/**
 * Everything that can fail by our own fault: it comes before an attempt begins, and uses none (design §6). What is left
 * is one POST of the bare `StreamResponse`, whose answer's body is dropped unread.
 */
export async function prepare(
  services: DeliveryServices,
  config: Config,
  { head, entry, index }: EventPlace,
): Promise<Prepared> {
  const secret = await openSecret(services.sealer, config);
  const policy = await services.policyOf(config.client);
  if (!policy) return { kind: 'held' };
  const text = services.guard.checkText(secret.url, policy);
  if (text.verdict === 'refuse') {
    const verdict = { kind: 'stop', reason: 'address_refused' } as const;
    return { kind: 'refused', verdict, outcome: { kind: 'refused', rule: text.rule } };
  }
  const events = await eventsOf(services, head, entry);
  const event = events.find(({ number }) => number.index === index);
  if (!event) return { kind: 'removed' };
  const call: RequestCall = {
    url: secret.url,
    policy,
    method: 'POST',
    headers: {
      'Content-Type': 'application/a2a+json',
      'webhook-id': webhookId(config, entry.revision, index),
      ...(secret.credentials ? { Authorization: `Bearer ${secret.credentials}` } : {}),
    },
    body: JSON.stringify(encodeStreamResponse(event.response)),
    deadlineMs: EXCHANGE_MS,
    maxResponseBytes: 0,
    discardBody: true,
  };
  return { kind: 'ready', call };
}

/** The same for every attempt of one event to one config: what a receiver dedupes by. */
export function webhookId(config: Pick<Config, 'task' | 'id'>, revision: number, index: number): string {
  const text = `${config.task}/${config.id}/${revision}.${index}`;
  return `evt_${createHash('sha256').update(text).digest('base64url').slice(0, 27)}`;
}

/** An attempt that was made. */
export interface Made {
  readonly config: Config;
  readonly revision: number;
  readonly index: number;
  /** From 1 to 8, or on an operator's retry likewise. */
  readonly number: number;
  /** When it began, epoch ms. */
  readonly at: number;
  readonly outcome: Outcome;
}

/** What the job says of the attempt that delivered its last event. */
export function deliveryOf({ index, number, at, outcome }: Made, now: number): Delivery | undefined {
  if (outcome.kind !== 'response') return undefined;
  return { at, index, number, status: outcome.status, ms: now - at };
}

/**
 * What became of an attempt: a metric, and an entry for operators unless it delivered, which its job says (design §10:
 * an entry would be one write more for every event). No address, no body, no credential. It decides
 * nothing, so that it cannot be written holds up nothing.
 */
export async function noteAttempt(services: DeliveryServices, made: Made): Promise<void> {
  const { config, revision, index, number, at, outcome } = made;
  const { class: kind, status } = classOf(outcome);
  const now = services.clock.now();
  services.metrics.count('PushAttempt', 1, { class: kind });
  services.metrics.milliseconds('PushDuration', now - at);
  if (kind === '2xx') return;
  // Only beside its config: nothing is written of a task that was purged meanwhile.
  const beside = {
    kind: 'check',
    table: 'outbox',
    key: keys.pushConfig(config.task, config.id),
    when: [{ attribute: 'pk', is: 'present' }],
  } as const;
  try {
    const note = {
      kind: 'put',
      table: 'outbox',
      item: {
        ...keys.pushAttempt(config.task, config.id, at, `${revision}.${index}.${number}`),
        v: PUSH_FORMAT,
        rev: revision,
        index,
        number,
        class: kind,
        ...(status === undefined ? {} : { status }),
        ms: now - at,
        ttl: Math.ceil(now / 1000) + ATTEMPTS_KEPT,
      },
    } as const;
    await services.store.transact([beside, note], services.random.uuid());
  } catch (error) {
    services.log.warn('an attempt could not be noted', { task: config.task, error: nameOf(error) });
  }
}
