import { createHash, timingSafeEqual } from 'node:crypto';
import { nameOf } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import { MAX_SIGNALS, type Registration, registrationOf } from './formats.ts';
import type { InboxServices } from './services.ts';
import { hashCredential } from './suspend.ts';

/** Bytes of a callback's body. */
export const MAX_CALLBACK_BYTES = 256 * 1024;
/** Compared with where there is no registration; nothing is known to hash to it. */
const NO_HASH = '-'.repeat(43);
const ID = /^[A-Za-z0-9_-]{24}$/;

export type CallbackAnswer =
  /** Stored, or of no consequence any more. */
  | { readonly status: 200 }
  /** Wrong credential or unknown registration: the same answer, nothing stored. */
  | { readonly status: 401 }
  | { readonly status: 413 }
  | { readonly status: 429; readonly retryAfterSeconds: number };

/**
 * A call of a remote agent (design §8, P8). With the right credential any body is a signal: counted in one conditional
 * write, within its bound, before 2xx. The body decides nothing: what it claims is kept as a digest and for the log. No
 * version, content type or other header is asked for; a notification token neither lets in nor keeps out.
 */
export async function acceptCallback(
  services: InboxServices,
  id: string,
  authorization: string | undefined,
  body: Uint8Array,
): Promise<CallbackAnswer> {
  const item = ID.test(id)
    ? await services.store.get('delegation', keys.registration(id), { consistent: true })
    : undefined;
  const registration = item && registrationOf(item);
  if (!matches(authorization, registration?.hash) || !registration) return { status: 401 };
  if (body.length > MAX_CALLBACK_BYTES) return { status: 413 };
  if (registration.state === 'ended') return { status: 200 };
  const stored = await storeSignal(services, registration, body);
  if (stored === 'full') {
    services.metrics.count('CallbackRefused');
    return { status: 429, retryAfterSeconds: 5 };
  }
  if (stored === 'stored') await wake(services, registration);
  services.metrics.count('CallbackAccepted');
  return { status: 200 };
}

async function storeSignal(
  services: InboxServices,
  registration: Registration,
  body: Uint8Array,
): Promise<'stored' | 'full' | 'ended'> {
  const claim = claimOf(body);
  const outcome = await services.store.write({
    kind: 'update',
    table: 'delegation',
    key: keys.registration(registration.id),
    changes: {
      add: { signals: 1 },
      set: {
        digest: createHash('sha256').update(body).digest('base64url'),
        claimedTask: claim.task,
        claimedKind: claim.kind,
        lastAt: services.clock.now(),
      },
    },
    when: [
      { attribute: 'state', is: '=', value: 'open' },
      { attribute: 'signals', is: '<', value: MAX_SIGNALS },
    ],
  });
  if (outcome.kind === 'done') {
    // Of one registration: its maximum says how near any is to its bound.
    services.metrics.count('SignalsWaiting', Number(outcome.item?.['signals'] ?? 1));
    return 'stored';
  }
  return outcome.items[0]?.['state'] === 'ended' ? 'ended' : 'full';
}

/** Best effort: the due index polls what is not woken. */
async function wake(services: InboxServices, { task, dependency }: Registration): Promise<void> {
  try {
    await services.inboxQueue.send({ task, dependency });
  } catch (error) {
    services.log.warn('a callback is left to the poll', { task, dependency, error: nameOf(error) });
  }
}

function matches(authorization: string | undefined, hash: string | undefined): boolean {
  const credential = /^bearer +([^ ]{1,200}) *$/i.exec(authorization ?? '')?.[1] ?? '';
  const presented = Buffer.from(hashCredential(credential));
  const equal = timingSafeEqual(presented, Buffer.from(hash ?? NO_HASH));
  return equal && credential !== '' && hash !== undefined;
}

/** What a body says of itself: a task id and which kind of event it is. Bounded, never trusted. */
function claimOf(body: Uint8Array): { readonly task?: string; readonly kind?: string } {
  try {
    const value = JSON.parse(Buffer.from(body).toString('utf8')) as Record<string, Record<string, unknown>>;
    const kind = ['task', 'message', 'statusUpdate', 'artifactUpdate'].find((name) => name in value);
    const event = kind === undefined ? undefined : value[kind];
    const task = kind === 'task' ? event?.['id'] : event?.['taskId'];
    return {
      ...(kind === undefined ? {} : { kind }),
      // Half of a surrogate pair is JSON, and no text that a store takes.
      ...(typeof task === 'string' && task.length <= 256 && task.isWellFormed() ? { task } : {}),
    };
  } catch {
    return {};
  }
}
