import type { Clock } from '../runtime/ports.ts';
import type { Action, Key, Store } from '../storage/port.ts';
import { FORMAT } from './formats.ts';

/** Thrown when content that should be there cannot be read: missing, cut or broken. Retrying may help (P2). */
export class ContentUnreadable extends Error {
  readonly tag = 'ContentUnreadable';
  constructor() {
    super('stored content could not be read');
  }
}

/** Where a sealed value lies: its slices in order, and how many there were when it was first written. */
export interface SlicedPlace {
  readonly at: (slice: number) => Key;
  readonly slices: number;
}

/**
 * One sealed value, an item a slice. The first says how many there are: a value that is rewritten in place of another
 * (redacted, say) need not have as many.
 */
export function sliceItems(at: (slice: number) => Key, slices: readonly Uint8Array[]): Action[] {
  return slices.map((content, slice) => ({
    kind: 'put',
    table: 'state',
    item: { ...at(slice), v: FORMAT, content, ...(slice === 0 ? { of: slices.length } : {}) },
  }));
}

/** Pauses between reads of what is not visible yet, ms. */
const READ_AGAIN = [20, 50, 100, 200, 400];

/** The values at the places, as slices. Throws `ContentUnreadable` when one stays incomplete. */
export async function readValues(
  services: { readonly store: Store; readonly clock: Clock },
  places: readonly SlicedPlace[],
): Promise<Uint8Array[][]> {
  for (let again = 0; ; again++) {
    const values = await readOnce(services.store, places);
    if (values) return values;
    const pause = READ_AGAIN[again];
    if (pause === undefined) throw new ContentUnreadable();
    await services.clock.sleep(pause);
  }
}

async function readOnce(store: Store, places: readonly SlicedPlace[]): Promise<Uint8Array[][] | undefined> {
  const expected = places.map((place) => keysOf(place, place.slices));
  const found = await getMany(store, expected.flat());
  const values: Uint8Array[][] = [];
  for (const [i, place] of places.entries()) {
    const slices = expected[i]!.map((key) => found.get(key.pk));
    const of = Number(slices[0]?.['of'] ?? 0);
    if (of === 0) return undefined;
    if (of > place.slices) {
      const rest = keysOf(place, of).slice(place.slices);
      const more = await getMany(store, rest);
      slices.push(...rest.map((key) => more.get(key.pk)));
    }
    const contents = slices.slice(0, of).map((item) => item?.['content']);
    if (!contents.every((content) => content instanceof Uint8Array)) return undefined;
    values.push(contents);
  }
  return values;
}

/** Keys of a place, spread over partitions, so that the partition key alone names an item. */
export function keysOf(place: SlicedPlace, count: number): Key[] {
  return Array.from({ length: count }, (_, slice) => place.at(slice));
}

async function getMany(store: Store, wanted: readonly Key[]) {
  const items = await store.getMany(wanted.map((key) => ({ table: 'state' as const, key })));
  return new Map(wanted.map((key, i) => [key.pk, items[i]]));
}
