import type { Clock, Random } from '../runtime/ports.ts';
import { keys } from '../storage/keys.ts';
import type { Store } from '../storage/port.ts';

/**
 * Per client, approximate on purpose (design §10): a counter a minute outside every transaction, the index of open
 * tasks, which lags, and one expiring entry an open stream. None of them is read by anything but the quota.
 */
export interface QuotaServices {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

export type Quota =
  | { readonly kind: 'within' }
  | { readonly kind: 'over'; readonly retryAfterSeconds: number };

const MINUTE = 60_000;
/** What a client that has too many open tasks or streams is told to wait, seconds. */
const WAIT_SECONDS = 10;

/** Counts one request and says whether it is within the client's requests a minute. One write unit. */
export async function countRequest(
  services: QuotaServices,
  client: string,
  perMinute: number,
): Promise<Quota> {
  const now = services.clock.now();
  const minute = now - (now % MINUTE);
  const outcome = await services.store.write({
    kind: 'update',
    table: 'registry',
    key: keys.rate(client, minute),
    changes: { add: { requests: 1 }, set: { ttl: Math.ceil(minute / 1000) + 300 } },
    // A counter starts by itself: it may be there or not.
    when: [
      {
        any: [
          { attribute: 'pk', is: 'present' },
          { attribute: 'pk', is: 'absent' },
        ],
      },
    ],
  });
  const requests = outcome.kind === 'done' ? Number(outcome.item?.['requests'] ?? 0) : 0;
  if (requests <= perMinute) return { kind: 'within' };
  return { kind: 'over', retryAfterSeconds: Math.ceil((minute + MINUTE - now) / 1000) };
}

/** Whether the client may have one more unfinished task. */
export async function mayOpenTask(services: QuotaServices, client: string, limit: number): Promise<Quota> {
  const open = await services.store.count(
    { table: 'view', index: 'open', partition: keys.viewOfClient(client) },
    limit,
  );
  return open < limit ? { kind: 'within' } : { kind: 'over', retryAfterSeconds: WAIT_SECONDS };
}

export interface StreamPlace {
  /** Gives the place back, if that can be done now; else it frees itself. Never throws: a stream must not end with it. */
  close(): Promise<void>;
}

/** Takes a place for a stream until `until` (epoch ms), when it frees itself if nobody closes it. */
export async function openStream(
  services: QuotaServices,
  client: string,
  limit: number,
  until: number,
): Promise<StreamPlace | Extract<Quota, { kind: 'over' }>> {
  const { store, clock, random } = services;
  const key = keys.stream(client, random.uuid());
  const open = await store.count(
    {
      table: 'registry',
      partition: key.pk,
      consistent: true,
      filter: [{ attribute: 'until', is: '>', value: clock.now() }],
    },
    limit,
  );
  if (open >= limit) return { kind: 'over', retryAfterSeconds: WAIT_SECONDS };
  await store.write({
    kind: 'put',
    table: 'registry',
    item: { ...key, until, ttl: Math.ceil(until / 1000) + 300 },
  });
  return {
    async close() {
      await store.write({ kind: 'delete', table: 'registry', key }).catch(() => {});
    },
  };
}
