import { keys } from '../storage/keys.ts';
import type { Action, Condition, Key } from '../storage/port.ts';
import type { MessageRef, ResultRef, Revision } from './formats.ts';
import type { StateServices } from './services.ts';

/** Where a task's content lies, by its revisions. */
export interface ContentRefs {
  readonly messages: readonly MessageRef[];
  readonly result?: ResultRef | undefined;
}

export function contentOf(revisions: readonly Revision[]): ContentRefs {
  return {
    messages: revisions.flatMap(({ message }) => (message ? [message] : [])),
    result: revisions.findLast(({ result }) => result)?.result,
  };
}

/** The place of a sealed value: the key of each of its slices, of which the first says how many there are. */
export type ValuePlace = (slice: number) => Key;

/** The values of one copy of a task's content. */
export function placesOfContent(task: string, { messages, result }: ContentRefs, copy: string): ValuePlace[] {
  const places: ValuePlace[] = messages.map(
    ({ number }) =>
      (slice) =>
        keys.message(task, number, copy, slice),
  );
  if (result) places.push((slice) => keys.result(task, result.id, copy, slice));
  return places;
}

/** Deletes sealed values, each with its first slice last, which knows of the others. Harmless to repeat. */
export async function deleteValues(
  services: Pick<StateServices, 'store'>,
  places: readonly ValuePlace[],
): Promise<void> {
  const firsts = await services.store.getMany(places.map((at) => ({ table: 'state', key: at(0) })));
  const standing = places.flatMap((at, i) => {
    const item = firsts[i];
    return item ? [{ at, slices: Math.max(1, Number(item['of'])) }] : [];
  });
  const rest = standing.flatMap(({ at, slices }) =>
    Array.from({ length: slices - 1 }, (_, slice) => at(slice + 1)),
  );
  await deleteItems(services, 'state', rest);
  await deleteItems(
    services,
    'state',
    standing.map(({ at }) => at(0)),
  );
}

const AT_ONCE = 8;

/** Deletes items, some at a time; `when`: only those for which it holds. */
export async function deleteItems(
  services: Pick<StateServices, 'store'>,
  table: Extract<Action, { kind: 'delete' }>['table'],
  wanted: readonly Key[],
  when?: Condition,
): Promise<void> {
  for (let i = 0; i < wanted.length; i += AT_ONCE) {
    await Promise.all(
      wanted
        .slice(i, i + AT_ONCE)
        .map(({ pk, sk }) =>
          services.store.write({ kind: 'delete', table, key: { pk, sk }, ...(when ? { when: [when] } : {}) }),
        ),
    );
  }
}
