import { answerLevels, isRetainable } from '../registry/index.ts';
import { purgeTask } from '../retention/index.ts';
import { needOf } from '../runs/decide.ts';
import { endRun } from '../runs/recover.ts';
import { keys } from '../storage/keys.ts';
import { type HeadCursor, visitHeads } from '../tasks/all-heads.ts';
import { given, type Head, headOf, liveHead } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';
import { dropSpare, rewriteRedacted } from './rewrite.ts';

export type CeilingDeed = 'nothing' | 'lowered' | 'redacted' | 'ended' | 'purged';

const TRIES = 20;

/**
 * Brings one task to the level in force (design §7): lowers its ceiling, so that a completion in flight loses its
 * condition; then ends a run whose result may not be kept, purges a finished task that may not be kept any more, rewrites
 * what must be redacted. A run that an executor holds is ended by that executor, at its next commit. Harmless to repeat,
 * wherever an earlier try stopped. Throws `RedactionUnavailable`.
 */
export async function applyCeiling(services: TaskServices, found: Head): Promise<CeilingDeed> {
  let deed: CeilingDeed = 'nothing';
  for (let tries = 0, head: Head | undefined = found; tries < TRIES; tries++) {
    // What has no content any more may be kept as it stands: states, times and ids.
    if (!head?.salt) return deed;
    const level = await services.privacy.levelOf(head);
    if (head.run === 'ended' && !isRetainable(level)) {
      return (await purgeTask(services, head.task)) === 'purged' ? 'purged' : deed;
    }
    let next: Head | undefined;
    if (level !== head.ceiling) {
      next = await lower(services, head, level);
      if (next) deed = 'lowered';
    } else if (!isRetainable(level)) {
      if (needOf(head, services.clock.now()).kind === 'wait' && head.run === 'running') return deed;
      if (await endRun(services, head, 'RESULT_NOT_RETAINED')) return 'ended';
    } else if (level === 'redacted' && head.form === 'full') {
      if (await rewriteRedacted(services, head)) return 'redacted';
    } else {
      if (level === 'redacted') await dropSpare(services, head);
      return deed;
    }
    head = next ?? (await readHead(services, found.task));
  }
  throw new Error('the task changed too often to be brought to its level');
}

/** What a change of levels would touch, counted from the cursor on until `until`; `next` absent: that was all. */
export interface Touched {
  readonly looked: number;
  readonly touched: number;
  readonly next?: HeadCursor;
}

/**
 * How many tasks a change of levels would touch: those whose ceiling it lowers. `services.privacy` knows the levels as
 * they would be.
 */
export async function countTouched(
  services: Pick<TaskServices, 'store' | 'privacy' | 'clock'>,
  cursor: HeadCursor | undefined,
  until: number,
): Promise<Touched> {
  let looked = 0;
  let touched = 0;
  const visit = async (head: Head) => {
    looked++;
    const level = await services.privacy.levelOf(head);
    if (head.salt && answerLevels.indexOf(level) > answerLevels.indexOf(head.ceiling)) touched++;
  };
  let next = await visitHeads(services, cursor, until, visit);
  while (next && services.clock.now() < until) next = await visitHeads(services, next, until, visit);
  return { looked, touched, ...given({ next }) };
}

async function lower(services: TaskServices, head: Head, level: Head['ceiling']): Promise<Head | undefined> {
  const outcome = await services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: { set: { ceiling: level } },
    when: [
      { attribute: 'rev', is: '=', value: head.revision },
      { attribute: 'ceiling', is: '=', value: head.ceiling },
      { attribute: 'copy', is: '=', value: head.copy },
    ],
  });
  if (outcome.kind === 'done') return outcome.item && headOf(outcome.item);
  const found = liveHead(outcome.items[0]);
  // Also a write of ours whose answer was lost.
  return found?.revision === head.revision && found.ceiling === level ? found : undefined;
}
