import type { OutboxMessage } from './services.ts';

/** Reads the body of an outbox queue message; `undefined` for one that is none of ours. */
export function outboxMessageOf(body: unknown): OutboxMessage | undefined {
  const { task, config } = (body ?? {}) as Partial<OutboxMessage>;
  return typeof task === 'string' && typeof config === 'string' ? (body as OutboxMessage) : undefined;
}
