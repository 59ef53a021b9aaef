/** What the domain needs from its surroundings; each stands behind a port so that tests drive it. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`, or early (without throwing) when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Random {
  uuid(): string;
  bytes(length: number): Uint8Array;
  /** In [0, 1). */
  fraction(): number;
}

/** Messages carry ids only (design §4) and may be lost, doubled or reordered without harm. */
export interface WorkQueue<Message> {
  send(message: Message, delaySeconds?: number): Promise<void>;
}

export interface RunMessage {
  readonly task: string;
}

/** Wraps data keys (KMS). The context is bound to the key: unwrapping under another context fails. */
export interface KeyService {
  generate(context: KeyContext): Promise<{ readonly plaintext: Uint8Array; readonly wrapped: Uint8Array }>;
  unwrap(wrapped: Uint8Array, context: KeyContext): Promise<Uint8Array>;
}
export interface KeyContext {
  readonly client: string;
  readonly purpose: string;
  /** Month, `YYYYMM`, UTC. */
  readonly epoch: string;
}

/** Counters and durations for operators; never content, never a secret (P10). */
export interface Metrics {
  count(name: string, value?: number, dimensions?: Readonly<Record<string, string>>): void;
  milliseconds(name: string, value: number, dimensions?: Readonly<Record<string, string>>): void;
}

export interface Log {
  info(message: string, fields?: Readonly<Record<string, string | number | boolean | undefined>>): void;
  warn(message: string, fields?: Readonly<Record<string, string | number | boolean | undefined>>): void;
  error(message: string, fields?: Readonly<Record<string, string | number | boolean | undefined>>): void;
}
