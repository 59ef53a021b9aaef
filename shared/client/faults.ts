import type { Failure } from '../guard/index.ts';
import type { Method } from '../protocol/index.ts';
import type { OutcomeUnknown, TransportError, TransportFault } from './outcomes.ts';

const METHODS_WITH_EFFECTS: ReadonlySet<Method> = new Set([
  'SendMessage',
  'SendStreamingMessage',
  'CancelTask',
  'CreateTaskPushNotificationConfig',
  'DeleteTaskPushNotificationConfig',
]);

export function hasEffects(method: Method): boolean {
  return METHODS_WITH_EFFECTS.has(method);
}

/**
 * What a call came to that got no answer. A method with effects whose request may have been sent is never called failed:
 * it may have been carried out (design §8).
 */
export function withoutAnswer(method: Method, failure: TransportFault): TransportError | OutcomeUnknown {
  return hasEffects(method) && mayHaveBeenSent(failure)
    ? { kind: 'outcome-unknown', failure, retryable: mayPass(failure) }
    : transportError(failure);
}

/** The same for a call that has no effects, or that never left. */
export function transportError(failure: TransportFault): TransportError {
  return {
    kind: 'transport-error',
    failure,
    ...(failure.kind === 'redirect' && { status: failure.status }),
    retryable: mayPass(failure),
    mayHaveActed: false,
  };
}

/** Whether the peer may have got the request and acted on it. `aborted` names no phase, so it may. */
export function mayHaveBeenSent(failure: TransportFault): boolean {
  switch (failure.kind) {
    case 'refused':
    case 'dns-failure':
    case 'connect-failure':
    case 'tls-failure':
    case 'redirect':
      return false;
    case 'reset':
      return failure.phase !== 'tls';
    case 'timeout':
      return failure.phase === 'exchange' || failure.phase === 'answer';
    case 'aborted':
    case 'response-too-large':
    case 'malformed-response':
    case 'status':
    case 'ended':
    case 'stream-limit':
      return true;
  }
}

/** Whether the same request may meet another end. A status decides for itself, see {@link isPassingStatus}. */
export function mayPass(failure: TransportFault): boolean {
  const passing: ReadonlyArray<Failure['kind'] | 'ended'> = [
    'dns-failure',
    'connect-failure',
    'tls-failure',
    'reset',
    'timeout',
    'ended',
  ];
  return passing.some((kind) => kind === failure.kind);
}

/** Statuses with which a service says that it is busy, or that who stands before it could not reach it. */
export function isPassingStatus(status: number): boolean {
  return [408, 425, 429, 500, 502, 503, 504].includes(status);
}

const LONGEST_RETRY_AFTER_MS = 3_600_000;

/** `Retry-After` in milliseconds from `now` (epoch ms): seconds or a date; undefined when it is neither. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), LONGEST_RETRY_AFTER_MS);
}
