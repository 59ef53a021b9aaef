import type { IncomingHttpHeaders } from 'node:http';
import type { SecureContext } from 'node:tls';
import type { Cutoff } from './cutoff.ts';
import { type Failure, failureOf, type Phase } from './outcome.ts';
import { destroyAgent, type PinnedTarget, type Progress, pinnedAgent } from './pinned.ts';
import { request } from './undici.ts';

/** What is sent. Headers are checked, the URL and its addresses vetted, before it comes here. */
export interface Message {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

/** An exchange whose answer has begun. */
export interface OpenExchange {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** Names an error that reading `body` threw. */
  failure(error: unknown): Failure;
  /** Drops the connection. Safe to call twice. */
  close(): void;
}

/**
 * Rule 5 of the address guard: sends one message over one pinned connection and returns once the answer's headers are
 * there. Follows no redirect and decompresses nothing. When `limit` fires, the connection is dropped, in any phase.
 */
export async function openExchange(
  message: Message,
  target: PinnedTarget,
  secureContext: SecureContext,
  limit: Cutoff,
): Promise<OpenExchange | Failure> {
  const progress: Progress = { phase: 'connect' };
  const agent = pinnedAgent(target, secureContext, progress);
  const close = () => {
    limit.release();
    destroyAgent(agent, progress);
  };
  const failure = (error: unknown): Failure =>
    endedBy(limit, progress.phase) ?? failureOf(error, progress.phase);
  limit.signal.addEventListener('abort', close, { once: true });
  try {
    const answer = await request(agent, message.url, {
      body: message.body ?? null,
      headers: { ...message.headers },
      method: message.method,
      signal: limit.signal,
    });
    progress.phase = 'answer';
    // A body that nobody reads any more must not throw out of nowhere.
    answer.body.on('error', () => {});
    const headers = joinHeaders(answer.headers);
    return { status: answer.statusCode, headers, body: answer.body, failure, close };
  } catch (error) {
    close();
    return failure(error);
  }
}

/** What the cutoff says about an exchange that ended early, if it was the cutoff that ended it. */
export function endedBy(limit: Cutoff, phase: Phase): Failure | undefined {
  const cause = limit.cause();
  if (cause === undefined) return undefined;
  return cause === 'timeout' ? { kind: 'timeout', phase } : { kind: 'aborted' };
}

function joinHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const joined = Object.entries(headers).map(([name, value]) => [name, [value ?? []].flat().join(', ')]);
  return Object.fromEntries(joined);
}
