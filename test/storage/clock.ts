import type { Clock } from '../../shared/runtime/ports.ts';

/** A clock that moves only when somebody sleeps on it; it keeps what was slept. */
export function steppedClock(
  start = 1_000_000,
): Clock & { readonly slept: number[]; advance(ms: number): void } {
  let now = start;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
    async sleep(ms) {
      slept.push(ms);
      now += ms;
    },
  };
}
