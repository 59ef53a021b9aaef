import * as z from 'zod';
import { readRecord, whole } from '../registry/index.ts';
import { ADMIN_CLIENT } from '../runs/started.ts';
import { type WalkCursor, walkCursor } from './ceilings.ts';
import {
  anId,
  done,
  failed,
  notFound,
  type OperationParts,
  type Operations,
  operation,
} from './operation.ts';

/** Takes tasks away for good (design §7, P12), a part of those that are meant; `shared/retention` implements it. */
export type PurgeOperation = (
  selection: {
    readonly task?: string | undefined;
    readonly client?: string | undefined;
    readonly before?: number | undefined;
  },
  cursor: WalkCursor | undefined,
  dryRun: boolean,
) => Promise<{ readonly looked: number; readonly purged: number; readonly next?: WalkCursor }>;

const DAY_MS = 86_400_000;

const selection = z
  .strictObject({
    id: z.exactOptional(z.string().min(1).max(128)),
    client: z.exactOptional(anId),
    olderThanDays: z.exactOptional(whole(1, 36_500)),
    dryRun: z.boolean().default(false),
    cursor: z.exactOptional(walkCursor),
  })
  .refine(({ id, client, olderThanDays }) => [id, client, olderThanDays].some((one) => one !== undefined), {
    path: ['id'],
    error: 'must be there, or client, or olderThanDays: which tasks are meant',
  });

export function purgeOperations({ purge, editor, clock, store }: OperationParts): Operations {
  return {
    /** All that is named must hold. Whoever gets a `next` goes on with it as the cursor; `purged` counts this part. */
    'task.purge': operation(selection, async ({ id, client, olderThanDays, dryRun, cursor }, deed) => {
      const facts = {
        ...(client === undefined ? {} : { client }),
        ...(olderThanDays === undefined ? {} : { olderThanDays }),
      };
      // The client of administrators' runs is none of those that are registered.
      if (client !== undefined && client !== ADMIN_CLIENT && !(await readRecord(store, 'client', client)))
        return failed(notFound('client', client));
      if (!dryRun) await editor.record(deed, { kind: 'task', id: id ?? '*', ...facts });
      const before = olderThanDays === undefined ? undefined : clock.now() - olderThanDays * DAY_MS;
      const purged = await purge({ task: id, client, before }, cursor, dryRun);
      if (id !== undefined && purged.looked === 0) return failed(notFound('task', id));
      return done({ ...purged, dryRun });
    }),
  };
}
