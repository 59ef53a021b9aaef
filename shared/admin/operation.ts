import * as z from 'zod';
import type { SecretBox } from '../registry/index.ts';
import { check, type Deed, type Edit, type RegistryEditor, recordKey } from '../registry/index.ts';
import type { Clock, Log, Random } from '../runtime/ports.ts';
import type { Store } from '../storage/port.ts';
import type { AgentOperations } from './agents.ts';
import type { ApprovalOperations } from './approvals.ts';
import type { CeilingOperations } from './ceilings.ts';
import type { DependencyOperations } from './dependencies.ts';
import type { AdminFailure, Subject } from './failures.ts';
import type { PurgeOperation } from './purges.ts';
import type { PushOperations } from './push.ts';
import type { RunOperations } from './runs.ts';
import type { TaskOperations } from './tasks.ts';

export type AdminAnswer =
  /** `result` is plain JSON; times are ISO 8601, secrets `***`. */
  | { readonly kind: 'done'; readonly result: object }
  | { readonly kind: 'failed'; readonly failure: AdminFailure };

export interface AdminParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly secrets: SecretBox;
  readonly tasks: TaskOperations;
  readonly push: PushOperations;
  readonly ceilings: CeilingOperations;
  readonly approvals: ApprovalOperations;
  readonly purge: PurgeOperation;
  /** Seals what remote agents are called with. */
  readonly agentSecrets: SecretBox;
  readonly agents: AgentOperations;
  readonly dependencies: DependencyOperations;
  readonly runs: RunOperations;
  /** Whether remote agents can be called here at all. */
  readonly clientRole: boolean;
  readonly log?: Log;
}

export interface OperationParts extends AdminParts {
  readonly editor: RegistryEditor;
}

/** One operation: its arguments are checked before anything is read. */
export type Operation = (input: unknown, deed: Deed) => Promise<AdminAnswer>;
export type Operations = { readonly [name: string]: Operation };

export function operation<T>(
  schema: z.ZodType<T>,
  run: (input: T, deed: Deed) => Promise<AdminAnswer>,
): Operation {
  return async (input, deed) => {
    const read = check(schema, input ?? {});
    return read.kind === 'valid' ? run(read.value, deed) : failed(read);
  };
}

export const done = (result: object): AdminAnswer => ({ kind: 'done', result });
export const failed = (failure: AdminFailure): AdminAnswer => ({ kind: 'failed', failure });

/** An argument that names an existing record: anything that no record can be called is not found, and not looked up. */
export const anId = z.string().min(1).max(200);
export const ifEdition = z.exactOptional(z.int().min(1));

/** What became of an edit, with `show` for what was saved. */
export async function answerEdit<T>(
  edit: Promise<Edit<T, AdminFailure>>,
  show: (saved: {
    readonly value: T;
    readonly edition: number;
    readonly changed: readonly string[];
  }) => object,
): Promise<AdminAnswer> {
  const made = await edit;
  switch (made.kind) {
    case 'saved':
    case 'unchanged':
      return done(show(made));
    case 'refused':
      return failed(made.failure);
    case 'conflict':
      return failed({ kind: 'conflict' });
  }
}

export function notFound(subject: Subject, id: string): AdminFailure {
  return { kind: 'not-found', subject, id: id.replaceAll(/\p{Cc}/gu, '?').slice(0, 64) };
}

/** Whether a record can have this id at all. */
export function isPossible(subject: 'client' | 'profile' | 'provider' | 'agent', id: string): boolean {
  return recordKey(subject, id) !== undefined;
}

export const isoTime = (ms: number): string => new Date(ms).toISOString();
