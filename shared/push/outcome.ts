import type { Outcome } from '../guard/index.ts';
import { type HaltReason, MAX_ATTEMPTS } from './formats.ts';

/** What an attempt means for the event and its config. */
export type Verdict =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly retryAfterMs?: number }
  | { readonly kind: 'pause'; readonly reason: HaltReason }
  | { readonly kind: 'stop'; readonly reason: HaltReason }
  /** Not retried; the event is given up. */
  | { readonly kind: 'failed' };

/** A receiver may ask for at most this much patience, ms. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * The outcome table of design §6. Pure. What came back and is no HTTP answer, or has more than 16 KiB of headers, counts
 * as any other answer that is not a 2xx: something answered, and it would answer so again.
 */
export function judge(outcome: Outcome, now: number): Verdict {
  switch (outcome.kind) {
    case 'response':
      return judgeStatus(outcome.status, outcome.headers['retry-after'], now);
    case 'refused':
      return { kind: 'stop', reason: 'address_refused' };
    case 'timeout':
    case 'connect-failure':
    case 'reset':
    case 'tls-failure':
    case 'dns-failure':
    // Nobody aborts an attempt; if somebody did, it would be one whose end is unknown.
    case 'aborted':
      return { kind: 'retry' };
    case 'response-too-large':
    case 'malformed-response':
      return { kind: 'failed' };
  }
}

function judgeStatus(status: number, retryAfter: string | undefined, now: number): Verdict {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  switch (status) {
    case 429:
    case 502:
    case 503:
    case 504: {
      const retryAfterMs = retryAfterOf(retryAfter, now);
      return { kind: 'retry', ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    }
    case 401:
    case 403:
      return { kind: 'pause', reason: 'authentication_failed' };
    case 404:
    case 410:
      return { kind: 'stop', reason: 'gone' };
    default:
      return { kind: 'failed' };
  }
}

/** Of RFC 9110; what `Date.parse` makes of other texts, `-5` and `4, 4` among them, is anybody's guess. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

/** Seconds or an HTTP date; `undefined` where it is neither. Between 0 and ten minutes. */
export function retryAfterOf(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d+$/.test(text)) return Math.min(MAX_RETRY_AFTER_MS, Number(text) * 1000);
  const at = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(0, at - now));
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Before attempt 2, 3, … 8; the first is at once. */
const BACKOFF = [10 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR];

/** How long to wait after `attempts` attempts: full jitter over the step, and no less than the receiver asked for. */
export function backoffMs(attempts: number, fraction: number, retryAfterMs = 0): number {
  const step = BACKOFF[Math.min(attempts, MAX_ATTEMPTS - 1) - 1] ?? 0;
  return Math.max(Math.floor(fraction * step), retryAfterMs);
}

/** The class of an outcome for the attempt log and metrics: from a fixed set. */
export function classOf(outcome: Outcome): { readonly class: string; readonly status?: number } {
  if (outcome.kind === 'response')
    return { class: `${Math.floor(outcome.status / 100)}xx`, status: outcome.status };
  return { class: outcome.kind };
}
