import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

export type ModuleHandler = (event: unknown, context: unknown) => unknown;

/** Thrown when a module cannot serve as a function; the message is for who gave it. */
export class FunctionModuleUnusable extends Error {
  override readonly name = 'FunctionModuleUnusable';
}

/** The `handler` that a module exports, ES module or CommonJS; `path` is relative to the working directory. */
export async function loadHandler(path: string): Promise<ModuleHandler> {
  const file = resolve(path);
  if (!existsSync(file)) throw new FunctionModuleUnusable(`The module ${path} is not there.`);
  const module = (await import(pathToFileURL(file).href)) as {
    handler?: unknown;
    default?: { handler?: unknown };
  };
  const handler = module.handler ?? module.default?.handler;
  if (typeof handler !== 'function')
    throw new FunctionModuleUnusable(`The module ${path} exports no function named "handler".`);
  return handler as ModuleHandler;
}
