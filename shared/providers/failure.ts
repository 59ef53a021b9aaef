import type { FailedResult, FailureReason } from './types.ts';

/** Whether a failure of this class may pass by itself; a provider's own declaration and an empty model answer say otherwise. */
const PASSING: Readonly<Record<FailureReason, boolean>> = {
  timeout: true,
  unavailable: true,
  throttled: true,
  refused: false,
  'invalid-answer': false,
  declared: false,
  aborted: true,
  configuration: false,
};

/** A failure with the default answer to "may another attempt succeed?" of its class. Carries no text of a provider (P10). */
export function failed(
  reason: FailureReason,
  more: Partial<Omit<FailedResult, 'kind' | 'reason'>> = {},
): FailedResult {
  return { kind: 'failed', reason, retryable: PASSING[reason], ...more };
}

/** The class of an HTTP status that a provider's service answered, 400 and above. */
export function reasonOfStatus(status: number): FailureReason {
  if (status === 429) return 'throttled';
  if (status === 408) return 'timeout';
  if (status >= 500 || [409, 423, 424, 425].includes(status)) return 'unavailable';
  if ([400, 413, 415, 422, 451].includes(status)) return 'refused';
  return 'configuration';
}
