import { keys } from '../storage/keys.ts';
import type { Store } from '../storage/port.ts';
import { type Config, configOf } from './formats.ts';

/** A push config by its internal id, read consistently; `undefined`: deleted, or purged with its task. */
export async function readConfig(
  services: { readonly store: Store },
  task: string,
  id: string,
): Promise<Config | undefined> {
  const item = await services.store.get('outbox', keys.pushConfig(task, id), { consistent: true });
  return item && configOf(item);
}
