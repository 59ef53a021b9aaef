import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LambdaEndpoint, startLambda } from '../../infra/local/lambda.ts';
import { loadHandler } from '../../infra/local/lambda-module.ts';
import { localClient } from '../../infra/local/local-client.ts';

class QuotaError extends Error {
  override readonly name = 'QuotaError';
}
const seen: unknown[] = [];
let lambda: LambdaEndpoint;
let client: LambdaClient;

beforeAll(async () => {
  lambda = await startLambda({
    greet: (event, context) => ({
      event,
      name: context.functionName,
      left: context.getRemainingTimeInMillis() > 0,
    }),
    fail: () => {
      throw new QuotaError('over');
    },
    huge: () => 'x'.repeat(7_000_000),
    note: async (event) => void seen.push(event),
  });
  client = new LambdaClient({ ...localClient(lambda.endpoint), maxAttempts: 1 });
});
afterAll(async () => {
  client.destroy();
  await lambda.stop();
});

const invoke = (FunctionName: string, payload: unknown = {}) =>
  client.send(new InvokeCommand({ FunctionName, Payload: JSON.stringify(payload) }));

describe('the local Lambda endpoint', () => {
  it.each([
    'greet',
    'arn:aws:lambda:us-east-1:000000000000:function:greet',
    '000000000000:function:greet',
    'greet:live',
  ])('runs the function that %s names and gives back what it returned', async (name) => {
    const answer = await invoke(name, { hello: 'wörld' });
    expect(answer.FunctionError).toBeUndefined();
    expect(answer.StatusCode).toBe(200);
    expect(JSON.parse(answer.Payload?.transformToString() ?? '')).toEqual({
      event: { hello: 'wörld' },
      name: 'greet',
      left: true,
    });
  });

  it('answers a thrown error with its type and message as a function error', async () => {
    const answer = await invoke('fail');
    expect(answer.FunctionError).toBe('Unhandled');
    const payload = JSON.parse(answer.Payload?.transformToString() ?? '');
    expect(payload).toMatchObject({ errorType: 'QuotaError', errorMessage: 'over' });
  });

  it('answers a result above six megabytes as a function error', async () => {
    const payload = (await invoke('huge')).Payload?.transformToString() ?? '';
    expect(JSON.parse(payload)).toMatchObject({ errorType: 'Function.ResponseSizeTooLarge' });
  });

  it('answers an unknown function, and names of built-in properties, as not found', async () => {
    for (const name of ['none', 'constructor']) {
      await expect(invoke(name)).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
    }
  });

  it('accepts an asynchronous invocation at once', async () => {
    const event = new InvokeCommand({ FunctionName: 'note', InvocationType: 'Event', Payload: '{"n":1}' });
    expect((await client.send(event)).StatusCode).toBe(202);
    await expect.poll(() => seen).toEqual([{ n: 1 }]);
    await expect.poll(() => lambda.running()).toBe(0);
  });

  it('loads the handler of an ES module and of a CommonJS module, and names a module without one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealpost-lambda-'));
    try {
      writeFileSync(join(folder, 'a.mjs'), 'export const handler = () => "esm";');
      writeFileSync(join(folder, 'b.cjs'), 'exports.handler = () => "cjs";');
      writeFileSync(join(folder, 'c.mjs'), 'export const other = 1;');
      const context = {} as never;
      expect((await loadHandler(join(folder, 'a.mjs')))({}, context)).toBe('esm');
      expect((await loadHandler(join(folder, 'b.cjs')))({}, context)).toBe('cjs');
      await expect(loadHandler(join(folder, 'c.mjs'))).rejects.toThrow('handler');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
