import { isTerminal } from '../protocol/index.ts';
import { commit } from './commit.ts';
import type { Head } from './formats.ts';
import { readHead } from './read-head.ts';
import type { StateServices } from './services.ts';

export type Canceled =
  | { readonly kind: 'canceled'; readonly head: Head }
  | { readonly kind: 'terminal' }
  | { readonly kind: 'unknown' };

/** How often a cancellation that lost a race reads the head anew. Each loss means the task moved on. */
const TRIES = 8;

/**
 * Ends a task as CANCELED, whatever its executor does: it loses its lease with the same write (P5). Of two racing
 * endings one is committed; the other is told what stands. Only the client that owns the task may (P11).
 */
export async function cancelTask(services: StateServices, client: string, task: string): Promise<Canceled> {
  let head = await readHead(services, task);
  for (let tries = 0; tries < TRIES; tries++) {
    if (!head || head.client !== client) return { kind: 'unknown' };
    if (isTerminal(head.state)) return { kind: 'terminal' };
    const committed = await commit(services, head, { state: 'TASK_STATE_CANCELED', run: 'ended' });
    if (committed.kind === 'committed') return { kind: 'canceled', head: committed.head };
    head = committed.head ?? (await readHead(services, task));
  }
  throw new Error('the task changed too often to be canceled');
}
