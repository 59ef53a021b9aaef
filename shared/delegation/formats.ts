import { keys } from '../storage/keys.ts';
import type { StoredItem, Value } from '../storage/port.ts';
import { FormatError, given } from '../tasks/formats.ts';

/** Stored formats of the client role (design §4, §8): ids, hashes and timers; content lies sealed in `state`. */
export const DELEGATION_FORMAT = 1;

/** Signals of one registration that were not reconciled yet. */
export const MAX_SIGNALS = 32;
/** Registrations that are open at a time, over all. */
export const MAX_REGISTRATIONS = 10_000;

/** `new`: not sent, as far as is known. `sent`: the remote acknowledged it. `ended`: resolved, or given up. */
export type DependencyState = 'new' | 'sent' | 'ended';
export type DependencyOutcome = 'completed' | 'failed' | 'canceled' | 'rejected';
export type PushMode = 'embedded' | 'separate' | 'off';

export interface Dependency {
  readonly task: string;
  /** `<turn>.<number>`: sorted as they were asked for. */
  readonly id: string;
  readonly agent: string;
  /** The provider's own name for the call. */
  readonly call: string;
  readonly state: DependencyState;
  /** The same for every try, as is the body (design §8). */
  readonly messageId: string;
  readonly push: PushMode;
  /** The remote was told where to call back. */
  readonly registered: boolean;
  readonly registration?: string;
  readonly remoteTask?: string;
  readonly remoteContext?: string;
  readonly createdAt: number;
  /** Epoch ms; then it is resolved as failed. */
  readonly deadline: number;
  /** Calls that came to nothing, and polls that found nothing new, in a row. */
  readonly tries: number;
  readonly polls: number;
  /** When a worker took it last, epoch ms: what was signaled before that, it saw. */
  readonly lookedAt?: number;
  /** Sends that the remote answered and that came to nothing by a fault, its own or ours. */
  readonly faults?: number;
  /** The remote waits for our client since then. */
  readonly askedAt?: number;
  readonly asks?: 'input' | 'auth';
  /** Our client was shown what it asks. */
  readonly shown?: boolean;
  /** Digest of what names the question that was shown last; no content. */
  readonly question?: string;
  /** Number of our client's message that is to be passed on. */
  readonly reply?: number;
  /** When a reply was passed on last. */
  readonly repliedAt?: number;
  /** Replies that the remote did not accept, in a row. */
  readonly refused?: number;
  /** An administrator wants it ended. */
  readonly canceled?: boolean;
  readonly outcome?: DependencyOutcome;
  readonly endedAt?: number;
  /** It ended here and not there: how often the remote was told so. It stands until the remote answered. */
  readonly tell?: number;
  readonly lease?: { readonly token: string; readonly until: number };
  readonly due?: string;
}

export interface Registration {
  readonly id: string;
  readonly task: string;
  readonly dependency: string;
  /** SHA-256 of the callback credential, base64url. */
  readonly hash: string;
  readonly state: 'open' | 'ended';
  /** Not reconciled yet. */
  readonly signals: number;
}

/** Sorted as they were asked for; the turn is the part before the point. */
export function dependencyId(turn: number, number: number): string {
  return `${pad(turn)}.${pad(number)}`;
}

function pad(number: number): string {
  return String(number).padStart(4, '0');
}

export function dependencyItem(dependency: Dependency): StoredItem {
  const { task, id, due, lease, ...rest } = dependency;
  return {
    ...keys.dependency(task, id),
    v: DELEGATION_FORMAT,
    ...(rest as unknown as { [name: string]: Value }),
    ...(lease ? { lease: lease.token, until: lease.until } : {}),
    ...(due ? { ds: keys.dueShard(`${task}#${id}`), da: due } : {}),
  };
}

export function dependencyOf(item: StoredItem): Dependency {
  if (item['v'] !== DELEGATION_FORMAT) throw new FormatError('dependency');
  const lease = item['lease'] as string | undefined;
  return {
    task: item.pk.slice(2),
    id: item.sk,
    agent: String(item['agent']),
    call: String(item['call']),
    state: item['state'] as DependencyState,
    messageId: String(item['messageId']),
    push: item['push'] as PushMode,
    registered: item['registered'] === true,
    createdAt: Number(item['createdAt']),
    deadline: Number(item['deadline']),
    tries: Number(item['tries']),
    polls: Number(item['polls']),
    ...given({
      registration: item['registration'] as string | undefined,
      remoteTask: item['remoteTask'] as string | undefined,
      remoteContext: item['remoteContext'] as string | undefined,
      lookedAt: item['lookedAt'] as number | undefined,
      askedAt: item['askedAt'] as number | undefined,
      asks: item['asks'] as Dependency['asks'],
      shown: item['shown'] as boolean | undefined,
      question: item['question'] as string | undefined,
      reply: item['reply'] as number | undefined,
      repliedAt: item['repliedAt'] as number | undefined,
      refused: item['refused'] as number | undefined,
      faults: item['faults'] as number | undefined,
      tell: item['tell'] as number | undefined,
      canceled: item['canceled'] as boolean | undefined,
      outcome: item['outcome'] as DependencyOutcome | undefined,
      endedAt: item['endedAt'] as number | undefined,
      due: item['da'] as string | undefined,
    }),
    ...(lease === undefined ? {} : { lease: { token: lease, until: Number(item['until']) } }),
  };
}

export function registrationItem(registration: Registration): StoredItem {
  const { id, ...rest } = registration;
  return { ...keys.registration(id), v: DELEGATION_FORMAT, ...rest };
}

export function registrationOf(item: StoredItem): Registration {
  if (item['v'] !== DELEGATION_FORMAT) throw new FormatError('registration');
  return {
    id: item.pk.slice(2),
    task: String(item['task']),
    dependency: String(item['dependency']),
    hash: String(item['hash']),
    state: item['state'] as Registration['state'],
    signals: Number(item['signals']),
  };
}
