import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createFunctionAdapter, createLambdaClient } from '../../shared/providers/function-lambda.ts';
import { type FakeServer, json, type Respond, startFakeServer } from './fake-servers.ts';
import { makeRequest, userMessage } from './requests.ts';

let server: FakeServer;
beforeAll(async () => {
  server = await startFakeServer();
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  server.requests.length = 0;
});

const flaws: object[] = [];

function adapter(functionName = 'helper') {
  const environment = { AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_LAMBDA: server.url };
  return createFunctionAdapter(createLambdaClient(environment), functionName, (flaw) => flaws.push(flaw));
}

function functionError(payload: unknown): Respond {
  return json(200, payload, { 'x-amz-function-error': 'Unhandled' });
}

test('invokes the function synchronously, once, with the contract as payload', async () => {
  server.respond = json(200, { artifacts: [{ text: 'done' }] });
  const result = await adapter('my-function').run(makeRequest());
  expect(result).toEqual({ kind: 'completed', artifacts: [{ parts: [{ text: 'done' }] }] });
  expect(server.requests).toHaveLength(1);
  const [request] = server.requests;
  expect(request?.path).toBe('/2015-03-31/functions/my-function/invocations');
  expect(request?.headers['x-amz-invocation-type'] ?? 'RequestResponse').toBe('RequestResponse');
  expect(JSON.parse(request!.body)).toMatchObject({
    version: 1,
    message: { messageId: 'm-1', parts: [{ text: 'hello' }] },
  });
});

test('commits progress in order, each before the next, before it answers the ending', async () => {
  server.respond = json(200, { progress: ['one', 'two'], question: 'which?' });
  const events: string[] = [];
  const progress = async (text: string) => {
    events.push(`start ${text}`);
    await Promise.resolve();
    events.push(`end ${text}`);
  };
  const result = await adapter().run(makeRequest({ progress }));
  expect(result).toEqual({ kind: 'input-required', message: [{ text: 'which?' }] });
  expect(events).toEqual(['start one', 'end one', 'start two', 'end two']);
});

test('notes where an answer does not fit the contract', async () => {
  server.respond = json(200, { artifacts: [{ parts: [] }] });
  flaws.length = 0;
  await adapter('my-function').run(makeRequest());
  expect(flaws).toEqual([{ function: 'my-function', flaw: 'artifacts[0].parts' }]);
});

describe('failures have a class and no text of the function:', () => {
  const secret = 'secret-words';
  test.each<[string, Respond, string, boolean]>([
    [
      'an error it threw',
      functionError({ errorType: 'Error', errorMessage: secret, trace: [secret] }),
      'declared',
      true,
    ],
    [
      'its time limit',
      functionError({ errorType: 'Sandbox.Timedout', errorMessage: secret }),
      'timeout',
      true,
    ],
    [
      'its time limit, in words',
      functionError({ errorMessage: '2026-01-01T00:00:00Z abc Task timed out after 3.00 seconds' }),
      'timeout',
      true,
    ],
    [
      'an answer too large',
      functionError({ errorType: 'Function.ResponseSizeTooLarge', errorMessage: secret }),
      'invalid-answer',
      false,
    ],
    ['an answer that is no JSON', json(200, `{${secret}`), 'invalid-answer', false],
    ['an answer of no form', json(200, { answer: secret }), 'invalid-answer', false],
    ['no answer', json(200, ''), 'invalid-answer', false],
    [
      'throttling',
      json(
        429,
        { message: secret, Reason: 'ReservedFunctionConcurrentInvocationLimitExceeded' },
        {
          'x-amzn-errortype': 'TooManyRequestsException',
        },
      ),
      'throttled',
      true,
    ],
    [
      'an outage',
      json(500, { Message: secret }, { 'x-amzn-errortype': 'ServiceException' }),
      'unavailable',
      true,
    ],
    [
      'a function being updated',
      json(409, { message: secret }, { 'x-amzn-errortype': 'ResourceConflictException' }),
      'unavailable',
      true,
    ],
    [
      'a function that is not there',
      json(404, { Message: secret }, { 'x-amzn-errortype': 'ResourceNotFoundException' }),
      'configuration',
      false,
    ],
    [
      'a missing permission',
      json(403, { Message: secret }, { 'x-amzn-errortype': 'AccessDeniedException' }),
      'configuration',
      false,
    ],
    [
      'a disabled key',
      json(502, { Message: secret }, { 'x-amzn-errortype': 'KMSDisabledException' }),
      'configuration',
      false,
    ],
    [
      'a payload that Lambda finds too large',
      json(413, { message: secret }, { 'x-amzn-errortype': 'RequestTooLargeException' }),
      'refused',
      false,
    ],
    ['a lost connection', (response) => response.destroy(), 'unavailable', true],
  ])('%s', async (_, respond, reason, retryable) => {
    server.respond = respond;
    const result = await adapter().run(makeRequest());
    expect(result).toEqual({ kind: 'failed', reason, retryable });
    // The SDK repeats nothing: a second invocation would run the function twice.
    expect(server.requests).toHaveLength(1);
  });

  test('a conversation above 6 MB is refused before anything is sent, with a text for the client', async () => {
    const request = makeRequest({ message: userMessage([{ text: 'ä'.repeat(3 * 1024 * 1024) }]) });
    const result = await adapter().run(request);
    expect(result).toMatchObject({ kind: 'failed', reason: 'refused', retryable: false });
    expect(result).toHaveProperty('message', [{ text: expect.stringContaining('too large') }]);
    expect(server.requests).toHaveLength(0);
  });
});

test('an abort ends a call under way', async () => {
  server.respond = () => {};
  const controller = new AbortController();
  const arrived = server.nextRequest();
  const run = adapter().run(makeRequest({ signal: controller.signal }));
  await arrived;
  controller.abort();
  expect(await run).toMatchObject({ kind: 'failed', reason: 'aborted' });
});
