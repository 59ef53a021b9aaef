import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** A program of `python/` that answers lines of JSON. It ends with its standard input, so with this process too. */
export interface Python extends AsyncDisposable {
  /** Rejects with {@link PythonError}. */
  ask<Result>(operation: string, input?: object): Promise<Result>;
}

/** What the program raised. `types`: names of the exception's classes, most derived first. */
export class PythonError extends Error {
  readonly types: readonly string[];
  readonly data: unknown;
  /** Of the HTTP answer that caused it. */
  readonly status: number | undefined;
  constructor(told: {
    readonly types: readonly string[];
    readonly message: string;
    readonly data: unknown;
    readonly status: number | null;
  }) {
    super(`${told.types[0]}: ${told.message}`);
    this.types = told.types;
    this.name = told.types[0] ?? 'PythonError';
    this.data = told.data;
    this.status = told.status ?? undefined;
  }
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: ConstructorParameters<typeof PythonError>[0];
}

const interpreter = join(import.meta.dirname, '.venv/bin/python');
/** Of its standard error, kept for the message of a program that ends too early. */
const KEPT_CHARACTERS = 4_000;

export function startPython(program: 'client' | 'server'): Python {
  if (!existsSync(interpreter)) {
    throw new Error('test/interop/.venv is not there: `npm run test:interop` makes it.');
  }
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    interpreter,
    ['-u', '-B', join(import.meta.dirname, 'python', `${program}.py`)],
    { stdio: ['pipe', 'pipe', 'pipe'], env: { PATH: process.env['PATH'], PYTHONUTF8: '1' } },
  );
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let [errors, asked, ended] = ['', 0, false];
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-KEPT_CHARACTERS);
  });
  createInterface(child.stdout).on('line', (line) => {
    const answer = JSON.parse(line) as Answer;
    const held = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (answer.error) held?.reject(new PythonError(answer.error));
    else held?.resolve(answer.result);
  });
  child.stdin.on('error', () => {});
  const exit = once(child, 'close').then(([code]) => {
    ended = true;
    for (const held of waiting.values()) held.reject(new Error(`${program}.py ended (${code}): ${errors}`));
  });
  return {
    ask<Result>(operation: string, input: object = {}) {
      if (ended) throw new Error(`${program}.py has ended: ${errors}`);
      asked += 1;
      const held = Promise.withResolvers<unknown>();
      waiting.set(asked, held);
      child.stdin.write(`${JSON.stringify({ id: asked, operation, input })}\n`);
      return held.promise as Promise<Result>;
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exit;
    },
  };
}
