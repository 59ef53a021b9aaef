import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, type LanguageModel, type LanguageModelUsage, wrapLanguageModel } from 'ai';
import type { Fetch } from '../guard/index.ts';
import { ExchangeError } from '../guard/index.ts';
import type { Provider } from '../registry/types.ts';
import { failed, reasonOfStatus } from './failure.ts';
import { buildPrompt } from './prompt.ts';
import { agentTools, callsOf, transcriptOf, turnsSoFar } from './tools.ts';
import {
  type FailedResult,
  MAX_TURNS,
  type ProviderAdapter,
  type ProviderRequest,
  type ProviderResult,
  type TokenUsage,
} from './types.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

type Model = Exclude<LanguageModel, string>;
type Limits = { readonly maxOutputTokens?: number; readonly temperature?: number };

/**
 * Any OpenAI-compatible chat endpoint. `fetch` is the guarded one for the provider's base URL; `openApiKey` answers
 * undefined where the endpoint takes no key.
 */
export function createOpenAiAdapter(
  provider: Extract<Provider, { kind: 'openai' }>,
  ports: { readonly fetch: Fetch; readonly openApiKey: () => Promise<string | undefined> },
): ProviderAdapter {
  return modelAdapter(provider, async () => {
    const apiKey = await attempt(ports.openApiKey, 'unavailable');
    return createOpenAICompatible({
      name: 'openai-compatible',
      baseURL: provider.baseUrl,
      fetch: ports.fetch,
      ...(apiKey === undefined ? {} : { apiKey }),
    }).chatModel(provider.model);
  });
}

/** Amazon Bedrock's Converse API, signed with `credentials`; `endpoint` replaces the region's public one. */
export function createBedrockAdapter(
  provider: Extract<Provider, { kind: 'bedrock' }>,
  ports: {
    readonly fetch: Fetch;
    readonly credentials: () => Promise<AwsCredentials>;
    /** Where the provider names none. */
    readonly region: string;
    readonly endpoint?: string;
  },
): ProviderAdapter {
  return modelAdapter(provider, async () => {
    const { accessKeyId, secretAccessKey, sessionToken } = await attempt(ports.credentials, 'configuration');
    return createAmazonBedrock({
      region: provider.region ?? ports.region,
      fetch: ports.fetch,
      credentialProvider: async () => ({
        accessKeyId,
        secretAccessKey,
        ...(sessionToken === undefined ? {} : { sessionToken }),
      }),
      // An empty key keeps a bearer token of the process's environment from taking the role's place.
      apiKey: '',
      ...(ports.endpoint === undefined ? {} : { baseURL: ports.endpoint }),
    }).languageModel(provider.model);
  });
}

/**
 * One call of a model, no retry inside (the chain and the run's attempts decide that). The text becomes one artifact
 * with one text part; `sealpost/truncated` in its metadata says that the token limit cut it. A refusal or a content
 * filter is `refused`; an empty or unreadable answer is `invalid-answer`, retryable because a model may do better. No
 * text of the service goes into a failure (P10). Granted remote agents are offered as tools; a call of one hands the step
 * on, and the model goes on with what came back (design §8).
 */
function modelAdapter(limits: Limits, createModel: () => Promise<Model>): ProviderAdapter {
  return {
    run: async (request) => {
      try {
        return await generate(await createModel(), limits, request);
      } catch (error) {
        return request.signal.aborted ? failed('aborted') : failureOf(error);
      }
    },
  };
}

async function generate(model: Model, limits: Limits, request: ProviderRequest): Promise<ProviderResult> {
  const { agents } = request;
  const before = turnsSoFar(request.delegation);
  // In the last answer no agent is offered any more.
  const offered = before.turns < MAX_TURNS ? agents : [];
  const answer = await generateText({
    model: withoutWarnings(model),
    messages: [...buildPrompt(request), ...before.messages],
    maxRetries: 0,
    abortSignal: request.signal,
    telemetry: { isEnabled: false },
    ...(offered.length === 0 ? {} : { tools: agentTools(offered) }),
    ...(request.instructions === undefined ? {} : { instructions: request.instructions }),
    ...(limits.maxOutputTokens === undefined ? {} : { maxOutputTokens: limits.maxOutputTokens }),
    ...(limits.temperature === undefined ? {} : { temperature: limits.temperature }),
  });
  const usage = usageOf(answer.usage);
  if (answer.finishReason === 'content-filter') return failed('refused', usage);
  if (answer.finishReason === 'error') return failed('unavailable', usage);
  if (answer.toolCalls.length > 0) {
    // Several in one turn wait for all (design §8).
    const calls = callsOf(answer.toolCalls, offered);
    if (!calls) return failed('invalid-answer', { retryable: true, ...usage });
    const transcript = transcriptOf(before.messages, answer.response.messages, before.turns + 1);
    return { kind: 'delegated', calls, transcript, ...usage };
  }
  if (answer.text.trim() === '') return failed('invalid-answer', { retryable: true, ...usage });
  const cut = answer.finishReason === 'length' ? { metadata: { 'sealpost/truncated': true } } : {};
  return {
    kind: 'completed',
    artifacts: [{ name: 'answer', parts: [{ text: answer.text }], ...cut }],
    ...usage,
  };
}

/** The AI SDK prints a model's warnings unless a global says otherwise; globals are not ours to set. */
function withoutWarnings(model: Model): Model {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      wrapGenerate: async ({ doGenerate }) => ({ ...(await doGenerate()), warnings: [] }),
    },
  });
}

function usageOf({ inputTokens, outputTokens }: LanguageModelUsage): { usage?: TokenUsage } {
  if (inputTokens === undefined && outputTokens === undefined) return {};
  return { usage: { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0 } };
}

/** Thrown when what a model call needs from the gateway itself is not to be had. */
class PreparationFailed extends Error {
  readonly tag = 'PreparationFailed';
  readonly reason: FailedResult['reason'];
  constructor(reason: FailedResult['reason']) {
    super('the model call could not be prepared');
    this.reason = reason;
  }
}

async function attempt<T>(step: () => Promise<T>, reason: FailedResult['reason']): Promise<T> {
  try {
    return await step();
  } catch {
    throw new PreparationFailed(reason);
  }
}

function failureOf(error: unknown): FailedResult {
  if (error instanceof PreparationFailed) return failed(error.reason);
  const exchange = causes(error).find((cause) => cause instanceof ExchangeError);
  if (exchange !== undefined) return failureOfExchange(exchange.failure.kind);
  const { name, statusCode } = error as { name?: unknown; statusCode?: unknown };
  if (typeof statusCode === 'number') {
    return statusCode < 300 ? UNREADABLE_ANSWER : failed(reasonOfStatus(statusCode));
  }
  if (typeof name === 'string' && UNREADABLE.has(name)) return UNREADABLE_ANSWER;
  if (typeof name === 'string' && UNSENDABLE.has(name)) return failed('refused');
  return failed('unavailable');
}

const UNREADABLE_ANSWER = failed('invalid-answer', { retryable: true });

/** The AI SDK wraps what the guarded fetch throws; a chain longer than this is a loop. */
function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let cause = error; cause instanceof Error && chain.length < 8; cause = cause.cause) chain.push(cause);
  return chain;
}

function failureOfExchange(kind: ExchangeError['failure']['kind']): FailedResult {
  switch (kind) {
    case 'refused':
    case 'redirect':
      return failed('configuration');
    case 'response-too-large':
    case 'malformed-response':
      return UNREADABLE_ANSWER;
    case 'timeout':
      return failed('timeout');
    case 'aborted':
      return failed('aborted');
    case 'dns-failure':
    case 'connect-failure':
    case 'tls-failure':
    case 'reset':
      return failed('unavailable');
  }
}

/** Names are how the AI SDK tags its errors. */
const UNREADABLE: ReadonlySet<string> = new Set([
  'AI_EmptyResponseBodyError',
  'AI_InvalidResponseDataError',
  'AI_JSONParseError',
  'AI_NoContentGeneratedError',
  'AI_NoOutputGeneratedError',
  'AI_TypeValidationError',
]);
const UNSENDABLE: ReadonlySet<string> = new Set([
  'AI_InvalidArgumentError',
  'AI_InvalidPromptError',
  'AI_UnsupportedFunctionalityError',
]);
