import { afterAll, beforeAll, expect, test } from 'vitest';
import { createProviderAdapters } from '../../shared/providers/adapter.ts';
import { createLambdaClient } from '../../shared/providers/function-lambda.ts';
import { runChain } from '../../shared/providers/index.ts';
import type { Provider, SealedSecret } from '../../shared/registry/types.ts';
import { type FakeServer, json, startFakeServer } from './fake-servers.ts';
import { countingIds, makeRequest, recordingMetrics } from './requests.ts';
import { VirtualClock } from './virtual-clock.ts';

const SEALED: SealedSecret = { sealed: new Uint8Array([1]), salt: new Uint8Array([2]), epoch: '202601' };

let server: FakeServer;
beforeAll(async () => {
  server = await startFakeServer();
});
afterAll(() => server[Symbol.asyncDispose]());

test('a chain over every kind falls back to the last, and what the others said or know goes nowhere', async () => {
  server.respond = (response, seen) => {
    const status = seen.path.startsWith('/v1/') ? 401 : seen.path.startsWith('/model/') ? 503 : 429;
    json(status, { message: 'secret-words', error: { message: 'secret-words' } })(response, seen);
  };
  const opened: [string, SealedSecret][] = [];
  const fetched: string[] = [];
  const base = { timeoutSeconds: 10, model: 'm' };
  const providers: Provider[] = [
    { ...base, id: 'a', kind: 'openai', baseUrl: `${server.url}/v1`, apiKey: SEALED, trustedHosts: [] },
    { ...base, id: 'b', kind: 'bedrock' },
    { timeoutSeconds: 10, id: 'c', kind: 'function', functionName: 'f' },
    { timeoutSeconds: 10, id: 'd', kind: 'echo' },
  ];
  const lambda = createLambdaClient({ AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_LAMBDA: server.url });
  const credentials = async () => ({ accessKeyId: 'AKID', secretAccessKey: 'key-nobody-may-see' });
  lambda.config.credentials = credentials;
  const adapterFor = createProviderAdapters({
    lambda,
    fetchFor: (provider) => {
      fetched.push(provider.id);
      return globalThis.fetch;
    },
    openSecret: async (provider, secret) => {
      opened.push([provider, secret]);
      return 'key-nobody-may-see';
    },
    noteFlaw: () => {},
    environment: { AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_BEDROCK_RUNTIME: server.url },
  });
  const clock = new VirtualClock();
  const metrics = recordingMetrics();
  const result = await runChain({
    providers,
    adapterFor,
    request: makeRequest({ deadline: clock.now() + 60_000 }),
    onAttempt: async () => 'go',
    newId: countingIds(),
    metrics,
    clock,
  });

  expect(result).toEqual({
    kind: 'completed',
    artifacts: [{ artifactId: 'id-1', name: 'echo', parts: [{ text: 'hello' }] }],
  });
  const attempts = metrics.records.filter(({ name }) => name === 'ProviderAttempt');
  expect(attempts.map(({ dimensions }) => [dimensions?.['kind'], dimensions?.['outcome']])).toEqual([
    ['openai', 'configuration'],
    ['bedrock', 'unavailable'],
    ['function', 'throttled'],
    ['echo', 'completed'],
  ]);
  expect(opened).toEqual([['a', SEALED]]);
  expect(fetched).toEqual(['a', 'b']);
  expect(server.requests.map(({ headers }) => headers.authorization?.slice(0, 30))).toEqual([
    'Bearer key-nobody-may-see',
    'AWS4-HMAC-SHA256 Credential=AK',
    'AWS4-HMAC-SHA256 Credential=AK',
  ]);
  expect(JSON.stringify([result, metrics.records])).not.toMatch(/secret-words|nobody-may-see/);
});

test('a secret is opened in the run that needs it, not before', () => {
  const adapterFor = createProviderAdapters({
    lambda: createLambdaClient({ AWS_REGION: 'us-east-1' }),
    fetchFor: () => globalThis.fetch,
    openSecret: () => Promise.reject(new Error('opened too early')),
    noteFlaw: () => {},
    environment: { AWS_REGION: 'us-east-1' },
  });
  const provider: Provider = {
    id: 'a',
    kind: 'openai',
    baseUrl: 'https://hooks.example.com',
    model: 'm',
    apiKey: SEALED,
    trustedHosts: [],
    timeoutSeconds: 1,
  };
  expect(adapterFor(provider)).toHaveProperty('run');
});
