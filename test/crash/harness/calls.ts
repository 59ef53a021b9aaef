import type { Instance } from './instance.ts';

/** A call that leaves an instance: to the database, a queue, the key service, a provider. */
export interface Call {
  readonly instance: Instance;
  /** As in `dynamodb GetItemCommand`. */
  readonly name: string;
  readonly input: unknown;
}

export type When = 'before' | 'after';

/**
 * What becomes of a call. `fail`: it fails before it takes effect, or its answer is lost. `die`: likewise, and the
 * instance (or every instance: the whole host) dies of it. `freeze`: the instance stands still before it is sent or
 * before its answer is seen, and goes on when the world has come to rest without it.
 */
export type Fate =
  | { readonly kind: 'go' }
  | { readonly kind: 'fail'; readonly when: When; readonly error: Error }
  | { readonly kind: 'die'; readonly when: When; readonly scope: 'instance' | 'host' }
  | { readonly kind: 'freeze'; readonly when: When };

export const GO: Fate = { kind: 'go' };

/** `number`: calls are numbered from 1 in the order in which they are made. */
export type Plan = (call: Call, number: number) => Fate;

/** Carries a call out. `seen`: when its caller may have the answer (default: at once). */
export type Medium = (
  call: Call,
  effect: () => Promise<unknown>,
) => Promise<{ value: unknown; seen?: Promise<void> }>;

interface Pending extends Call {
  readonly effect: () => Promise<unknown>;
  readonly settle: (outcome: Outcome) => void;
  planned?: boolean;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

export interface CallsOptions {
  readonly plan: Plan;
  readonly medium: Medium;
  /** Which of `n` waiting calls is next, 0 to n - 1. */
  readonly pick: (n: number) => number;
  /** Every instance dies. */
  readonly killHost: () => void;
}

/**
 * All calls of all instances, made one at a time: whoever calls waits in line, and the next call is made when nothing
 * else is under way. So a run with the same seed makes the same calls in the same order, and call k of one run is call k
 * of the next.
 */
export class Calls {
  readonly #options: CallsOptions;
  #line: Pending[] = [];
  #made = 0;
  /** What was done, for the message of a test that fails. */
  readonly log: string[] = [];

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  get made(): number {
    return this.#made;
  }

  make<T>(instance: Instance, name: string, input: unknown, effect: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!instance.alive) return;
      const settle = (outcome: Outcome) =>
        instance.hand(() => ('value' in outcome ? resolve(outcome.value as T) : reject(outcome.error)));
      this.#line.push({ instance, name, input, effect, settle });
    });
  }

  /** Makes the next call; `false`: nobody that can call is waiting. */
  async step(): Promise<boolean> {
    this.#line = this.#line.filter((call) => call.instance.alive);
    const ready = this.#line.filter((call) => !call.instance.frozen);
    const call = ready[ready.length > 1 ? this.#options.pick(ready.length) : 0];
    if (!call) return false;
    this.#line.splice(this.#line.indexOf(call), 1);
    await this.#carry(call, call.planned ? GO : this.#plan(call));
    return true;
  }

  #plan(call: Pending): Fate {
    const fate = this.#options.plan(call, ++this.#made);
    this.log.push(
      `${this.#made} ${call.instance.name} ${call.name}${fate.kind === 'go' ? '' : ` ${fate.kind}`}`,
    );
    return fate;
  }

  async #carry(call: Pending, fate: Fate): Promise<void> {
    if (fate.kind !== 'go' && fate.when === 'before') {
      if (fate.kind === 'fail') call.settle({ error: fate.error });
      if (fate.kind === 'die') this.#kill(call, fate.scope);
      if (fate.kind === 'freeze') {
        call.planned = true;
        call.instance.freeze();
        this.#line.unshift(call);
      }
      return;
    }
    let seen: Promise<void> | undefined;
    let outcome: Outcome;
    try {
      const done = await this.#options.medium(call, call.effect);
      outcome = { value: done.value };
      seen = done.seen;
    } catch (error) {
      outcome = { error };
    }
    if (fate.kind === 'die') return this.#kill(call, fate.scope);
    if (fate.kind === 'freeze') call.instance.freeze();
    if (fate.kind === 'fail') outcome = { error: fate.error };
    if (seen) void seen.then(() => call.settle(outcome));
    else call.settle(outcome);
  }

  #kill(call: Pending, scope: 'instance' | 'host'): void {
    if (scope === 'host') this.#options.killHost();
    else call.instance.die();
  }
}
