import type { TaskState } from '../protocol/index.ts';
import type { AnswerLevel } from '../registry/types.ts';

/**
 * Where the execution behind a task stands. `queued`: waits for an executor. `running`: an executor holds the lease.
 * `suspended`: waits for the client. `ended`: nothing moves it any more.
 */
export type RunStatus = 'queued' | 'running' | 'suspended' | 'ended';

/** Fixed reasons; their text is written when the task is read, so that ending a task needs no key. */
export type Reason =
  | 'EXECUTION_FAILED'
  | 'DEADLINE_EXCEEDED'
  | 'INPUT_EXPIRED'
  | 'RESULT_TOO_LARGE'
  | 'TOO_MANY_MESSAGES'
  | 'TOO_MANY_TURNS'
  | 'TOO_MANY_HOPS'
  | 'RESULT_NOT_RETAINED'
  | 'APPROVAL_REQUIRED'
  | 'APPROVAL_EXPIRED'
  | 'APPROVAL_REJECTED';

export interface WorkingRef {
  readonly id: string;
  readonly salt: Uint8Array;
  readonly epoch: string;
}

export type ContentForm = 'full' | 'redacted';

export interface Lease {
  readonly token: string;
  /** Epoch ms. */
  readonly until: number;
}

/** The one item that decides; under 1 KB. */
export interface Head {
  readonly task: string;
  readonly client: string;
  readonly context: string;
  readonly profile: string;
  readonly createdAt: number;
  readonly state: TaskState;
  /** Monotonic per task. */
  readonly statusAt: number;
  readonly revision: number;
  /** Id of the commit that made this revision; how a commit whose answer was lost recognises itself. */
  readonly commit: string;
  readonly run: RunStatus;
  /** Executions since creation or resumption. */
  readonly attempts: number;
  /** Executions allowed, from the profile at acceptance: ending a run needs no registry. */
  readonly maxAttempts: number;
  readonly lease?: Lease;
  /** Epoch ms: of the run while it is queued or running, of the client's answer while it is suspended (P6). */
  readonly deadline?: number;
  /** Month of the data key under which this task's content is sealed. */
  readonly epoch: string;
  /** Absent: the content was removed, nothing of it can be read again (P12). */
  readonly salt?: Uint8Array;
  /** Of the run's working state; gone with the end of the run (P9). `id` is part of its keys. */
  readonly working?: WorkingRef;
  /** Id of the working state that the run has or had, so that a purge finds its items. */
  readonly workingId?: string;
  readonly ceiling: AnswerLevel;
  /** How the content is stored: as it was, or redacted. */
  readonly form: ContentForm;
  /** Part of the content's keys: a rewritten copy never overwrites what is still read. */
  readonly copy: string;
  /** Copies that nothing opens: replaced ones, and those that a rewriting is writing or left behind. */
  readonly spare: readonly string[];
  /** A suspended run that waits for a person's approval instead of its client. */
  readonly approval?: 'awaited' | 'given';
  /** Turns in which steps were handed to remote agents (design §8). */
  readonly turns: number;
  /** The turn that the run goes on from, once nothing of it is waited for any more. */
  readonly turn?: number;
  /** Dependencies of that turn that were not resolved yet. */
  readonly waiting: number;
  /** How long the task is kept after its last change, seconds. */
  readonly keepSeconds: number;
  /** Providers that were tried, in order. */
  readonly tried: readonly string[];
  /** Messages written so far; they are numbered from 1. */
  readonly messages: number;
  readonly reason?: Reason;
  /** Push configs that get jobs: a stopped or deleted one is not among them. At most 5. */
  readonly configs: readonly ConfigRef[];
  /** Counts the changes of `configs`: two at once do not both hold. */
  readonly configsEdition: number;
  /** Key of the due entry, if one stands. */
  readonly due?: string;
}

/** A push config by its internal id. It gets every revision after its fence (design §6). */
export interface ConfigRef {
  readonly id: string;
  readonly fence: number;
}

/** Where a sealed message lies: its number and into how many slices it was cut. */
export interface MessageRef {
  readonly number: number;
  readonly slices: number;
}

/** Where the sealed result lies; `artifacts` and `message` say what is inside, without opening it. */
export interface ResultRef {
  readonly id: string;
  readonly slices: number;
  readonly artifacts: number;
  readonly message: boolean;
}

/** One committed change, immutable, without content: what drives the projector. */
export interface Revision {
  readonly task: string;
  readonly revision: number;
  readonly commit: string;
  readonly state: TaskState;
  readonly statusAt: number;
  /** The message that this revision added to the history. */
  readonly message?: MessageRef;
  /** Whether that message is the agent's and so the status message of this revision. */
  readonly spoken?: boolean;
  readonly result?: ResultRef;
  readonly reason?: Reason;
  /** Digest in the key of the dedup item that was written with it, so that a purge finds that item. */
  readonly dedup?: string;
}

/** What remote parties see: the fold of the revisions up to `revision`. No content, only where it lies. */
export interface View {
  readonly task: string;
  readonly client: string;
  readonly context: string;
  readonly profile: string;
  readonly createdAt: number;
  readonly revision: number;
  readonly state: TaskState;
  readonly statusAt: number;
  /** Slices of message 1, 2, …. */
  readonly messages: readonly number[];
  /** Number of the message that is the current status message; 0: none (or the one in the result, or of the reason). */
  readonly statusMessage: number;
  readonly result?: ResultRef;
  readonly reason?: Reason;
}
