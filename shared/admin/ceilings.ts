import * as z from 'zod';
import {
  type AnswerLevel,
  type Decision,
  type Profile,
  type Provider,
  type Settings,
  type Tightened,
  tighter,
} from '../registry/index.ts';
import type { Clock } from '../runtime/ports.ts';
import type { Action } from '../storage/port.ts';
import type { AdminFailure } from './failures.ts';
import { type AdminAnswer, done, type OperationParts, type Operations, operation } from './operation.ts';

/** Where a walk over all tasks goes on: what an earlier answer called `next`. */
export const walkCursor = z.strictObject({
  shard: z.int().min(0).max(1_000),
  after: z.exactOptional(z.record(z.string(), z.string().max(2_000))),
});
export type WalkCursor = z.output<typeof walkCursor>;

/** Arguments of a change that may lower a level: `dryRun` changes nothing and counts the tasks that it would touch. */
export const dryRunning = { dryRun: z.boolean().default(false), cursor: z.exactOptional(walkCursor) };

/** Records as a change would leave them; what is absent stays as it is. */
export interface Proposed {
  readonly settings?: Settings;
  readonly profile?: Profile;
  readonly provider?: Provider;
}

/** What stands behind an administrator's tightening (design §7); `shared/ceilings` implements it. */
export interface CeilingOperations {
  /** The put that starts the job; part of the transaction that lowers a level. */
  start(tightened: Tightened): Promise<Action>;
  /** When no read and no delivery knows the level before the last tightening any more, epoch ms. */
  inForceAt(): Promise<number | undefined>;
  /** How far the job is; `undefined`: there never was one. Plain JSON. */
  show(): Promise<object | undefined>;
  /** How many tasks a change would touch, a part of them: `next` absent means that was all. */
  count(
    proposed: Proposed,
    cursor: WalkCursor | undefined,
  ): Promise<{ readonly looked: number; readonly touched: number; readonly next?: WalkCursor }>;
}

export function ceilingOperations({ ceilings }: OperationParts): Operations {
  return {
    'ceiling.show': operation(z.strictObject({}), async () =>
      done({ ceiling: (await ceilings.show()) ?? { state: 'none' } }),
    ),
  };
}

/** Whether a level became one that keeps less. */
export function isLowered(before: AnswerLevel, after: AnswerLevel): boolean {
  return before !== after && tighter(before, after) === after;
}

/** A decision that starts the job with the same transaction where it lowers a level, and remembers that it did. */
export class Tightening {
  readonly #parts: { readonly clock: Clock; readonly ceilings: CeilingOperations };
  #started = false;

  constructor(parts: { readonly clock: Clock; readonly ceilings: CeilingOperations }) {
    this.#parts = parts;
  }

  /** Asked anew for each try of an edit. */
  async with<T>(
    decision: Decision<T, AdminFailure>,
    lowers: boolean,
    tightened: Tightened,
  ): Promise<Decision<T, AdminFailure>> {
    this.#started = decision.kind === 'save' && lowers;
    return this.#started && decision.kind === 'save'
      ? { ...decision, with: [await this.#parts.ceilings.start(tightened)] }
      : decision;
  }

  /**
   * Success of a tightening is told when no read and no delivery can know the older level any more (P9); also to who
   * repeats a command whose answer was lost.
   */
  async answer(answer: AdminAnswer): Promise<AdminAnswer> {
    if (answer.kind === 'failed') return answer;
    const { clock, ceilings } = this.#parts;
    const left = ((await ceilings.inForceAt()) ?? 0) - clock.now();
    if (left <= 0 && !this.#started) return answer;
    if (left > 0) await clock.sleep(left);
    return done({ ...answer.result, ceiling: await ceilings.show() });
  }
}
