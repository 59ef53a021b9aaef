import { describe, expect, test } from 'vitest';
import {
  type ChainInput,
  failed,
  type ProviderAdapter,
  type ProviderRequest,
  type ProviderResult,
  runChain,
} from '../../shared/providers/index.ts';
import type { Provider } from '../../shared/registry/types.ts';
import { countingIds, makeRequest, recordingMetrics } from './requests.ts';
import { settle, VirtualClock } from './virtual-clock.ts';

const DONE: ProviderResult = { kind: 'completed', artifacts: [{ parts: [{ text: 'done' }] }] };
const KEPT = { kind: 'completed', artifacts: [{ artifactId: 'id-1', parts: [{ text: 'done' }] }] };
const FOREVER = () => new Promise<ProviderResult>(() => {});

type Run = ProviderAdapter['run'];

/** A chain of providers a, b, c, … that run what is given. */
function chainOf(runs: readonly Run[], changes: Partial<ChainInput> = {}) {
  const clock = new VirtualClock();
  const metrics = recordingMetrics();
  const tried: string[] = [];
  const ids = ['a', 'b', 'c', 'd'];
  const providers = runs.map((_, index): Provider => {
    return { id: ids[index]!, kind: 'echo', timeoutSeconds: 10 };
  });
  const input: ChainInput = {
    providers,
    adapterFor: (provider) => ({ run: runs[ids.indexOf(provider.id)]! }),
    request: makeRequest({ deadline: clock.now() + 60_000 }),
    onAttempt: async (provider) => {
      tried.push(provider.id);
      return 'go';
    },
    newId: countingIds(),
    metrics,
    clock,
    ...changes,
  };
  return { input, clock, metrics, tried };
}

const answering =
  (result: ProviderResult): Run =>
  async () =>
    result;

describe('the next provider', () => {
  test.each(['timeout', 'unavailable', 'throttled'] as const)('is tried after %s', async (reason) => {
    const { input, tried } = chainOf([answering(failed(reason)), answering(DONE)]);
    expect(await runChain(input)).toEqual(KEPT);
    expect(tried).toEqual(['a', 'b']);
  });

  test('is tried after a provider that cannot work as it is registered', async () => {
    const { input, tried } = chainOf([answering(failed('configuration')), answering(DONE)]);
    expect(await runChain(input)).toEqual(KEPT);
    expect(tried).toEqual(['a', 'b']);
  });

  test.each<ProviderResult>([
    DONE,
    { kind: 'input-required', message: [{ text: 'which?' }] },
    { kind: 'auth-required', message: [{ text: 'who?' }] },
    { kind: 'rejected' },
    failed('refused'),
    failed('invalid-answer'),
    failed('declared'),
  ])('is not tried after $kind $reason', async (result) => {
    const { input, tried } = chainOf([answering(result), answering(DONE)]);
    expect((await runChain(input)).kind).toBe(result.kind);
    expect(tried).toEqual(['a']);
  });

  test('is tried when an adapter throws, and the error goes nowhere', async () => {
    const broken: Run = async () => {
      throw new Error('secret-words');
    };
    const { input, metrics } = chainOf([broken]);
    const result = await runChain(input);
    expect(result).toEqual(failed('unavailable'));
    expect(JSON.stringify([result, metrics.records])).not.toContain('secret-words');
    const missing = chainOf([broken, answering(DONE)], {
      adapterFor: (provider) => {
        if (provider.id === 'a') throw new Error('secret-words');
        return { run: answering(DONE) };
      },
    });
    expect(await runChain(missing.input)).toEqual(KEPT);
  });

  test('is not tried after an answer that cannot be kept', async () => {
    const { input, tried } = chainOf([
      answering({ kind: 'completed', artifacts: [{ parts: [] }] }),
      answering(DONE),
    ]);
    expect(await runChain(input)).toEqual(failed('invalid-answer'));
    expect(tried).toEqual(['a']);
  });
});

describe('a chain that is used up', () => {
  test('answers the last failure', async () => {
    const last = failed('declared', { retryable: true, message: [{ text: 'sorry' }] });
    const { input } = chainOf([answering(failed('throttled')), answering(last)]);
    expect(await runChain(input)).toEqual(last);
  });

  test('may be run again when any of its failures may pass', async () => {
    const { input } = chainOf([answering(failed('throttled')), answering(failed('configuration'))]);
    expect(await runChain(input)).toEqual(failed('configuration', { retryable: true }));
    const never = chainOf([answering(failed('configuration'))]);
    expect(await runChain(never.input)).toEqual(failed('configuration'));
  });

  test('without providers is a matter of configuration', async () => {
    expect(await runChain(chainOf([]).input)).toEqual(failed('configuration'));
  });
});

describe('time', () => {
  test('a provider that ignores its signal is left behind at its own limit', async () => {
    let seen: ProviderRequest | undefined;
    const slow: Run = (request) => {
      seen = request;
      return FOREVER();
    };
    const { input, clock, tried } = chainOf([slow, answering(DONE)]);
    const start = clock.now();
    const run = runChain(input);
    await clock.advance(9_999);
    expect(tried).toEqual(['a']);
    expect(seen?.signal.aborted).toBe(false);
    expect(seen?.deadline).toBe(start + 10_000);
    await clock.advance(1);
    expect(await run).toEqual(KEPT);
    expect(seen?.signal.aborted).toBe(true);
    expect(clock.sleeping).toBe(0);
  });

  test('the deadline ends an attempt earlier, and nothing is tried after it', async () => {
    const { input, clock, tried } = chainOf([FOREVER, answering(DONE)]);
    const request = makeRequest({ deadline: clock.now() + 4_000 });
    const run = runChain({ ...input, request });
    await clock.advance(4_000);
    expect(await run).toEqual(failed('timeout'));
    expect(tried).toEqual(['a']);
  });

  test('nothing is tried when the deadline has passed, also while the attempt was being recorded', async () => {
    let called = 0;
    const counting: Run = async () => {
      called++;
      return DONE;
    };
    const { input, clock } = chainOf([counting]);
    const late = makeRequest({ deadline: clock.now() });
    expect(await runChain({ ...input, request: late })).toEqual(failed('timeout'));
    const onAttempt = async () => {
      await clock.advance(60_000);
      return 'go' as const;
    };
    expect(await runChain({ ...input, onAttempt })).toEqual(failed('timeout'));
    expect(called).toBe(0);
  });

  test('a signal that aborts at the deadline reads as a timeout', async () => {
    const { input, clock } = chainOf([FOREVER]);
    const controller = new AbortController();
    let now = clock.now();
    // The owner of the signal keeps the deadline too, and its timer may be the first of the two.
    const unhurried = { now: () => now, sleep: () => new Promise<void>(() => {}) };
    const request = makeRequest({ deadline: now + 4_000, signal: controller.signal });
    const run = runChain({ ...input, clock: unhurried, request });
    await settle();
    now += 4_000;
    controller.abort();
    expect(await run).toEqual(failed('timeout'));
  });
});

describe('an abort', () => {
  test('ends the attempt at once, tells the adapter, and tries nobody else', async () => {
    let signal: AbortSignal | undefined;
    const { input, clock, tried } = chainOf([
      (request) => {
        signal = request.signal;
        return FOREVER();
      },
      answering(DONE),
    ]);
    const controller = new AbortController();
    const run = runChain({ ...input, request: { ...input.request, signal: controller.signal } });
    await settle();
    controller.abort();
    expect(await run).toEqual(failed('aborted'));
    expect(signal?.aborted).toBe(true);
    expect(tried).toEqual(['a']);
    expect(clock.sleeping).toBe(0);
  });

  test('before the start calls nobody', async () => {
    const { input, tried } = chainOf([answering(DONE)]);
    const request = { ...input.request, signal: AbortSignal.abort() };
    expect(await runChain({ ...input, request })).toEqual(failed('aborted'));
    expect(tried).toEqual([]);
  });

  test('of the caller before an attempt keeps that provider from being called', async () => {
    const called: string[] = [];
    const run: Run = async () => {
      called.push('x');
      return failed('throttled');
    };
    const { input } = chainOf([run, run], {
      onAttempt: async (_, index) => (index === 0 ? 'go' : 'stop'),
    });
    expect(await runChain(input)).toEqual(failed('aborted'));
    expect(called).toHaveLength(1);
  });
});

describe('progress', () => {
  test('of a provider that then failed stays, and what it reports after its end is dropped', async () => {
    const committed: string[] = [];
    let late: (() => Promise<void>) | undefined;
    const first: Run = async (request) => {
      await request.progress('from a');
      late = () => request.progress('too late');
      return failed('throttled');
    };
    const second: Run = async (request) => {
      await late?.();
      await request.progress('from b');
      return DONE;
    };
    const { input } = chainOf([first, second]);
    const progress = async (text: string) => {
      committed.push(text);
    };
    expect(await runChain({ ...input, request: { ...input.request, progress } })).toEqual(KEPT);
    expect(committed).toEqual(['from a', 'from b']);
  });

  test('that cannot be committed is the gateway’s own error: no other provider is tried', async () => {
    const lost = new Error('the store is away');
    let signal: AbortSignal | undefined;
    const swallowing: Run = async (request) => {
      signal = request.signal;
      await request.progress('half').catch(() => {});
      return DONE;
    };
    const { input, tried, clock } = chainOf([swallowing, answering(DONE)]);
    const request = { ...input.request, progress: () => Promise.reject(lost) };
    await expect(runChain({ ...input, request })).rejects.toBe(lost);
    expect(signal?.aborted).toBe(true);
    expect(tried).toEqual(['a']);
    expect(clock.sleeping).toBe(0);
  });

  test('an error of onAttempt is passed on, and the provider is not called', async () => {
    const lost = new Error('the store is away');
    let called = false;
    const { input } = chainOf(
      [
        async () => {
          called = true;
          return DONE;
        },
      ],
      { onAttempt: () => Promise.reject(lost) },
    );
    await expect(runChain(input)).rejects.toBe(lost);
    expect(called).toBe(false);
  });
});

test('each attempt counts by kind and outcome, with its duration and its tokens', async () => {
  const { input, clock, metrics } = chainOf([
    FOREVER,
    answering({ ...DONE, usage: { inputTokens: 7, outputTokens: 3 } } as ProviderResult),
  ]);
  const run = runChain(input);
  await clock.advance(10_000);
  await run;
  const dimensions = { kind: 'echo' };
  expect(metrics.records).toEqual([
    { name: 'ProviderAttempt', value: 1, dimensions: { ...dimensions, outcome: 'timeout' } },
    { name: 'ProviderDuration', value: 10_000, dimensions },
    { name: 'ProviderAttempt', value: 1, dimensions: { ...dimensions, outcome: 'completed' } },
    { name: 'ProviderDuration', value: 0, dimensions },
    { name: 'ProviderInputTokens', value: 7, dimensions },
    { name: 'ProviderOutputTokens', value: 3, dimensions },
  ]);
});
