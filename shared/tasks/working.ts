import type { Artifact, JsonValue, Message, Part } from '../protocol/index.ts';
import { SealBroken } from '../sealing/index.ts';
import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import type { MessagePayload, ResultPayload } from './content.ts';
import type { Head, WorkingRef } from './formats.ts';
import type { TaskServices } from './services.ts';
import { ContentUnreadable, readValues, sliceItems } from './slices.ts';

/**
 * A run's working state (design §7): what it still needs and what may not be kept. Sealed under a salt of its own, which
 * goes with the end of the run; outside the history, so no reader ever sees it.
 */
export interface WorkingValues {
  /** The original of message n, where the history keeps it redacted. */
  readonly message: MessagePayload;
  /** A result that waits for its approval. */
  readonly draft: ResultPayload;
  /** Which provider handed steps on, and what it left for itself. */
  readonly turn: {
    readonly provider: string;
    /** Number of the message that started the run: later ones may be replies that were passed on. */
    readonly message: number;
    /** Turns that this message led to so far. */
    readonly turns: number;
    readonly calls: readonly { readonly id: string; readonly agent: string }[];
    readonly transcript?: JsonValue | undefined;
  };
  /** What goes to a remote agent. */
  readonly outgoing: { readonly parts: readonly Part[]; readonly hops: number };
  /** A callback credential, until the remote acknowledged it. */
  readonly credential: { readonly credential: string };
  /** What a remote agent asks our client. */
  readonly question: { readonly parts: readonly Part[] };
  /** What a remote agent answered. */
  readonly answer: { readonly artifacts: readonly Artifact[]; readonly message?: readonly Part[] };
}

export const workingName = {
  message: (number: number) => `m${number}`,
  draft: () => 'draft',
  turn: () => 'turn',
  outgoing: (dependency: string) => `out.${dependency}`,
  credential: (dependency: string) => `cred.${dependency}`,
  question: (dependency: string) => `ask.${dependency}`,
  answer: (dependency: string) => `in.${dependency}`,
} as const;

/** A new working state; its ref is to be kept in the head. */
export async function beginWorking(
  services: TaskServices,
  client: string,
  task: string,
): Promise<WorkingRef> {
  const { owner } = await services.sealer.begin({ client, task, purpose: 'working' });
  const id = Buffer.from(services.random.bytes(6)).toString('base64url');
  return { id, salt: owner.salt, epoch: owner.epoch };
}

/** The puts of one value. */
export async function workingActions(
  services: TaskServices,
  owner: Pick<Head, 'client' | 'task'>,
  working: WorkingRef,
  name: string,
  value: WorkingValues[keyof WorkingValues],
): Promise<readonly Action[]> {
  const at = placeOf(owner.task, working, name);
  return sliceItems(at, await sealerOf(services, owner, working).seal(binding(at(0)), value));
}

/** One value; `undefined`: there is none, or the run ended and with it the salt. */
export async function readWorking<Name extends keyof WorkingValues>(
  services: TaskServices,
  head: Head,
  name: string,
): Promise<WorkingValues[Name] | undefined> {
  const { working } = head;
  if (!working) return undefined;
  const at = placeOf(head.task, working, name);
  try {
    const [slices] = await readValues(services, [{ at, slices: 1 }]);
    return (await sealerOf(services, head, working).open(binding(at(0)), slices!)) as WorkingValues[Name];
  } catch (error) {
    if (error instanceof ContentUnreadable || error instanceof SealBroken) return undefined;
    throw error;
  }
}

/** A message's original, as a plain message. */
export async function originalOf(
  services: TaskServices,
  head: Head,
  number: number,
): Promise<(MessagePayload & { readonly message: Message }) | undefined> {
  return readWorking<'message'>(services, head, workingName.message(number));
}

export function placeOf(task: string, working: Pick<WorkingRef, 'id'>, name: string) {
  return (slice: number) => keys.working(task, `${working.id}.${name}`, slice);
}

function sealerOf(services: TaskServices, owner: Pick<Head, 'client' | 'task'>, working: WorkingRef) {
  return services.sealer.forTask({
    client: owner.client,
    task: owner.task,
    purpose: 'working',
    epoch: working.epoch,
    salt: working.salt,
  });
}

function binding(key: ReturnType<typeof keys.working>) {
  return { table: 'state', key, attribute: 'content' } as const;
}
