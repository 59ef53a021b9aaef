import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FunctionModule, startFunctionModule } from '../../infra/local/function-module.ts';
import { lambdaContext } from '../../infra/local/lambda.ts';

describe('a function provider on this machine', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'modules-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function module(source: string): Promise<FunctionModule> {
    const path = join(folder, `${Math.random()}.mjs`);
    writeFileSync(path, source);
    return startFunctionModule('f', path);
  }
  const invoke = async (started: FunctionModule, event: unknown) =>
    started.handler(event, lambdaContext('f', 30));

  test('answers, knows its context, and fails with what it throws', async () => {
    const started = await module(`
      export async function handler(event, context) {
        if (event.fail) throw new TypeError('no such order');
        return { said: event.text, name: context.functionName, left: context.getRemainingTimeInMillis() > 0 };
      }`);
    expect(await invoke(started, { text: 'hi' })).toEqual({ said: 'hi', name: 'f', left: true });
    await expect(invoke(started, { fail: true })).rejects.toMatchObject({
      name: 'TypeError',
      message: 'no such order',
    });
    await started.stop();
  });

  test.each([
    ['a rejection that nobody awaits', `Promise.reject(new Error('stray')); await new Promise(() => {});`],
    [
      'an error in a timer',
      `setTimeout(() => { throw new Error('late'); }, 1); await new Promise(() => {});`,
    ],
    ['an exit of its own', `process.exit(3);`],
  ])('fails one invocation by %s, and serves the next one', async (_, line) => {
    const started = await module(`
      export async function handler(event) {
        if (event.good) return 'served';
        ${line}
      }`);
    await expect(invoke(started, {})).rejects.toThrow();
    expect(await invoke(started, { good: true })).toBe('served');
    await started.stop();
  });

  test.each([
    ['is not there', join(tmpdir(), 'missing', 'm.mjs'), undefined],
    ['exports no handler', undefined, 'export const other = 1;'],
    ['throws while it is loaded', undefined, `throw new Error('broken');`],
  ])('that %s is refused in a sentence', async (_, path, source) => {
    const start = source === undefined ? startFunctionModule('f', path!) : module(source);
    await expect(start).rejects.toMatchObject({ name: 'FunctionModuleUnusable' });
  });
});
