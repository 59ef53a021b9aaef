import type { Random } from '../../../shared/runtime/ports.ts';

/** The same numbers for the same seed (mulberry32), so that a run that failed can be run again. In [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The gateway's source of randomness, from a seed. */
export function seededRandom(seed: number): Random {
  const fraction = seeded(seed);
  const bytes = (length: number) => Uint8Array.from({ length }, () => Math.floor(fraction() * 256));
  return {
    fraction,
    bytes,
    uuid() {
      const hex = Buffer.from(bytes(16)).toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
  };
}
