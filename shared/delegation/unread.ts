import type { Answered, CallFailure } from '../client/index.ts';
import type { Artifact, Message, PeerTask } from '../protocol/index.ts';
import { UNREADABLE } from './endings.ts';
import type { Dependency, DependencyOutcome } from './formats.ts';
import type { Resolution } from './resolve.ts';
import type { ReconcilerServices } from './services.ts';

/** Lines that one answer may fill in the log. */
const MOST_TOLD = 10;

/**
 * Counts a call that was answered, and tells what an answer of a remote agent held that this version does not know (design §8, parsing): it was skipped, and
 * an operator should learn of it. Paths and names were cut to safe characters when they were read (P10).
 */
export function noteAnswer(
  { log, metrics }: Pick<ReconcilerServices, 'log' | 'metrics'>,
  { task, id, agent }: Dependency,
  { notices }: Pick<Answered<unknown>, 'notices'>,
): void {
  metrics.count('RemoteAnswered');
  for (const { kind, path, name } of notices.slice(0, MOST_TOLD))
    log.warn('a remote agent said what is not known here', { task, dependency: id, agent, kind, path, name });
}

/** Tells why a call came to nothing: kinds and codes of ours and the protocol's, no word of the agent (P10). */
export function noteFailure(
  { log, metrics }: Pick<ReconcilerServices, 'log' | 'metrics'>,
  { task, id, agent }: Dependency,
  failure: CallFailure,
): void {
  metrics.count('RemoteFailure', 1, { kind: failure.kind });
  log.warn('a remote agent did not answer as asked', {
    task,
    dependency: id,
    agent,
    kind: failure.kind,
    ...('code' in failure ? { code: failure.code } : {}),
    ...('status' in failure ? { status: failure.status } : {}),
    ...('fault' in failure ? { fault: failure.fault.kind } : {}),
    ...('failure' in failure ? { fault: failure.failure.kind } : {}),
  });
}

/**
 * What a completed task brought. An artifact without any part left is left out; where that leaves nothing of what there
 * was because nothing could be read, the task is not resolved as completed by it.
 */
export function completedWith(task: PeerTask, { notices }: Pick<Answered<unknown>, 'notices'>): Resolution {
  const { artifacts } = endedWith('completed', task);
  const unread = notices.some(({ kind, path }) => kind === 'unknown-part' && /(^|\.)artifacts\[/.test(path));
  if (artifacts.length === 0 && unread) return UNREADABLE;
  return endedWith('completed', task);
}

/** What a task that is over brought, without artifacts that hold nothing. */
export function endedWith(outcome: DependencyOutcome, { artifacts = [], status }: PeerTask): Resolution {
  const { message } = status;
  return {
    outcome,
    artifacts: artifacts.filter(({ parts }: Artifact) => parts.length > 0),
    ...(message ? { message: message.parts } : {}),
  };
}

/** A remote that answers with a Message instead of a task is done with it. */
export function completedBy({ random }: Pick<ReconcilerServices, 'random'>, { parts }: Message): Resolution {
  return { outcome: 'completed', artifacts: [{ artifactId: random.uuid(), parts }] };
}
