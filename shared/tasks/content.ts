import type { Artifact, Message } from '../protocol/index.ts';
import type { TaskSealer } from '../sealing/index.ts';
import { keys } from '../storage/keys.ts';
import type { Action, Key, Store } from '../storage/port.ts';
import { FORMAT, type Head, type MessageRef, type ResultRef } from './formats.ts';
import type { TaskServices } from './services.ts';

/** A message as sealed: what the run needs of the request stands beside it. */
export interface MessagePayload {
  readonly message: Message;
  /** Of the request: `configuration.acceptedOutputModes`. */
  readonly outputModes?: readonly string[];
}

/** A result as sealed: all artifacts and the final status message (design §4). */
export interface ResultPayload {
  readonly artifacts: readonly Artifact[];
  readonly message?: Message;
}

export const MAX_ARTIFACTS = 100;
/** Bytes of a result, sealed (design §4, sizes). */
export const MAX_RESULT_BYTES = 2_000_000;

/** Thrown when content that the head says is there cannot be read: missing, cut or broken. Retrying may help (P2). */
export class ContentUnreadable extends Error {
  readonly tag = 'ContentUnreadable';
  constructor() {
    super('stored content could not be read');
  }
}

/** The puts of a message's slices; part of the transaction that commits the message. */
export async function messageActions(
  sealer: TaskSealer,
  number: number,
  payload: MessagePayload,
): Promise<{ readonly ref: MessageRef; readonly actions: readonly Action[] }> {
  const task = sealer.owner.task;
  const slices = await sealer.seal(binding(keys.message(task, number, 0)), payload);
  return {
    ref: { number, slices: slices.length },
    actions: puts((slice) => keys.message(task, number, slice), slices),
  };
}

/** The puts of a result's slices, or `too-large`: nothing over the bound is ever written. */
export async function resultActions(
  sealer: TaskSealer,
  id: string,
  payload: ResultPayload,
): Promise<{ readonly ref: ResultRef; readonly actions: readonly Action[] } | 'too-large'> {
  if (payload.artifacts.length > MAX_ARTIFACTS) return 'too-large';
  const task = sealer.owner.task;
  const slices = await sealer.seal(binding(keys.result(task, id, 0)), payload);
  if (slices.reduce((sum, slice) => sum + slice.length, 0) > MAX_RESULT_BYTES) return 'too-large';
  return {
    ref: {
      id,
      slices: slices.length,
      artifacts: payload.artifacts.length,
      message: payload.message !== undefined,
    },
    actions: puts((slice) => keys.result(task, id, slice), slices),
  };
}

/** One thing to read; `undefined` parts of the answer mean that the content was removed. */
export interface ContentWanted {
  readonly head: Head;
  readonly messages: readonly MessageRef[];
  readonly result?: ResultRef | undefined;
}
export interface ContentRead {
  readonly messages: readonly MessagePayload[];
  readonly result?: ResultPayload;
}

/**
 * Reads and opens content of one task. Items of a transaction become visible one after another, so what is missing is
 * read again for a while before it counts as unreadable (design §4). Content that was removed (no salt) is `removed`.
 */
export async function readContent(
  services: TaskServices,
  wanted: ContentWanted,
): Promise<ContentRead | 'removed'> {
  const { head } = wanted;
  if (!head.salt) return 'removed';
  const sealer = sealerOf(services, head, head.salt);
  const places = [
    ...wanted.messages.map((ref) => slots((slice) => keys.message(head.task, ref.number, slice), ref.slices)),
    ...(wanted.result
      ? [slots((slice) => keys.result(head.task, wanted.result!.id, slice), wanted.result.slices)]
      : []),
  ];
  if (places.length === 0) return { messages: [] };
  const values = await readSlices(services, places);
  const opened = await Promise.all(values.map((slices, i) => sealer.open(binding(places[i]![0]!), slices)));
  const messages = opened.slice(0, wanted.messages.length) as MessagePayload[];
  return wanted.result ? { messages, result: opened.at(-1) as ResultPayload } : { messages };
}

export function sealerOf(services: Pick<TaskServices, 'sealer'>, head: Head, salt: Uint8Array): TaskSealer {
  return services.sealer.forTask({
    client: head.client,
    task: head.task,
    purpose: 'content',
    epoch: head.epoch,
    salt,
  });
}

/** Pauses between reads of what is not visible yet, ms. */
const READ_AGAIN = [20, 50, 100, 200, 400];

async function readSlices(
  services: TaskServices,
  places: readonly (readonly Key[])[],
): Promise<Uint8Array[][]> {
  for (let again = 0; ; again++) {
    const values = await getSlices(services.store, places);
    if (values) return values;
    const pause = READ_AGAIN[again];
    if (pause === undefined) throw new ContentUnreadable();
    await services.clock.sleep(pause);
  }
}

async function getSlices(
  store: Store,
  places: readonly (readonly Key[])[],
): Promise<Uint8Array[][] | undefined> {
  const items = await store.getMany(places.flat().map((key) => ({ table: 'state' as const, key })));
  const contents = items.map((item) => item?.['content']);
  if (!contents.every((content) => content instanceof Uint8Array)) return undefined;
  const values: Uint8Array[][] = [];
  let at = 0;
  for (const place of places) {
    values.push(contents.slice(at, at + place.length));
    at += place.length;
  }
  return values;
}

function puts(key: (slice: number) => Key, slices: readonly Uint8Array[]): Action[] {
  return slices.map((content, slice) => ({
    kind: 'put',
    table: 'state',
    item: { ...key(slice), v: FORMAT, content },
  }));
}

function slots(key: (slice: number) => Key, count: number): Key[] {
  return Array.from({ length: count }, (_, slice) => key(slice));
}

function binding(key: Key) {
  return { table: 'state', key, attribute: 'content' } as const;
}
