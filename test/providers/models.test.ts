import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ExchangeError } from '../../shared/guard/index.ts';
import { createBedrockAdapter, createOpenAiAdapter } from '../../shared/providers/models.ts';
import type { Provider } from '../../shared/registry/types.ts';
import { type FakeServer, json, type Respond, startFakeServer } from './fake-servers.ts';
import { agentMessage, makeRequest, userMessage } from './requests.ts';

type OpenAi = Extract<Provider, { kind: 'openai' }>;
type Bedrock = Extract<Provider, { kind: 'bedrock' }>;

const SECRET = 'secret-words';
const API_KEY = 'key-nobody-may-see';

let server: FakeServer;
let printed: string[];
beforeAll(async () => {
  server = await startFakeServer();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.requests.length = 0;
  printed = [];
  const print = (...words: unknown[]) => {
    printed.push(words.map(String).join(' '));
    return true;
  };
  vi.spyOn(process, 'emitWarning').mockImplementation(print as typeof process.emitWarning);
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    vi.spyOn(console, method).mockImplementation(print);
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  expect(printed, 'nothing is printed by a model call').toEqual([]);
});

function openai(changes: Partial<OpenAi> = {}, ports: { fetch?: typeof fetch; key?: string } = {}) {
  const provider: OpenAi = {
    id: 'p',
    kind: 'openai',
    baseUrl: `${server.url}/v1`,
    model: 'small',
    trustedHosts: [],
    timeoutSeconds: 10,
    ...changes,
  };
  return createOpenAiAdapter(provider, {
    fetch: ports.fetch ?? globalThis.fetch,
    openApiKey: async () => ports.key,
  });
}

function bedrock(
  changes: Partial<Bedrock> = {},
  ports: Partial<Parameters<typeof createBedrockAdapter>[1]> = {},
) {
  const provider: Bedrock = {
    id: 'p',
    kind: 'bedrock',
    model: 'some.model-v1:0',
    timeoutSeconds: 10,
    ...changes,
  };
  return createBedrockAdapter(provider, {
    fetch: globalThis.fetch,
    credentials: async () => ({ accessKeyId: 'AKID', secretAccessKey: API_KEY, sessionToken: 'session' }),
    region: 'eu-central-1',
    endpoint: server.url,
    ...ports,
  });
}

function completion(message: object, finish = 'stop', usage: unknown = undefined): Respond {
  return json(200, {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'small',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    ...(usage === undefined ? {} : { usage }),
  });
}

function converse(text: string, stopReason = 'end_turn'): Respond {
  return json(200, {
    output: { message: { role: 'assistant', content: [{ text }] } },
    stopReason,
    usage: { inputTokens: 11, outputTokens: 5, totalTokens: 16 },
  });
}

describe('an OpenAI-compatible endpoint', () => {
  test('gets instructions, conversation, settings and key, and its text becomes one artifact', async () => {
    server.respond = completion({ content: 'the answer' }, 'stop', {
      prompt_tokens: 11,
      completion_tokens: 5,
      total_tokens: 16,
    });
    const request = makeRequest({
      instructions: 'be brief',
      history: [userMessage([{ text: 'h1' }]), agentMessage([{ text: 'h2' }])],
      message: userMessage([{ text: 'look' }, { raw: 'iVBORw0KGgo=', mediaType: 'image/png' }]),
    });
    const adapter = openai({ maxOutputTokens: 100, temperature: 0.5 }, { key: API_KEY });
    expect(await adapter.run(request)).toEqual({
      kind: 'completed',
      artifacts: [{ name: 'answer', parts: [{ text: 'the answer' }] }],
      usage: { inputTokens: 11, outputTokens: 5 },
    });
    const [seen] = server.requests;
    expect(seen?.path).toBe('/v1/chat/completions');
    expect(seen?.headers.authorization).toBe(`Bearer ${API_KEY}`);
    expect(JSON.parse(seen!.body)).toMatchObject({
      model: 'small',
      max_tokens: 100,
      temperature: 0.5,
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'h1' },
        { role: 'assistant', content: 'h2' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          ],
        },
      ],
    });
  });

  test('gets no credential where none is registered', async () => {
    server.respond = completion({ content: 'x' });
    vi.stubEnv('OPENAI_API_KEY', API_KEY);
    await openai().run(makeRequest());
    vi.unstubAllEnvs();
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  test('is the only address a call goes to: urls of parts are never fetched', async () => {
    server.respond = completion({ content: 'x' });
    const called: string[] = [];
    const recording: typeof fetch = (input, init) => {
      called.push(String(input));
      return globalThis.fetch(input, init);
    };
    const elsewhere = vi.spyOn(globalThis, 'fetch');
    const url = `${server.url}/elsewhere.png`;
    const request = makeRequest({ message: userMessage([{ url, mediaType: 'image/png' }]) });
    await openai({}, { fetch: recording }).run(request);
    expect(called).toEqual([`${server.url}/v1/chat/completions`]);
    expect(elsewhere).toHaveBeenCalledTimes(1);
    expect(server.requests[0]?.body).toContain(url);
  });

  test('is called once, whatever it answers', async () => {
    server.respond = json(503, {});
    await openai().run(makeRequest());
    expect(server.requests).toHaveLength(1);
  });

  test('whose answer was cut by the token limit says so in the artifact', async () => {
    server.respond = completion({ content: 'half' }, 'length');
    expect(await openai().run(makeRequest())).toEqual({
      kind: 'completed',
      artifacts: [{ name: 'answer', parts: [{ text: 'half' }], metadata: { 'sealpost/truncated': true } }],
    });
  });

  test('publishes nothing to a tracing channel', async () => {
    server.respond = completion({ content: 'x' });
    const published: unknown[] = [];
    const listen = (message: unknown) => published.push(message);
    const channels = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map(
      (step) => `tracing:ai:telemetry:${step}`,
    );
    for (const channel of channels) subscribe(channel, listen);
    await openai().run(makeRequest());
    for (const channel of channels) unsubscribe(channel, listen);
    expect(published).toEqual([]);
  });
});

describe('a failure of an endpoint has a class and none of its words:', () => {
  const failing = (status: number) =>
    json(status, { error: { message: SECRET, type: SECRET, code: SECRET } });
  test.each<[string, Respond, string, boolean]>([
    ['429', failing(429), 'throttled', true],
    ['500', failing(500), 'unavailable', true],
    ['503 that is no JSON', json(503, `<html>${SECRET}</html>`), 'unavailable', true],
    ['408', failing(408), 'timeout', true],
    ['400', failing(400), 'refused', false],
    ['413', failing(413), 'refused', false],
    ['401', failing(401), 'configuration', false],
    ['403', failing(403), 'configuration', false],
    ['404', failing(404), 'configuration', false],
    ['a lost connection', (response) => response.destroy(), 'unavailable', true],
    ['an answer that is no JSON', json(200, `{${SECRET}`), 'invalid-answer', true],
    ['an answer of another form', json(200, { answer: SECRET }), 'invalid-answer', true],
    ['an empty answer', json(200, ''), 'invalid-answer', true],
    ['an empty text', completion({ content: ' ' }), 'invalid-answer', true],
    ['a content filter', completion({ content: SECRET }, 'content_filter'), 'refused', false],
    ['a refusal', completion({ content: null, refusal: SECRET }), 'refused', false],
  ])('%s', async (_, respond, reason, retryable) => {
    server.respond = respond;
    const result = await openai({}, { key: API_KEY }).run(makeRequest());
    expect(result).toEqual({ kind: 'failed', reason, retryable });
    expect(JSON.stringify(result)).not.toMatch(`${SECRET}|${API_KEY}`);
  });

  test('tokens spent on a refusal are still told', async () => {
    const usage = { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 };
    server.respond = completion({ content: null, refusal: SECRET }, 'stop', usage);
    expect(await openai().run(makeRequest())).toEqual({
      kind: 'failed',
      reason: 'refused',
      retryable: false,
      usage: { inputTokens: 2, outputTokens: 1 },
    });
  });

  test.each([
    [{ kind: 'refused', rule: 'address' }, 'configuration'],
    [{ kind: 'redirect', status: 302 }, 'configuration'],
    [{ kind: 'malformed-response', code: 'X' }, 'invalid-answer'],
    [{ kind: 'timeout', phase: 'connect' }, 'timeout'],
    [{ kind: 'dns-failure', reason: 'timeout' }, 'unavailable'],
    [{ kind: 'reset', phase: 'exchange', code: 'ECONNRESET' }, 'unavailable'],
  ] as const)('the guard’s %o', async (failure, reason) => {
    const bare: typeof fetch = () => Promise.reject(new ExchangeError(failure));
    const wrapped: typeof fetch = () =>
      Promise.reject(new TypeError('fetch failed', { cause: new ExchangeError(failure) }));
    expect(await openai({}, { fetch: bare }).run(makeRequest())).toMatchObject({ kind: 'failed', reason });
    expect(await openai({}, { fetch: wrapped }).run(makeRequest())).toMatchObject({ kind: 'failed', reason });
  });

  test('a key that cannot be opened now', async () => {
    const provider: OpenAi = {
      id: 'p',
      kind: 'openai',
      baseUrl: server.url,
      model: 'm',
      trustedHosts: [],
      timeoutSeconds: 1,
    };
    const adapter = createOpenAiAdapter(provider, {
      fetch: globalThis.fetch,
      openApiKey: () => Promise.reject(new Error(SECRET)),
    });
    expect(await adapter.run(makeRequest())).toEqual({
      kind: 'failed',
      reason: 'unavailable',
      retryable: true,
    });
    expect(server.requests).toHaveLength(0);
  });
});

describe('an abort', () => {
  test.each([
    ['openai', () => openai()],
    ['bedrock', () => bedrock()],
  ])('ends a call of %s under way', async (_, adapter) => {
    server.respond = () => {};
    const controller = new AbortController();
    const arrived = server.nextRequest();
    const run = adapter().run(makeRequest({ signal: controller.signal }));
    await arrived;
    controller.abort();
    expect(await run).toMatchObject({ kind: 'failed', reason: 'aborted' });
  });
});

describe('Amazon Bedrock', () => {
  test('gets a signed Converse call of the provider’s region, and its text becomes one artifact', async () => {
    server.respond = converse('the answer');
    vi.stubEnv('AWS_BEARER_TOKEN_BEDROCK', 'a-token-of-the-environment');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'of-the-environment');
    const adapter = bedrock({ region: 'eu-west-1', maxOutputTokens: 100, temperature: 0.5 });
    const result = await adapter.run(makeRequest({ instructions: 'be brief' }));
    vi.unstubAllEnvs();
    expect(result).toEqual({
      kind: 'completed',
      artifacts: [{ name: 'answer', parts: [{ text: 'the answer' }] }],
      usage: { inputTokens: 11, outputTokens: 5 },
    });
    const [seen] = server.requests;
    expect(seen?.path).toBe('/model/some.model-v1%3A0/converse');
    expect(seen?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-west-1\/bedrock\/aws4_request/,
    );
    expect(seen?.headers['x-amz-security-token']).toBe('session');
    expect(JSON.parse(seen!.body)).toMatchObject({
      system: [{ text: 'be brief' }],
      messages: [{ role: 'user', content: [{ text: 'hello' }] }],
      inferenceConfig: { maxTokens: 100, temperature: 0.5 },
    });
  });

  test('is signed for the gateway’s region where the provider names none', async () => {
    server.respond = converse('x');
    await bedrock().run(makeRequest());
    expect(server.requests[0]?.headers.authorization).toContain('/eu-central-1/bedrock/');
  });

  test.each<[string, Respond, string, boolean]>([
    ['throttling', json(429, { message: SECRET }), 'throttled', true],
    ['an outage', json(503, { message: SECRET }), 'unavailable', true],
    ['a model error', json(424, { message: SECRET }), 'unavailable', true],
    ['a missing permission', json(403, { message: SECRET }), 'configuration', false],
    ['an unknown model', json(404, { message: SECRET }), 'configuration', false],
    ['a request it will not take', json(400, { message: SECRET }), 'refused', false],
    ['a guardrail', converse(SECRET, 'guardrail_intervened'), 'refused', false],
  ])('fails by class, without its words, at %s', async (_, respond, reason, retryable) => {
    server.respond = respond;
    const result = await bedrock().run(makeRequest());
    expect(result).toMatchObject({ kind: 'failed', reason, retryable });
    expect(JSON.stringify(result)).not.toMatch(`${SECRET}|${API_KEY}`);
  });

  test('without credentials is a matter of configuration', async () => {
    const credentials = () => Promise.reject(new Error(SECRET));
    expect(await bedrock({}, { credentials }).run(makeRequest())).toEqual({
      kind: 'failed',
      reason: 'configuration',
      retryable: false,
    });
  });

  test('prints no warning about a setting that its model does not take', async () => {
    server.respond = converse('x');
    await bedrock({ model: 'anthropic.claude-opus-4-7', temperature: 3 }).run(makeRequest());
    expect(globalThis).not.toHaveProperty('AI_SDK_LOG_WARNINGS');
  });
});
