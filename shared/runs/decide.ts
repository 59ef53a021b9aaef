import type { Head, Reason } from '../tasks/formats.ts';

/** What a run needs next, decided from its head alone. Pure. */
export type Need =
  /** Nothing: it ended. */
  | { readonly kind: 'nothing' }
  /** An executor is at it (until then), or its client must answer (by then). */
  | { readonly kind: 'wait'; readonly until: number }
  /** An executor. */
  | { readonly kind: 'execute' }
  | { readonly kind: 'end'; readonly reason: Reason };

/**
 * The ending of each kind of run (design §4, time; §5, execute; P6). A run ends only when it is runnable (its lease, if
 * any, is dead) and its attempts are spent or its deadline passed.
 */
export function needOf(head: Head, now: number): Need {
  const late = head.deadline !== undefined && now >= head.deadline;
  switch (head.run) {
    case 'ended':
      return { kind: 'nothing' };
    case 'suspended':
      if (late) return { kind: 'end', reason: head.approval ? 'APPROVAL_EXPIRED' : 'INPUT_EXPIRED' };
      return { kind: 'wait', until: head.deadline ?? now };
    case 'running':
      if (head.lease && now < head.lease.until) return { kind: 'wait', until: head.lease.until };
      return runnable(head, late);
    case 'queued':
      return runnable(head, late);
  }
}

function runnable(head: Head, late: boolean): Need {
  if (late) return { kind: 'end', reason: 'DEADLINE_EXCEEDED' };
  if (head.attempts >= head.maxAttempts) return { kind: 'end', reason: 'EXECUTION_FAILED' };
  return { kind: 'execute' };
}
