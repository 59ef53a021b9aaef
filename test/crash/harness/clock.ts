import type { Clock } from '../../../shared/runtime/ports.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/**
 * Time that moves only when it is told to: `advance` goes to the next timer and fires that one alone. Two timers of the
 * same moment fire in the order in which they were set.
 */
export class VirtualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now: number;
  #order = 0;

  /** Default: the middle of a month, so that a run of a few days never meets another data key by chance. */
  constructor(start = Date.UTC(2026, 0, 12, 9)) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  /** Calls `fire` after `ms`; the function returned takes it back. */
  after(ms: number, fire: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order++, fire };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const cancel = this.after(ms, resolve);
      signal?.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  }

  /** When the next timer fires, epoch ms. */
  nextAt(): number | undefined {
    return this.#next()?.at;
  }

  /** Fires the next timer; `false`: there is none. */
  advance(): boolean {
    const next = this.#next();
    if (!next) return false;
    this.#timers.delete(next);
    this.#now = next.at;
    next.fire();
    return true;
  }

  /** Moves on without firing; never beyond the next timer. */
  moveTo(at: number): void {
    this.#now = Math.max(this.#now, Math.min(at, this.nextAt() ?? at));
  }

  #next(): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (!next || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
    }
    return next;
  }
}
