import type { JsonObject, Message } from '../protocol/index.ts';

/** Gateways that a message may come over and still be handed on: some that delegate in a circle would go on for ever. */
export const MAX_HOPS = 8;
const NAME = 'sealpost/hops';

/** Over how many gateways a message came, as it says itself; one that says nothing of the kind came from its author. */
export function hopsOf({ metadata }: Pick<Message, 'metadata'>): number {
  const hops = metadata?.[NAME];
  return typeof hops === 'number' && hops > 0 ? Math.ceil(hops) : 0;
}

/** What the message that is handed on says; the same each time it is sent. */
export function hopped(hops: number): JsonObject {
  return { [NAME]: hops };
}
