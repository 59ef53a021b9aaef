import { parentPort, workerData } from 'node:worker_threads';
import { loadHandler } from './lambda-module.ts';

/**
 * Runs one function provider's module apart from the host: what it throws outside of its promise, a loop without end or
 * an exit is the end of its own thread only.
 */
const { path } = workerData as { readonly path: string };
const port = parentPort!;

const handler = await loadHandler(path);
port.postMessage({ kind: 'ready' });
port.on('message', async ({ id, event, context }) => {
  const { deadline, ...facts } = context;
  const given = { ...facts, getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()) };
  try {
    const answer = await handler(event, given);
    port.postMessage({ kind: 'answer', id, payload: JSON.stringify(answer ?? null) ?? 'null' });
  } catch (error) {
    const { name, message, stack } =
      error instanceof Error ? error : { name: typeof error, message: String(error) };
    port.postMessage({ kind: 'error', id, name, message, stack });
  }
});
