import { keys } from '../storage/keys.ts';
import type { Store } from '../storage/port.ts';
import { type Dependency, dependencyOf } from './formats.ts';

/** Dependencies of a task, in their order; of one turn, or of all. */
export async function dependenciesOf(
  services: { readonly store: Store },
  task: string,
  turn?: number,
): Promise<Dependency[]> {
  const found: Dependency[] = [];
  let after: Readonly<Record<string, string>> | undefined;
  do {
    const page = await services.store.query({
      table: 'delegation',
      partition: keys.dependency(task, '').pk,
      consistent: true,
      ...(turn === undefined ? {} : { sort: { prefix: `${String(turn).padStart(4, '0')}.` } }),
      ...(after ? { after } : {}),
    });
    found.push(...page.items.map(dependencyOf));
    after = page.next;
  } while (after);
  return found;
}
