import type { DelegationOutcome } from '../providers/index.ts';
import type { Head } from '../tasks/formats.ts';
import type { TaskServices } from '../tasks/services.ts';
import { readWorking, type WorkingValues, workingName } from '../tasks/working.ts';
import { dependenciesOf } from './dependencies.ts';
import type { Dependency } from './formats.ts';

/** What a run goes on from after its remote agents: who delegated, and what became of each call, in its order. */
export interface Turn {
  readonly provider: string;
  readonly message: number;
  /** Turns in which steps were handed on for that message so far. */
  readonly turns: number;
  readonly outcomes: readonly DelegationOutcome[];
  readonly transcript?: WorkingValues['turn']['transcript'];
}

/** `undefined`: the run does not go on from a delegation. Throws when what should be there cannot be read now. */
export async function readTurn(services: TaskServices, head: Head): Promise<Turn | undefined> {
  if (head.turn === undefined || head.waiting > 0) return undefined;
  const left = await readWorking<'turn'>(services, head, workingName.turn());
  const dependencies = await dependenciesOf(services, head.task, head.turn);
  if (!left || dependencies.some(({ outcome }) => outcome === undefined)) throw new TurnUnreadable();
  const outcomes = await Promise.all(dependencies.map((dependency) => outcomeOf(services, head, dependency)));
  const { provider, message, turns, transcript } = left;
  return { provider, message, turns, outcomes, transcript };
}

/** Thrown when a turn that ended cannot be read; the run is tried again. */
export class TurnUnreadable extends Error {
  readonly tag = 'TurnUnreadable';
  constructor() {
    super('what remote agents answered could not be read');
  }
}

async function outcomeOf(
  services: TaskServices,
  head: Head,
  dependency: Dependency,
): Promise<DelegationOutcome> {
  const answer = await readWorking<'answer'>(services, head, workingName.answer(dependency.id));
  return {
    call: dependency.call,
    agent: dependency.agent,
    state: dependency.outcome!,
    artifacts: answer?.artifacts ?? [],
    ...(answer?.message ? { message: answer.message } : {}),
  };
}
