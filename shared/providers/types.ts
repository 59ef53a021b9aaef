import type { Artifact, JsonValue, Message, Part } from '../protocol/index.ts';

/** What a provider is given. Content lives in memory only for the length of the call. */
export interface ProviderRequest {
  readonly task: string;
  readonly context: string;
  readonly client: string;
  readonly profile: string;
  /** The message that started or resumed the run, with its id. */
  readonly message: Message;
  /** Earlier messages of this task, oldest first, without `message`. */
  readonly history: readonly Message[];
  /** Earlier messages of other tasks of the context, oldest first, bounded. */
  readonly contextMessages: readonly Message[];
  /** Tasks of the same client that the message refers to: their artifacts and last messages. */
  readonly references: readonly {
    readonly task: string;
    readonly artifacts: readonly Artifact[];
    readonly messages: readonly Message[];
    /** It is too large to be given: neither its artifacts nor its messages are there. */
    readonly truncated?: true;
  }[];
  readonly instructions?: string;
  readonly acceptedOutputModes: readonly string[];
  /** Remote agents that this provider may hand a step to (design §8). */
  readonly agents: readonly GrantedAgent[];
  /** Set when the run goes on after a delegation: what became of each of its calls, in their order. */
  readonly delegation?: {
    readonly outcomes: readonly DelegationOutcome[];
    /** What the provider left for itself when it delegated. */
    readonly transcript?: JsonValue;
  };
  /** 1 for the first execution. */
  readonly attempt: number;
  /** Epoch ms; the signal aborts then at the latest, and when the task is cancelled or the lease is lost. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Commits a status message of the agent while the run goes on. Resolves once it is committed. */
  readonly progress: (text: string) => Promise<void>;
}

/** A registered remote agent as a provider sees it. */
export interface GrantedAgent {
  readonly id: string;
  readonly name: string;
  readonly description: string;
}

/** One step for a remote agent. `id` is the provider's own name for it, unique within the turn. */
export interface DelegateCall {
  readonly id: string;
  readonly agent: string;
  readonly parts: readonly Part[];
}

export interface DelegationOutcome {
  readonly call: string;
  readonly agent: string;
  readonly state: 'completed' | 'failed' | 'canceled' | 'rejected';
  readonly artifacts: readonly Artifact[];
  /** The remote's last words, or a fixed sentence of the gateway's where it has none. */
  readonly message?: readonly Part[];
}

/** Calls of one turn. */
export const MAX_CALLS = 16;

/** Turns in which a run may hand steps on for one message of the client, whatever provider does it (P6). */
export const MAX_TURNS = 10;

/** What a provider answers. `failure` and error texts never reach the client unless they stand in `message`. */
export type ProviderResult =
  /** Hands steps on and is called again with what became of them; several wait for all. */
  | {
      readonly kind: 'delegated';
      readonly calls: readonly DelegateCall[];
      /** Sealed until the provider is called again; plain JSON, at most 1 MB. */
      readonly transcript?: JsonValue;
      readonly usage?: TokenUsage;
    }
  | {
      readonly kind: 'completed';
      readonly artifacts: readonly ProviderArtifact[];
      readonly message?: readonly Message['parts'][number][];
      readonly usage?: TokenUsage;
    }
  | {
      readonly kind: 'input-required';
      readonly message: readonly Message['parts'][number][];
      readonly usage?: TokenUsage;
    }
  | {
      readonly kind: 'auth-required';
      readonly message: readonly Message['parts'][number][];
      readonly usage?: TokenUsage;
    }
  | {
      readonly kind: 'rejected';
      readonly message?: readonly Message['parts'][number][];
      readonly usage?: TokenUsage;
    }
  | {
      readonly kind: 'failed';
      /** Whether the next provider of the chain, or another attempt, may succeed. */
      readonly retryable: boolean;
      /** For the client, where the provider wrote one for it. */
      readonly message?: readonly Message['parts'][number][];
      /** For operators: a class of failure from a fixed set, no text of the provider. */
      readonly reason: FailureReason;
      /** Tokens that were spent all the same. */
      readonly usage?: TokenUsage;
    };

/**
 * - `timeout`: no answer within the provider's time limit or before the deadline;
 * - `unavailable`: no connection, or the service answered that it cannot serve now;
 * - `throttled`: too many requests;
 * - `refused`: the provider will not answer this request (content filter, refusal, too large);
 * - `invalid-answer`: an answer that is none of the forms it may have;
 * - `declared`: the provider itself says, or its crash shows, that it failed;
 * - `aborted`: the run is no longer ours to finish (cancelled, lease lost, shut down, stopped by the caller);
 * - `configuration`: what was registered cannot work (credential, name, address); an administrator has to act.
 */
export type FailureReason =
  | 'timeout'
  | 'unavailable'
  | 'throttled'
  | 'refused'
  | 'invalid-answer'
  | 'declared'
  | 'aborted'
  | 'configuration';

export type FailedResult = Extract<ProviderResult, { kind: 'failed' }>;

/** An artifact before the gateway gave it an id; an id that stands there is kept when it is unique within the task. */
export type ProviderArtifact = Omit<Artifact, 'artifactId'> & { readonly artifactId?: string };

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** One provider kind; never throws, an unexpected error is a `failed` result. */
export interface ProviderAdapter {
  run(request: ProviderRequest): Promise<ProviderResult>;
}
