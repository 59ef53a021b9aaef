import { createHash } from 'node:crypto';
import type { Outcome } from '../guard/index.ts';
import { eventsOf } from '../journal/events.ts';
import { encodeStreamResponse, type StreamResponse } from '../protocol/index.ts';
import { keys } from '../storage/keys.ts';
import type { Head, Revision } from '../tasks/formats.ts';
import { type Config, type ConfigSecret, type Progress, PUSH_FORMAT } from './formats.ts';
import { classOf } from './outcome.ts';
import type { DeliveryServices } from './services.ts';

/** The whole exchange of one attempt, ms (design §6). */
export const EXCHANGE_MS = 15_000;
/** What was learned of attempts is kept this long, seconds. */
const ATTEMPTS_KEPT = 7 * 86_400;

/** The event at `index`; of content that was removed meanwhile only the state remains (P9). */
export async function eventAt(
  services: DeliveryServices,
  head: Head,
  entry: Revision,
  index: number,
): Promise<StreamResponse | 'removed'> {
  const events = await eventsOf(services, head, entry);
  return events.find((event) => event.number.index === index)?.response ?? 'removed';
}

/** One POST of the bare `StreamResponse`; the answer's body is dropped unread. Never throws for the network. */
export async function post(
  services: DeliveryServices,
  config: Config,
  secret: ConfigSecret,
  event: StreamResponse,
  at: Progress,
): Promise<Outcome> {
  return services.guard.request({
    url: secret.url,
    policy: await services.policyOf(config.client),
    method: 'POST',
    headers: {
      'Content-Type': 'application/a2a+json',
      'webhook-id': webhookId(config, at),
      ...(secret.credentials ? { Authorization: `Bearer ${secret.credentials}` } : {}),
    },
    body: JSON.stringify(encodeStreamResponse(event)),
    deadlineMs: EXCHANGE_MS,
    maxResponseBytes: 0,
    discardBody: true,
  });
}

/** The same for every attempt of one event to one config: what a receiver dedupes by. */
export function webhookId(config: Pick<Config, 'task' | 'id'>, at: Progress): string {
  const text = `${config.task}/${config.id}/${at.revision}.${at.index}`;
  return `evt_${createHash('sha256').update(text).digest('base64url').slice(0, 27)}`;
}

/** What became of an attempt: a metric, and a log entry unless it delivered. No address, no body, no credential. */
export async function noteAttempt(
  services: DeliveryServices,
  config: Config,
  outcome: Outcome,
  begun: { readonly at: number; readonly progress: Progress; readonly number: number },
): Promise<void> {
  const { class: kind, status } = classOf(outcome);
  const now = services.clock.now();
  services.metrics.count('PushAttempt', 1, { class: kind });
  services.metrics.milliseconds('PushDuration', now - begun.at);
  if (kind === '2xx') return;
  const entry = {
    kind: 'put',
    table: 'outbox',
    item: {
      ...keys.pushAttempt(config.task, config.id, begun.at, String(begun.number)),
      v: PUSH_FORMAT,
      rev: begun.progress.revision,
      index: begun.progress.index,
      number: begun.number,
      class: kind,
      ...(status === undefined ? {} : { status }),
      ms: now - begun.at,
      ttl: Math.ceil(now / 1000) + ATTEMPTS_KEPT,
    },
  } as const;
  // Only beside its config: nothing is written of a task that was purged meanwhile.
  const beside = {
    kind: 'check',
    table: 'outbox',
    key: keys.pushConfig(config.task, config.id),
    when: [{ attribute: 'pk', is: 'present' }],
  } as const;
  await services.store.transact([beside, entry], services.random.uuid());
}
