import * as z from 'zod';
import { auditEntry, type Deed, line } from '../registry/index.ts';
import type { Action } from '../storage/port.ts';
import { done, failed, notFound, type OperationParts, type Operations, operation } from './operation.ts';

/** The entry for the draft's revision that was decided on. */
type AuditOf = (revision: number) => Action;
type Decided = 'decided' | 'not-waiting' | 'stale';

/**
 * What a person may do with results that wait for approval (design §7); `shared/ceilings` implements it. Only `show`
 * answers content: the draft, for this one reader. `audit` is part of the transaction that does the deed.
 */
export interface ApprovalOperations {
  list(): Promise<readonly object[]>;
  show(task: string): Promise<object | undefined>;
  approve(task: string, revision: number | undefined, audit: AuditOf): Promise<Decided>;
  reject(task: string, revision: number | undefined, audit: AuditOf): Promise<Decided>;
}

const task = z.string().min(1).max(128);
const aTask = z.strictObject({ task });
const aDecision = z.strictObject({
  task,
  /** The draft's revision, as `approval show` answers it; absent: whichever waits. */
  revision: z.exactOptional(z.int().min(1).max(99_999_999)),
  reason: line(500),
});

export function approvalOperations(parts: OperationParts): Operations {
  const { approvals } = parts;
  const decide = (verb: 'approve' | 'reject') =>
    operation(aDecision, async ({ task: id, revision, reason }, deed: Deed) => {
      const audit: AuditOf = (draft) =>
        auditEntry(parts, deed, { kind: 'task', id, reason, revision: draft });
      const decided = await approvals[verb](id, revision, audit);
      switch (decided) {
        case 'decided':
          return done({ task: id, decision: verb === 'approve' ? 'approved' : 'rejected' });
        case 'not-waiting':
          return failed({
            kind: 'refused',
            field: 'task',
            message: 'task: no result of it waits for approval',
          });
        case 'stale':
          return failed({
            kind: 'refused',
            field: 'revision',
            message: 'revision: another draft waits; look at it with approval show',
          });
      }
    });
  return {
    'approval.list': operation(z.strictObject({}), async () => done({ approvals: await approvals.list() })),
    'approval.show': operation(aTask, async ({ task: id }, deed) => {
      await parts.editor.record(deed, { kind: 'task', id });
      const shown = await approvals.show(id);
      return shown ? done(shown) : failed(notFound('approval', id));
    }),
    'approval.approve': decide('approve'),
    'approval.reject': decide('reject'),
  };
}
