import type { Artifact, JsonValue, Part } from '../protocol/index.ts';
import { artifactSchema, partsSchema } from './content.ts';
import { failed } from './failure.ts';
import { type DelegateCall, MAX_CALLS, type ProviderResult, type TokenUsage } from './types.ts';
import { wellFormed } from './well-formed.ts';

type Completed = Extract<ProviderResult, { kind: 'completed' }>;

/** Characters of a transcript's JSON. */
const MAX_TRANSCRIPT = 1_000_000;
/** Bytes of all messages of a turn and its transcript as JSON: they are written in one transaction, which takes 4 MB. */
const MAX_TURN_BYTES = 3_000_000;
/** Bytes of a question as JSON: as much as a client's message may have. */
const MAX_QUESTION_BYTES = 2_000_000;
/** Characters of a call's name. */
const MAX_CALL_ID = 256;

/** A provider's result that the gateway can keep as it is: every artifact has an id of its own. */
export type ValidResult =
  | Exclude<ProviderResult, Completed>
  | (Omit<Completed, 'artifacts'> & { readonly artifacts: readonly Artifact[] });

/**
 * Reads what an adapter answered into the protocol's form. How much a task may keep is decided where it is committed
 * (design §4, sizes). Artifacts have at least one part, each part exactly one content, metadata and data plain JSON; messages with at least one such part. An id of an artifact is
 * kept when it is not blank and stands there for the first time, else `newId` gives one. Anything else is `failed` with
 * `invalid-answer`, not retryable. A failure stays the failure it is and loses a message that cannot be read.
 */
export function validateResult(answered: ProviderResult, newId: () => string): ValidResult {
  const result = wellFormed(answered);
  const usage = readUsage(result.usage);
  const invalid = failed('invalid-answer', usage);
  switch (result.kind) {
    case 'completed': {
      const artifacts = readArtifacts(result.artifacts, newId);
      const message = readMessage(result.message);
      if (artifacts === undefined || message === undefined) return invalid;
      return { kind: 'completed', artifacts, ...message, ...usage };
    }
    case 'delegated': {
      const calls = readCalls(result.calls);
      const transcript = readTranscript(result.transcript);
      return calls && transcript && fits(calls, transcript)
        ? { kind: 'delegated', calls, ...transcript, ...usage }
        : invalid;
    }
    case 'input-required':
    case 'auth-required': {
      const parts = readParts(result.message);
      return parts === undefined || bytesOf(parts) > MAX_QUESTION_BYTES
        ? invalid
        : { kind: result.kind, message: parts, ...usage };
    }
    case 'rejected': {
      const message = readMessage(result.message);
      return message === undefined ? invalid : { kind: 'rejected', ...message, ...usage };
    }
    case 'failed':
      return failed(result.reason, {
        retryable: result.retryable,
        ...readMessage(result.message),
        ...usage,
      });
  }
}

function readArtifacts(artifacts: Completed['artifacts'], newId: () => string): Artifact[] | undefined {
  const taken = new Set<string>();
  const read: Artifact[] = [];
  for (const artifact of artifacts) {
    const parsed = artifactSchema.safeParse(artifact);
    if (!parsed.success) return undefined;
    const own = parsed.data.artifactId;
    const artifactId = own !== undefined && own.trim() !== '' && !taken.has(own) ? own : newId();
    taken.add(artifactId);
    read.push({ ...parsed.data, artifactId });
  }
  return read;
}

/** 1 to 16 calls, each with a name of its own, of at most 256 characters, and at least one part. */
function readCalls(calls: readonly DelegateCall[]): DelegateCall[] | undefined {
  if (calls.length === 0 || calls.length > MAX_CALLS) return undefined;
  if (new Set(calls.map(({ id }) => id)).size < calls.length) return undefined;
  if (calls.some(({ id }) => id.length > MAX_CALL_ID)) return undefined;
  const read = calls.map(({ id, agent, parts }) => ({ id, agent, parts: readParts(parts) }));
  return read.every((call): call is typeof call & { parts: Part[] } => call.parts !== undefined)
    ? read
    : undefined;
}

function fits(calls: readonly DelegateCall[], transcript: { readonly transcript?: JsonValue }): boolean {
  return bytesOf([calls, transcript]) <= MAX_TURN_BYTES;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Absent stays absent; undefined: too large, or no plain JSON. */
function readTranscript(transcript: JsonValue | undefined): { transcript?: JsonValue } | undefined {
  if (transcript === undefined) return {};
  const json = JSON.stringify(transcript);
  return json !== undefined && json.length <= MAX_TRANSCRIPT ? { transcript } : undefined;
}

/** Absent stays absent; undefined: there is a message and it cannot be read. */
function readMessage(parts: readonly Part[] | undefined): { message?: Part[] } | undefined {
  if (parts === undefined) return {};
  const message = readParts(parts);
  return message === undefined ? undefined : { message };
}

function readParts(parts: readonly Part[]): Part[] | undefined {
  const parsed = partsSchema.safeParse(parts);
  return parsed.success ? parsed.data : undefined;
}

/** Figures that are no token counts are left out: they are for metrics only and end no task. */
function readUsage(usage: TokenUsage | undefined): { usage?: TokenUsage } {
  if (usage === undefined) return {};
  const { inputTokens, outputTokens } = usage;
  const counts = [inputTokens, outputTokens].every((count) => Number.isSafeInteger(count) && count >= 0);
  return counts ? { usage: { inputTokens, outputTokens } } : {};
}
