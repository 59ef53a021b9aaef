import type { A2AFailure } from '../protocol/index.ts';
import { nameOf } from '../runs/recover.ts';
import type { StateServices } from '../tasks/services.ts';

/** What passes by itself: the caller may simply try again. */
const PASSING = new Set(['StoreUnavailable', 'KeyUnavailable', 'SigningUnavailable', 'RedactionUnavailable']);

/**
 * What an unexpected error is to a caller: a correlation id and nothing else (P10). The log gets the error's class and
 * where it was thrown; its text may hold what must not be there.
 */
export function faultOf(services: StateServices, error: unknown): A2AFailure {
  const correlationId = services.random.uuid();
  const tag = (error as { tag?: unknown } | null)?.tag;
  services.log.error('a request failed', {
    correlationId,
    error: nameOf(error),
    at: framesOf(error),
  });
  services.metrics.count('RequestFault');
  if (typeof tag === 'string' && PASSING.has(tag)) return { kind: 'unavailable', retryAfterSeconds: 1 };
  return { kind: 'internal', correlationId };
}

/** Stack frames without the message line. */
function framesOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  return frames
    .slice(0, 8)
    .map((line) => line.trim())
    .join(' < ');
}
