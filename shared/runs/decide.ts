import type { Head, Reason } from '../tasks/formats.ts';

/** What a run needs next, decided from its head alone. Pure. */
export type Need =
  /** An executor is at it (until then), its client or a person must answer (by then), or it is kept (until then). */
  | { readonly kind: 'wait'; readonly until: number }
  /** An executor. */
  | { readonly kind: 'execute' }
  | { readonly kind: 'end'; readonly reason: Reason }
  /** It was kept as long as its profile says (design §7). */
  | { readonly kind: 'purge' };

/**
 * The ending of each kind of run (design §4, time; §5, execute; P6). A run ends only when it is runnable (its lease, if
 * any, is dead) and its attempts are spent or its deadline passed.
 */
export function needOf(head: Head, now: number): Need {
  const late = head.deadline !== undefined && now >= head.deadline;
  const kept = head.statusAt + head.keepSeconds * 1000;
  switch (head.run) {
    case 'ended':
      return now >= kept ? { kind: 'purge' } : { kind: 'wait', until: kept };
    case 'suspended':
      if (now >= kept) return { kind: 'purge' };
      if (late) return { kind: 'end', reason: lateReason(head) };
      return { kind: 'wait', until: Math.min(kept, head.deadline ?? kept) };
    case 'running':
      if (head.lease && now < head.lease.until) return { kind: 'wait', until: head.lease.until };
      return runnable(head, late);
    case 'queued':
      return runnable(head, late);
  }
}

/**
 * A run that waits for remote agents has each of its dependencies' own deadlines before this one, unless one of them asks
 * and our client is waited for.
 */
function lateReason(head: Head): Reason {
  if (head.approval) return 'APPROVAL_EXPIRED';
  return head.state === 'TASK_STATE_WORKING' ? 'DEADLINE_EXCEEDED' : 'INPUT_EXPIRED';
}

function runnable(head: Head, late: boolean): Need {
  if (late) return { kind: 'end', reason: 'DEADLINE_EXCEEDED' };
  if (head.attempts >= head.maxAttempts) return { kind: 'end', reason: 'EXECUTION_FAILED' };
  return { kind: 'execute' };
}
