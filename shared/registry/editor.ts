import { isDeepStrictEqual } from 'node:util';
import type { Clock, Random } from '../runtime/ports.ts';
import type { Action, Condition, Store } from '../storage/port.ts';
import { type AuditFacts, auditEntry, type Deed } from './audit.ts';
import { type Edition, type RecordKind, type Records, recordKey, toItem } from './records.ts';
import { readRecord } from './registry.ts';

/** What a change makes of the record as it stands; it is asked again whenever another edit came first. */
export type Decision<T, F> =
  /** `with`: what is to be written in the same transaction. */
  | { readonly kind: 'save'; readonly value: T; readonly with?: readonly Action[] }
  | { readonly kind: 'refuse'; readonly failure: F };

export type Edit<T, F> =
  | ({ readonly kind: 'saved' | 'unchanged'; readonly changed: readonly string[] } & Edition<T>)
  | { readonly kind: 'refused'; readonly failure: F }
  /** Too many edits of the same record at once; nothing was written. */
  | { readonly kind: 'conflict' };

export type Removal<F> =
  | { readonly kind: 'removed' }
  | { readonly kind: 'refused'; readonly failure: F }
  | { readonly kind: 'conflict' };

/**
 * Changes the registry (design §2). Every saved change is one transaction with one audit entry, which names the fields
 * that changed and no value (P10). A change is conditioned on the edition that it was decided on, so concurrent edits
 * never lose one another. Rejects with `StoreUnavailable` when it is unknown whether the change was made.
 */
export interface RegistryEditor {
  edit<K extends RecordKind, F>(
    kind: K,
    id: string,
    deed: Deed,
    change: (
      current: Edition<Records[K]> | undefined,
    ) => Promise<Decision<Records[K], F>> | Decision<Records[K], F>,
  ): Promise<Edit<Records[K], F>>;
  /** Takes a record away, on the same terms; `check` is asked again whenever another edit came first. */
  remove<K extends RecordKind, F>(
    kind: K,
    id: string,
    deed: Deed,
    check: (current: Edition<Records[K]> | undefined) => Promise<F | undefined> | F | undefined,
  ): Promise<Removal<F>>;
  /** An audit entry for a deed that changes no record of the registry; to be written before the deed is done. */
  record(deed: Deed, facts: AuditFacts): Promise<void>;
}

export interface EditorParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

const ATTEMPTS = 12;
const BACKOFF_MS = 25;
const ABSENT: readonly Condition[] = [{ attribute: 'pk', is: 'absent' }];

export function createRegistryEditor(parts: EditorParts): RegistryEditor {
  const { store, clock, random } = parts;

  return {
    async edit(kind, id, deed, change) {
      const key = recordKey(kind, id);
      if (!key) throw new RangeError(`no ${kind} can have this id`);
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const current = await readRecord(store, kind, id);
        const decision = await change(current);
        if (decision.kind === 'refuse') return { kind: 'refused', failure: decision.failure };
        const changed = changedFields(current?.value, decision.value);
        if (current && changed.length === 0) return { kind: 'unchanged', changed, ...current };

        const next = { value: decision.value, edition: (current?.edition ?? 0) + 1 };
        const save: Action = {
          kind: 'put',
          table: 'registry',
          item: toItem(key, next),
          when: current ? [{ attribute: 'edition', is: '=', value: current.edition }] : ABSENT,
        };
        const audit = auditEntry(parts, deed, { kind, id: key.sk, changed, edition: next.edition });
        const outcome = await store.transact([save, audit, ...(decision.with ?? [])], random.uuid());
        if (outcome.kind === 'done') return { kind: 'saved', changed, ...next };
        await clock.sleep(random.fraction() * BACKOFF_MS * attempt);
      }
      return { kind: 'conflict' };
    },

    async remove(kind, id, deed, check) {
      const key = recordKey(kind, id);
      if (!key) throw new RangeError(`no ${kind} can have this id`);
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const current = await readRecord(store, kind, id);
        const failure = await check(current);
        if (failure !== undefined) return { kind: 'refused', failure };
        // Nobody has to take away what is not there.
        if (!current) return { kind: 'removed' };
        const remove: Action = {
          kind: 'delete',
          table: 'registry',
          key,
          when: [{ attribute: 'edition', is: '=', value: current.edition }],
        };
        const audit = auditEntry(parts, deed, { kind, id: key.sk, edition: current.edition });
        const outcome = await store.transact([remove, audit], random.uuid());
        if (outcome.kind === 'done') return { kind: 'removed' };
        await clock.sleep(random.fraction() * BACKOFF_MS * attempt);
      }
      return { kind: 'conflict' };
    },

    async record(deed, facts) {
      await store.write(auditEntry(parts, deed, facts));
    },
  };
}

/** Names only: what the audit may tell (P10). */
function changedFields(before: object | undefined, after: object): string[] {
  const was = new Map<string, unknown>(Object.entries(before ?? {}));
  const is = new Map<string, unknown>(Object.entries(after));
  const names = new Set([...was.keys(), ...is.keys()]);
  return [...names].filter((name) => !isDeepStrictEqual(was.get(name), is.get(name))).sort();
}
