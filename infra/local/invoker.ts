import { type Handler, lambdaContext } from './lambda.ts';

/** A function as the event sources call it. */
export interface Invocable {
  readonly name: string;
  readonly handler: Handler;
  readonly timeoutSeconds: number;
}

export interface Poller {
  /** Invocations that have not ended. */
  running(): number;
  /** Takes nothing new; resolves when the last invocation ended. */
  stop(): Promise<void>;
}

/** Gets what a function threw, or what an event source ran into, with the function's name. */
export type OnError = (functionName: string, error: unknown) => void;

/** Thrown for a function that did not end within its time. It goes on in the background, where nobody waits for it. */
export class FunctionTimeout extends Error {
  override readonly name = 'FunctionTimeout';
}

/** Calls a function once and gives back what it returned; rejects with what it threw or with `FunctionTimeout`. */
export async function invoke({ name, handler, timeoutSeconds }: Invocable, event: unknown): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `${name} did not end within ${timeoutSeconds} s`;
    timer = setTimeout(() => reject(new FunctionTimeout(message)), timeoutSeconds * 1_000);
  });
  try {
    return await Promise.race([(async () => handler(event, lambdaContext(name, timeoutSeconds)))(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The identifiers in a function's `batchItemFailures`; none when it returned nothing. Undefined when the answer is not
 * one, or names what is not in the batch: the platform then takes the whole batch as failed.
 */
export function failuresOf(answer: unknown, batch: ReadonlySet<string>): string[] | undefined {
  if (answer === undefined || answer === null) return [];
  const failures = (answer as { batchItemFailures?: unknown }).batchItemFailures;
  if (failures === undefined || failures === null) return [];
  if (!Array.isArray(failures)) return undefined;
  const identifiers = failures.map(
    (failure) => (failure as { itemIdentifier?: unknown } | null)?.itemIdentifier,
  );
  return identifiers.every((identifier) => typeof identifier === 'string' && batch.has(identifier))
    ? (identifiers as string[])
    : undefined;
}
