import type { Store } from '../../../shared/storage/index.ts';

/** For how long a look of a scenario's own may take, ms of real time. */
const LONGEST_MS = 5_000;

/**
 * A store for whoever looks into the tables by itself, while a world plays. Such a look takes real time, in which the
 * world's own must stand still: else hours go by in it.
 */
export class Looking {
  readonly store: Store;
  #open = 0;

  constructor(store: Store) {
    this.store = new Proxy(store, {
      get: (target, name, receiver) => {
        const value = Reflect.get(target, name, receiver) as unknown;
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => this.#counted(value.apply(target, given) as Promise<unknown>);
      },
    });
  }

  /** Resolves when no look is open any more, `true` where one was. */
  async rest(): Promise<boolean> {
    if (this.#open === 0) return false;
    const until = performance.now() + LONGEST_MS;
    while (this.#open > 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 1));
    // Who looked says next what it makes of it.
    await new Promise((resolve) => setImmediate(resolve));
    return true;
  }

  async #counted<T>(look: Promise<T>): Promise<T> {
    this.#open++;
    try {
      return await look;
    } finally {
      this.#open--;
    }
  }
}
