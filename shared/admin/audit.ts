import * as z from 'zod';
import { keys } from '../storage/keys.ts';
import { done, type OperationParts, type Operations, operation } from './operation.ts';

/** Where an earlier page ended: what its answer called `next`. */
const cursor = z.record(z.string(), z.string().max(2_000));

const listing = z.strictObject({
  /** Its entries lie in a partition of their own. Absent: this month, UTC. */
  month: z.exactOptional(
    z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, { error: 'must be a month such as 2026-11' }),
  ),
  limit: z.int().min(1).max(200).default(50),
  cursor: z.exactOptional(cursor),
});

/** What was done, newest first: ids, names of fields and times, no value and no content (P10). */
export function auditOperations({ store, clock }: OperationParts): Operations {
  return {
    'audit.list': operation(listing, async ({ month, limit, cursor: after }) => {
      const at = month === undefined ? clock.now() : Date.parse(`${month}-01T00:00:00Z`);
      const page = await store.query({
        table: 'registry',
        partition: keys.audit(at, '').pk,
        descending: true,
        consistent: true,
        limit,
        ...(after ? { after } : {}),
      });
      const entries = page.items.map(({ pk: _, sk: __, v: ___, at: when, ...facts }) => ({
        at: new Date(Number(when)).toISOString(),
        ...facts,
      }));
      return done({ entries, ...(page.next ? { next: page.next } : {}) });
    }),
  };
}
