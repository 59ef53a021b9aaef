import type { Artifact, Message } from '../protocol/index.ts';
import { isRetainable } from '../registry/levels.ts';
import type { TaskSealer } from '../sealing/index.ts';
import { keys } from '../storage/keys.ts';
import type { Action, Key } from '../storage/port.ts';
import type { Head, MessageRef, ResultRef } from './formats.ts';
import { readHead } from './read-head.ts';
import type { TaskServices } from './services.ts';
import { readValues, sliceItems } from './slices.ts';

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

/** The puts of a message's slices; part of the transaction that commits the message. */
export async function messageActions(
  sealer: TaskSealer,
  copy: string,
  number: number,
  payload: MessagePayload,
): Promise<{ readonly ref: MessageRef; readonly actions: readonly Action[] }> {
  const place = (slice: number) => keys.message(sealer.owner.task, number, copy, slice);
  const slices = await sealer.seal(binding(place(0)), payload);
  return { ref: { number, slices: slices.length }, actions: sliceItems(place, slices) };
}

/**
 * The puts of a result's slices, or `too-large`: nothing over the bound is ever completed. `any-size` is for the redacted
 * copy of one that was, whose markers may be longer than what they replace.
 */
export async function resultActions(
  sealer: TaskSealer,
  copy: string,
  id: string,
  payload: ResultPayload,
  bound: 'bounded' | 'any-size' = 'bounded',
): Promise<{ readonly ref: ResultRef; readonly actions: readonly Action[] } | 'too-large'> {
  if (payload.artifacts.length > MAX_ARTIFACTS) return 'too-large';
  const place = (slice: number) => keys.result(sealer.owner.task, id, copy, slice);
  const slices = await sealer.seal(binding(place(0)), payload);
  const bytes = slices.reduce((sum, slice) => sum + slice.length, 0);
  if (bound === 'bounded' && bytes > MAX_RESULT_BYTES) return 'too-large';
  return {
    ref: {
      id,
      slices: slices.length,
      artifacts: payload.artifacts.length,
      message: payload.message !== undefined,
    },
    actions: sliceItems(place, slices),
  };
}

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
 * Reads content of one task for whoever may see it (P9): nothing where the level in force keeps none (`removed`), and
 * redacted on the way out where it is not stored so yet.
 */
export async function readContent(
  services: TaskServices,
  wanted: ContentWanted,
): Promise<ContentRead | 'removed'> {
  const level = await services.privacy.levelOf(wanted.head);
  if (!isRetainable(level)) return 'removed';
  const read = await readStored(services, wanted);
  if (read === 'removed' || level === 'full' || wanted.head.form === 'redacted') return read;
  return redacted(services, wanted.head.profile, read);
}

/**
 * Whether a finished task's content stands that may not be kept any more: its purge is on its way, and to remote parties
 * the task is gone already. Without its content a COMPLETED task would tell them something wrong (P1, P9).
 */
export async function isWithdrawn(
  services: Pick<TaskServices, 'privacy'>,
  head: Pick<Head, 'run' | 'salt' | 'ceiling' | 'profile' | 'tried' | 'createdAt'>,
): Promise<boolean> {
  return (
    head.run === 'ended' && head.salt !== undefined && !isRetainable(await services.privacy.levelOf(head))
  );
}

/**
 * Reads and opens content as it is stored; content that was rewritten meanwhile is read where it stands now. Content
 * that was removed (no salt, no head) is `removed`.
 */
export async function readStored(
  services: TaskServices,
  wanted: ContentWanted,
): Promise<ContentRead | 'removed'> {
  for (let head: Head | undefined = wanted.head; head?.salt; head = await readHead(services, head.task)) {
    const read = await readCopy(services, { ...wanted, head });
    if (read) return read;
  }
  return 'removed';
}

/**
 * Opens content exactly where the head says that it lies; `undefined`: the head that stands now says otherwise. Items of
 * a transaction become visible one after another, so what is missing is read again for a while before it counts as
 * unreadable (design §4).
 */
export async function readCopy(
  services: TaskServices,
  wanted: ContentWanted,
): Promise<ContentRead | undefined> {
  const { head } = wanted;
  if (!head.salt) return undefined;
  try {
    return await openAt(services, head, head.salt, wanted);
  } catch (error) {
    const now = await readHead(services, head.task);
    if (now?.copy === head.copy && now.salt) throw error;
    return undefined;
  }
}

/** Redacted copies, by the rules of the profile. */
export async function redacted(
  services: Pick<TaskServices, 'privacy'>,
  profile: string,
  content: ContentRead,
): Promise<ContentRead> {
  const ending = content.result?.message;
  const spoken = content.messages.map((payload) => payload.message);
  const kept = await services.privacy.redact(profile, {
    messages: ending ? [...spoken, ending] : spoken,
    artifacts: content.result?.artifacts ?? [],
  });
  const messages = content.messages.map((payload, i) => ({ ...payload, message: kept.messages[i]! }));
  if (!content.result) return { messages };
  const message = ending && kept.messages.at(-1);
  return { messages, result: { artifacts: kept.artifacts, ...(message ? { message } : {}) } };
}

async function openAt(
  services: TaskServices,
  head: Head,
  salt: Uint8Array,
  { messages, result }: ContentWanted,
): Promise<ContentRead> {
  const sealer = sealerOf(services, head, salt);
  const places = [
    ...messages.map(({ number, slices }) => ({
      slices,
      at: (slice: number) => keys.message(head.task, number, head.copy, slice),
    })),
    ...(result
      ? [
          {
            slices: result.slices,
            at: (slice: number) => keys.result(head.task, result.id, head.copy, slice),
          },
        ]
      : []),
  ];
  if (places.length === 0) return { messages: [] };
  const values = await readValues(services, places);
  const opened = await Promise.all(values.map((slices, i) => sealer.open(binding(places[i]!.at(0)), slices)));
  const payloads = opened.slice(0, messages.length) as MessagePayload[];
  return result ? { messages: payloads, result: opened.at(-1) as ResultPayload } : { messages: payloads };
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

function binding(key: Key) {
  return { table: 'state', key, attribute: 'content' } as const;
}
