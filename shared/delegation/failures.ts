import type { CallFailure } from '../client/index.ts';
import { REFUSED, TOO_LARGE, UNCALLED, UNREADABLE } from './endings.ts';
import type { Resolution } from './resolve.ts';

/** Whether the same call may come to something later. */
export function isPassing(failure: CallFailure): boolean {
  switch (failure.kind) {
    case 'remote-error':
    case 'unsupported':
    case 'transport-error':
    case 'outcome-unknown':
      return failure.retryable;
    case 'protocol-error':
      return false;
  }
}

export function retryAfterOf(failure: CallFailure): number {
  return 'retryAfterMs' in failure ? (failure.retryAfterMs ?? 0) : 0;
}

/** Whether the answer is larger than any that is read: so it will be each time. */
export function isTooLarge(failure: CallFailure): boolean {
  return (
    'failure' in failure && failure.failure.kind === 'response-too-large' && failure.failure.part === 'body'
  );
}

/** The end of a step whose message came to nothing for good; the agent may have run where it answered strangely. */
export function endingOf(failure: CallFailure): Resolution {
  switch (failure.kind) {
    case 'remote-error':
    case 'unsupported':
      return REFUSED;
    case 'protocol-error':
      return UNREADABLE;
    case 'transport-error':
    case 'outcome-unknown':
      if (isTooLarge(failure)) return TOO_LARGE;
      if (failure.kind === 'outcome-unknown') return UNREADABLE;
      return failure.status === undefined ? UNCALLED : REFUSED;
  }
}
