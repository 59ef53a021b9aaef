import type { Provider } from '../registry/types.ts';
import type { Clock, Metrics } from '../runtime/ports.ts';
import { failed } from './failure.ts';
import { type ValidResult, validateResult } from './result.ts';
import type { FailedResult, ProviderAdapter, ProviderRequest, ProviderResult } from './types.ts';

export interface ChainInput {
  /** The profile's providers, in order. */
  readonly providers: readonly Provider[];
  readonly adapterFor: (provider: Provider) => ProviderAdapter;
  readonly request: ProviderRequest;
  /**
   * Awaited before each attempt: the place to record the provider as tried and to tighten the ceiling (design §7).
   * `stop` ends the chain before the provider is called.
   */
  readonly onAttempt: (provider: Provider, index: number) => Promise<'go' | 'stop'>;
  /** For artifacts that carry no usable id of their own. */
  readonly newId: () => string;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/**
 * Tries the providers in order and answers what the run ends with.
 *
 * - The next provider is tried after a retryable failure, and after `configuration`: a provider that cannot work at all
 *   is passed over, so that an expired key does not take its fallback down with it.
 * - Each attempt ends at the provider's `timeoutSeconds` or at `request.deadline`, whichever comes first, whether or not
 *   the adapter heeds its signal; what it answers or reports afterwards is dropped.
 * - Nothing is tried once `request.signal` aborted (`aborted`) or the deadline passed (`timeout`).
 * - A chain that is used up answers its last failure; `retryable` is then true if any of its failures was.
 * - Progress that a failed provider had committed stays.
 *
 * Never fails because of a provider. An error of `request.progress` or `onAttempt` is the gateway's own and is passed
 * on as it is, after the attempt under way was aborted.
 */
export async function runChain(input: ChainInput): Promise<ValidResult> {
  const { providers, request, clock } = input;
  let last: FailedResult = failed('configuration');
  let retryable = false;
  for (const [index, provider] of providers.entries()) {
    const before = overdue(request, clock);
    if (before !== undefined) return before;
    if ((await input.onAttempt(provider, index)) === 'stop') return failed('aborted');
    const after = overdue(request, clock);
    if (after !== undefined) return after;

    const result = await measuredAttempt(provider, input);
    if (result.kind !== 'failed') return result;
    last = result;
    retryable ||= result.retryable;
    if (!result.retryable && result.reason !== 'configuration') return result;
  }
  return { ...last, retryable };
}

function overdue(request: ProviderRequest, clock: Clock): FailedResult | undefined {
  if (clock.now() >= request.deadline) return failed('timeout');
  return request.signal.aborted ? failed('aborted') : undefined;
}

async function measuredAttempt(provider: Provider, input: ChainInput): Promise<ValidResult> {
  const { clock, metrics } = input;
  const start = clock.now();
  const result = validateResult(await limitedAttempt(provider, input), input.newId);
  const dimensions = { kind: provider.kind };
  const outcome = result.kind === 'failed' ? result.reason : result.kind;
  metrics.count('ProviderAttempt', 1, { ...dimensions, outcome });
  metrics.milliseconds('ProviderDuration', clock.now() - start, dimensions);
  if (result.usage !== undefined) {
    metrics.count('ProviderInputTokens', result.usage.inputTokens, dimensions);
    metrics.count('ProviderOutputTokens', result.usage.outputTokens, dimensions);
  }
  return result;
}

/** One provider within its time limit. Rejects only with an error of `request.progress`. */
async function limitedAttempt(provider: Provider, input: ChainInput): Promise<ProviderResult> {
  const { request, clock } = input;
  const deadline = Math.min(request.deadline, clock.now() + provider.timeoutSeconds * 1000);
  const attempt = new AbortController();
  const over = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<ProviderResult>();

  const onAbort = () => resolve(clock.now() >= request.deadline ? failed('timeout') : failed('aborted'));
  request.signal.addEventListener('abort', onAbort, { once: true });
  clock.sleep(deadline - clock.now(), over.signal).then(() => resolve(failed('timeout')), reject);

  const progress = async (text: string): Promise<void> => {
    if (over.signal.aborted) return;
    try {
      await request.progress(text);
    } catch (error) {
      reject(error);
      throw error;
    }
  };
  startRun(input, provider, { ...request, deadline, signal: attempt.signal, progress }).then(resolve, () =>
    // An adapter promises not to throw; one that does is broken, and its error may hold content.
    resolve(failed('unavailable')),
  );

  try {
    return await promise;
  } finally {
    over.abort();
    attempt.abort();
    request.signal.removeEventListener('abort', onAbort);
  }
}

async function startRun(
  input: ChainInput,
  provider: Provider,
  request: ProviderRequest,
): Promise<ProviderResult> {
  return input.adapterFor(provider).run(request);
}
