import * as z from 'zod';
import type { OutboxMessage } from './services.ts';

const id = z.string().min(1).max(300);
const schema = z.object({
  task: id,
  config: id,
  retry: z.exactOptional(z.object({ id, revision: z.int().min(1) })),
  due: z.exactOptional(z.number()),
});

/** Reads the body of an outbox queue message; `undefined` for one that is none of ours. */
export function outboxMessageOf(body: unknown): OutboxMessage | undefined {
  return schema.safeParse(body).data;
}
