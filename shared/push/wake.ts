import type { OutboxMessage, OutboxServices } from './services.ts';

/** What a worker does next. `due`: nothing is to be done before; else somebody else may be done by then. */
export type Next = 'again' | 'rest' | { readonly wakeAt: number; readonly due?: true };

/** Queue delays end at 15 minutes; who wakes early reads the due time and waits again. */
const LONGEST_DELAY_SECONDS = 900;

/**
 * Has a message come back at `wakeAt`. One that waits for a due time carries it: of all the messages that find their
 * config waiting only that one waits on, the others would only multiply. If it is lost, the due index wakes.
 */
export function wake(
  services: Pick<OutboxServices, 'outboxQueue' | 'clock'>,
  message: OutboxMessage,
  { wakeAt, due }: { readonly wakeAt: number; readonly due?: true },
): Promise<void> {
  const { task, config, retry } = message;
  const seconds = Math.ceil((wakeAt - services.clock.now()) / 1000);
  return services.outboxQueue.send(
    { task, config, ...(retry ? { retry } : {}), ...(due ? { due: wakeAt } : {}) },
    Math.min(LONGEST_DELAY_SECONDS, Math.max(0, seconds)),
  );
}

/** For a message that finds what it is about waiting for a due time. */
export function waitFor(message: OutboxMessage, notBefore: number): Next {
  return message.due === notBefore ? { wakeAt: notBefore, due: true } : 'rest';
}
