import type { InboxMessage } from './services.ts';

/** Reads the body of an inbox queue message; `undefined` for one that is none of ours. */
export function inboxMessageOf(body: unknown): InboxMessage | undefined {
  const { task, dependency } = (body ?? {}) as Partial<InboxMessage>;
  return typeof task === 'string' && typeof dependency === 'string' ? { task, dependency } : undefined;
}
