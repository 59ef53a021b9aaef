import { advance } from './advance.ts';
import type { InboxMessage, ReconcilerServices } from './services.ts';

/** Steps that one message may take at once: send, apply, and on. */
const MAX_STEPS = 8;
/** As long as a queue keeps a message back, seconds. */
const LONGEST_WAIT_SECONDS = 900;

/**
 * Takes one message of the inbox queue to its end (design §8): moves the dependency on as long as there is something to
 * do now, then sends the message for what comes later. That one may be lost: the due index has the same time. Rejects
 * when the store fails; the message is then delivered again.
 */
export async function takeMessage(services: ReconcilerServices, message: InboxMessage): Promise<void> {
  for (let steps = 1; ; steps++) {
    const wakeAt = await advance(services, message);
    if (wakeAt === undefined) return;
    const wait = wakeAt - services.clock.now();
    if (wait <= 0 && steps < MAX_STEPS) continue;
    const seconds = Math.min(LONGEST_WAIT_SECONDS, Math.max(1, Math.ceil(wait / 1000)));
    return services.inboxQueue.send(message, seconds);
  }
}
