import type { Part } from '../protocol/index.ts';
import { reasonParts } from '../tasks/reasons.ts';
import type { Dependency } from './formats.ts';
import type { Resolution } from './resolve.ts';

/**
 * How the gateway itself ends a dependency, in fixed words for the provider and, where it passes them on, its client. Of
 * those with `tell` the remote may still be at work, and is told that nobody waits any more.
 */
export const GONE = ended('The agent that was asked is not available any more.', 'tell');
/** The remote does not know its task any more. */
export const LOST = ended('The agent that was asked is not available any more.');
export const REFUSED = ended('The agent that was asked did not accept the message.');
export const REFUSED_REPLIES = ended('The agent that was asked did not accept the replies.', 'tell');
/** Nothing was sent: the address guard refused it, say. */
export const UNCALLED = ended('The agent that was asked could not be called.');
/** It may have done what it was asked. */
export const UNREADABLE = ended('The agent that was asked answered in a form that is not known here.');
/** A fault of ours that stays: what the agent answered cannot be written. */
export const UNKEPT = ended('What the agent that was asked answered could not be kept.');
export const TOO_LARGE: Resolution = {
  outcome: 'failed',
  artifacts: [],
  message: reasonParts('RESULT_TOO_LARGE'),
  tell: true,
};
export const CANCELED: Resolution = {
  ...ended('What another agent was asked to do was canceled.', 'tell'),
  outcome: 'canceled',
};

/** When its time is over, by what it waited for last. */
export function lateness({ state, askedAt }: Pick<Dependency, 'state' | 'askedAt'>): Resolution {
  if (state === 'new') return ended('The agent that was asked could not be reached in time.');
  return ended(
    askedAt === undefined
      ? 'The agent that was asked did not finish in time.'
      : 'The agent that was asked needs an answer that did not come in time.',
    'tell',
  );
}

function ended(text: string, tell?: 'tell'): Resolution {
  const message: readonly Part[] = [{ text }];
  return { outcome: 'failed', artifacts: [], message, ...(tell ? { tell: true } : {}) };
}
