import * as z from 'zod';
import type { Artifact, JsonValue, Message, Part } from '../protocol/index.ts';
import { artifactSchema, jsonValueSchema, partSchema, partsSchema } from './content.ts';
import { failed } from './failure.ts';
import {
  type DelegationOutcome,
  type GrantedAgent,
  MAX_CALLS,
  type ProviderRequest,
  type ProviderResult,
  type TokenUsage,
} from './types.ts';

/** Raised when an existing member changes its meaning; new members come without a new version. */
export const CONTRACT_VERSION = 1;

/** Progress messages of one answer; each is a commit of its own. */
export const MAX_PROGRESS = 50;
/** Characters of one of them. */
const MAX_PROGRESS_TEXT = 100_000;

/**
 * What a function provider is invoked with. Messages, parts and artifacts have the protocol's JSON form (`raw` is padded
 * standard base64). New members may come: a function ignores what it does not know.
 */
export interface FunctionInvocation {
  readonly version: typeof CONTRACT_VERSION;
  readonly task: string;
  readonly context: string;
  /** Id of the client that asked. */
  readonly client: string;
  readonly profile: string;
  /** The message that started or resumed the run. Its `messageId` stays the same when the run is tried again. */
  readonly message: Message;
  /** Earlier messages of the task, oldest first. */
  readonly history: readonly Message[];
  /** Earlier messages of other tasks of the context, oldest first, bounded. */
  readonly contextMessages: readonly Message[];
  /** Tasks that the message refers to. */
  readonly references: readonly {
    readonly task: string;
    readonly artifacts: readonly Artifact[];
    readonly messages: readonly Message[];
    /** It is too large to be given: neither its artifacts nor its messages are there. */
    readonly truncated?: true;
  }[];
  readonly instructions?: string;
  readonly acceptedOutputModes: readonly string[];
  /** Remote agents that it may hand steps to. */
  readonly agents: readonly GrantedAgent[];
  /** Set when it delegated: what became of each of its calls, in their order, and what it left for itself. */
  readonly delegation?: { readonly outcomes: readonly DelegationOutcome[]; readonly state?: JsonValue };
  /** 1 for the first execution. A later one follows a crash or a retryable failure, and may repeat effects. */
  readonly attempt: number;
  /** ISO 8601, UTC: an answer that comes later is dropped. */
  readonly deadline: string;
}

/** A text stands for one text part. */
export type FunctionText = string | readonly Part[];

/**
 * What a function provider answers: exactly one ending. `null` is absent; unknown members are ignored, but an answer
 * without a known ending, or with two, is invalid and fails the task.
 */
export type FunctionAnswer = {
  /** Committed as status messages, in order, before the ending. At most 50, of at most 100,000 characters each. */
  readonly progress?: readonly string[];
  /** For the metrics. */
  readonly usage?: TokenUsage;
} & (
  | { readonly artifacts: readonly FunctionArtifact[]; readonly message?: FunctionText }
  /** Hands steps to remote agents; the function is invoked again when all of them ended. */
  | {
      readonly delegate: readonly {
        readonly id?: string;
        readonly agent: string;
        readonly message: FunctionText;
      }[];
      /** Given back in `delegation.state`; sealed meanwhile. */
      readonly state?: JsonValue;
    }
  | { readonly question: FunctionText }
  | { readonly authorization: FunctionText }
  | { readonly rejection: FunctionText | { readonly message?: FunctionText } }
  | { readonly failure: { readonly message?: FunctionText; readonly retryable?: boolean } }
);

/** The protocol's artifact, or the short form with a single text or data. */
export type FunctionArtifact =
  | (Omit<Artifact, 'artifactId'> & { readonly artifactId?: string })
  /** An artifact's members and those of its only part, side by side. */
  | (Omit<Artifact, 'artifactId' | 'parts' | 'metadata'> & { readonly artifactId?: string } & Omit<
        Artifact['parts'][number],
        'metadata'
      >);

export function buildInvocation(request: ProviderRequest): FunctionInvocation {
  return {
    version: CONTRACT_VERSION,
    task: request.task,
    context: request.context,
    client: request.client,
    profile: request.profile,
    message: request.message,
    history: request.history,
    contextMessages: request.contextMessages,
    references: request.references,
    ...(request.instructions === undefined ? {} : { instructions: request.instructions }),
    acceptedOutputModes: request.acceptedOutputModes,
    agents: request.agents,
    ...(request.delegation === undefined ? {} : { delegation: delegationOf(request.delegation) }),
    attempt: request.attempt,
    deadline: new Date(request.deadline).toISOString(),
  };
}

function delegationOf({ outcomes, transcript }: NonNullable<ProviderRequest['delegation']>) {
  return { outcomes, ...(transcript === undefined ? {} : { state: transcript }) };
}

/**
 * Reads an answer. One that fits no form is `failed` with `invalid-answer`, not retryable: the function ran to its end,
 * and running it or a substitute again would repeat its effects. `flaw` says where it is wrong, for the function's
 * author: names of the contract and places in lists, never a word of the answer, as a schema's complaint has (P10).
 */
export function readAnswer(answer: unknown): {
  readonly progress: readonly string[];
  readonly result: ProviderResult;
  readonly flaw?: string;
} {
  const invalid = (flaw: string) => ({ progress: [], result: failed('invalid-answer'), flaw });
  const read = answerSchema.safeParse(answer);
  if (!read.success) return invalid(placeOf(read.error.issues[0]?.path ?? []));
  const [result, ...more] = endingsOf(read.data);
  if (!result) return invalid('no ending');
  return more.length > 0 ? invalid('more than one ending') : { progress: read.data.progress ?? [], result };
}

/** Where an answer is wrong, as far as the contract has names for it. */
function placeOf(path: readonly PropertyKey[]): string {
  const unknown = path.findIndex((step) => typeof step !== 'number' && !CONTRACT_NAMES.has(String(step)));
  const known = unknown < 0 ? path : path.slice(0, unknown);
  const place = known.map((step, i) =>
    typeof step === 'number' ? `[${step}]` : `${i ? '.' : ''}${String(step)}`,
  );
  return place.join('') || 'the answer';
}

const textSchema = z
  .string()
  .refine((text) => text.trim() !== '')
  .transform((text): Part[] => [{ text }]);
const sayingSchema = z.union([textSchema, partsSchema]);

/** The short form is an artifact whose only part stands in it. One with parts has no content beside them. */
const answeredArtifactSchema = z.preprocess((value) => {
  const short = shortArtifactSchema.safeParse(value);
  if (!short.success) return value;
  const { text, data, raw, url, filename, mediaType, parts, ...artifact } = short.data;
  if (parts === null || parts === undefined)
    return { ...artifact, parts: [{ text, data, raw, url, filename, mediaType }] };
  const isTwice = [text, raw, url].some((one) => typeof one === 'string') || data !== undefined;
  return isTwice ? undefined : value;
}, artifactSchema);
const shortArtifactSchema = z.looseObject({
  parts: z.unknown().optional(),
  text: z.string().nullish(),
  data: jsonValueSchema.optional(),
  raw: z.string().nullish(),
  url: z.string().nullish(),
  filename: z.string().nullish(),
  mediaType: z.string().nullish(),
});

const count = z.int().nonnegative();

/** The answer as it is on the wire, for readers of the contract in other languages than this one's types. */
export const answerSchema = z.object({
  version: z.literal(CONTRACT_VERSION).nullish(),
  artifacts: z.array(answeredArtifactSchema).nullish(),
  message: sayingSchema.nullish(),
  delegate: z
    .array(z.object({ id: z.string().min(1).nullish(), agent: z.string().min(1), message: sayingSchema }))
    .min(1)
    .max(MAX_CALLS)
    .nullish(),
  state: jsonValueSchema.optional(),
  question: sayingSchema.nullish(),
  authorization: sayingSchema.nullish(),
  rejection: z
    .union([
      sayingSchema.transform((message) => ({ message })),
      z.object({ message: sayingSchema.nullish() }),
    ])
    .nullish(),
  failure: z.object({ message: sayingSchema.nullish(), retryable: z.boolean().nullish() }).nullish(),
  progress: z
    .array(z.string().refine((text) => text.trim() !== '' && text.length <= MAX_PROGRESS_TEXT))
    .max(MAX_PROGRESS)
    .nullish(),
  // Figures for the metrics end no task.
  usage: z.object({ inputTokens: count, outputTokens: count }).nullish().catch(undefined),
});

const CONTRACT_NAMES: ReadonlySet<string> = new Set([
  ...Object.keys(answerSchema.shape),
  ...['id', 'agent', 'message', 'retryable', 'name', 'description', 'artifactId', 'parts', 'extensions'],
  ...['text', 'raw', 'url', 'data', 'filename', 'mediaType', 'metadata'],
]);

function endingsOf(answer: z.output<typeof answerSchema>): readonly ProviderResult[] {
  const usage = answer.usage ? { usage: answer.usage } : {};
  const endings: ProviderResult[] = [];
  if (answer.artifacts) {
    endings.push({ kind: 'completed', artifacts: answer.artifacts, ...messageOf(answer), ...usage });
  }
  if (answer.delegate) {
    const calls = answer.delegate.map(({ id, agent, message }, i) => ({
      id: id ?? String(i),
      agent,
      parts: message,
    }));
    endings.push({
      kind: 'delegated',
      calls,
      ...(answer.state === undefined ? {} : { transcript: answer.state }),
      ...usage,
    });
  }
  if (answer.question) endings.push({ kind: 'input-required', message: answer.question, ...usage });
  if (answer.authorization) endings.push({ kind: 'auth-required', message: answer.authorization, ...usage });
  if (answer.rejection) endings.push({ kind: 'rejected', ...messageOf(answer.rejection), ...usage });
  if (answer.failure) {
    const retryable = answer.failure.retryable ?? false;
    endings.push(failed('declared', { retryable, ...messageOf(answer.failure), ...usage }));
  }
  return endings;
}

function messageOf(saying: { readonly message?: Part[] | null | undefined }): { message?: Part[] } {
  return saying.message ? { message: saying.message } : {};
}

const messageSchema = z.object({
  messageId: z.string().min(1),
  role: z.enum(['ROLE_USER', 'ROLE_AGENT']),
  parts: z.array(partSchema).min(1),
});

/** The invocation as it is on the wire; members that the protocol makes optional are passed through unread. */
export const invocationSchema = z.object({
  version: z.literal(CONTRACT_VERSION),
  task: z.string(),
  context: z.string(),
  client: z.string(),
  profile: z.string(),
  message: messageSchema,
  history: z.array(messageSchema),
  contextMessages: z.array(messageSchema),
  references: z.array(
    z.object({ task: z.string(), artifacts: z.array(artifactSchema), messages: z.array(messageSchema) }),
  ),
  instructions: z.string().optional(),
  acceptedOutputModes: z.array(z.string()),
  agents: z.array(z.object({ id: z.string(), name: z.string(), description: z.string() })),
  delegation: z.object({ outcomes: z.array(z.unknown()), state: z.unknown().optional() }).optional(),
  attempt: z.int().positive(),
  deadline: z.iso.datetime(),
});
