import type { Clock, Random } from '../../../shared/runtime/ports.ts';
import type { VirtualClock } from './clock.ts';

/** Thrown to whoever waits for an instance that died. */
export class Died extends Error {
  constructor(name: string) {
    super(`${name} died`);
  }
}

/**
 * One execution environment of a function: its memory, its timers, its calls. When it dies, nothing of it ever happens
 * again: what its code waits for never settles. While it is frozen it misses its timers, and notices them afterwards.
 */
export class Instance {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether it was frozen once: it may act on what is long out of date. */
  wasFrozen = false;
  #alive = true;
  #frozen = false;
  readonly #deaths = new Set<() => void>();
  #missed: (() => void)[] = [];

  constructor(name: string, clock: VirtualClock, random: Random) {
    this.name = name;
    this.random = random;
    this.clock = {
      now: () => clock.now(),
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve();
          const cancel = clock.after(ms, () => this.#reach(resolve));
          this.onDeath(cancel);
          signal?.addEventListener('abort', () => {
            cancel();
            this.#reach(resolve);
          });
        }),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  die(): void {
    if (!this.#alive) return;
    this.#alive = false;
    for (const death of this.#deaths) death();
  }

  onDeath(death: () => void): void {
    this.#deaths.add(death);
  }

  freeze(): void {
    this.#frozen = true;
    this.wasFrozen = true;
  }

  thaw(): void {
    this.#frozen = false;
    for (const missed of this.#missed.splice(0)) missed();
  }

  /** Hands something to the code inside: now, after the frost, or never. */
  #reach(event: () => void): void {
    if (!this.#alive) return;
    if (this.#frozen) this.#missed.push(event);
    else event();
  }

  /** For answers from outside, which wait as timers do. */
  hand(event: () => void): void {
    this.#reach(event);
  }
}
