import { Worker } from 'node:worker_threads';
import type { Context } from 'aws-lambda';
import type { Handler } from './lambda.ts';
import { FunctionModuleUnusable } from './lambda-module.ts';

export interface FunctionModule {
  readonly handler: Handler;
  stop(): Promise<unknown>;
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

type Told =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly id: number; readonly payload: string }
  | {
      readonly kind: 'error';
      readonly id: number;
      readonly name: string;
      readonly message: string;
      readonly stack?: string;
    };

/**
 * A module given by `--function`, in a thread of its own that is started anew when it dies: an invocation fails then, as
 * it would on Lambda, and the gateway goes on. Rejects with `FunctionModuleUnusable` where the module cannot be loaded.
 */
export async function startFunctionModule(name: string, path: string): Promise<FunctionModule> {
  let thread: Promise<Thread> | undefined = startThread(name, path, () => {
    thread = undefined;
  });
  await thread;
  return {
    async handler(event, context) {
      thread ??= startThread(name, path, () => {
        thread = undefined;
      });
      return (await thread).invoke(event, context);
    },
    stop: async () => (await thread?.catch(() => undefined))?.worker.terminate(),
  };
}

interface Thread {
  readonly worker: Worker;
  invoke(event: unknown, context: Context): Promise<unknown>;
}

function startThread(name: string, path: string, ended: () => void): Promise<Thread> {
  const worker = new Worker(new URL('./function-worker.ts', import.meta.url), {
    workerData: { path },
    // Standard output is the host's own, for its ready line.
    stdout: true,
    stderr: true,
  });
  worker.stdout.pipe(process.stderr, { end: false });
  worker.stderr.pipe(process.stderr, { end: false });
  worker.unref();
  const waiting = new Map<number, Waiting>();
  let last = 0;
  const thread: Thread = {
    worker,
    invoke(event, context) {
      const id = ++last;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, event, context: plainContext(context) });
      });
    },
  };
  return new Promise((resolve, reject) => {
    const die = (error: Error) => {
      ended();
      for (const { reject: fail } of waiting.values()) fail(error);
      waiting.clear();
      const { name: kind, message } = error;
      reject(
        kind === 'FunctionModuleUnusable'
          ? new FunctionModuleUnusable(message)
          : new FunctionModuleUnusable(
              `The function ${name} could not be loaded from ${path}: ${kind}: ${message}`,
            ),
      );
    };
    worker.on('error', (error) => die(error as Error));
    worker.on('exit', () => die(new Error('the function ended its process')));
    worker.on('message', (told: Told) => {
      if (told.kind === 'ready') return resolve(thread);
      const invocation = waiting.get(told.id);
      waiting.delete(told.id);
      if (told.kind === 'answer') return invocation?.resolve(JSON.parse(told.payload));
      invocation?.reject(Object.assign(new Error(told.message), { name: told.name, stack: told.stack }));
    });
  });
}

/** What can be sent to a thread: functions of the context are made there. */
function plainContext(context: Context) {
  const { functionName, functionVersion, invokedFunctionArn, memoryLimitInMB, awsRequestId } = context;
  const { logGroupName, logStreamName } = context;
  return {
    functionName,
    functionVersion,
    invokedFunctionArn,
    memoryLimitInMB,
    awsRequestId,
    logGroupName,
    logStreamName,
    deadline: Date.now() + context.getRemainingTimeInMillis(),
  };
}
