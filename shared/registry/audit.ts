import type { Clock, Random } from '../runtime/ports.ts';
import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';

/** Who did what, as the audit keeps it. */
export interface Deed {
  /** The ARN of the administrator, what the local host calls its own, or `GATEWAY_ACTOR`. */
  readonly actor: string;
  /** The operation's name, `client.add` say. */
  readonly operation: string;
}

/** What a deed was done to, and facts about it: names from fixed sets, ids and numbers; no value, no content (P10). */
export interface AuditFacts {
  readonly kind: string;
  readonly id: string;
  readonly [name: string]: string | number | readonly string[];
}

/** Who did what nobody asked for: pausing a webhook, refusing an address. No principal of IAM is called so. */
export const GATEWAY_ACTOR = 'gateway';

/**
 * An audit entry as an action of the transaction that does the deed, so that neither is ever without the other. Its
 * writer needs no more than leave to put items into the audit's partitions.
 */
export function auditEntry(
  { clock, random }: { readonly clock: Pick<Clock, 'now'>; readonly random: Pick<Random, 'uuid'> },
  deed: Deed,
  facts: AuditFacts,
): Extract<Action, { kind: 'put' }> {
  const at = clock.now();
  return putOnce(at, random.uuid(), deed, facts);
}

/**
 * The same for what a remote party can make happen as often as it likes: the first of a minute is kept, further ones with
 * the same facts are refused by the store, and the audit cannot be filled.
 */
export function auditEntryOfMinute(
  { clock }: { readonly clock: Pick<Clock, 'now'> },
  deed: Deed,
  facts: AuditFacts,
): Extract<Action, { kind: 'put' }> {
  const minute = Math.floor(clock.now() / 60_000) * 60_000;
  return putOnce(minute, [deed.operation, ...Object.values(facts).flat()].join('#'), deed, facts);
}

function putOnce(at: number, id: string, deed: Deed, facts: AuditFacts): Extract<Action, { kind: 'put' }> {
  return {
    kind: 'put',
    table: 'registry',
    item: { ...keys.audit(at, id), v: 1, at, actor: deed.actor, operation: deed.operation, ...facts },
    when: [{ attribute: 'pk', is: 'absent' }],
  };
}
