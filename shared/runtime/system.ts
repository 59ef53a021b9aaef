import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Random } from './ports.ts';

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    try {
      await wait(Math.max(0, ms), undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  },
};

/** 2^48 − 1 is the widest range that `randomInt` takes. */
const FRACTIONS = 2 ** 48 - 1;

/** Cryptographic throughout: salts, nonces and secrets come from here. */
export const systemRandom: Random = {
  uuid: () => randomUUID(),
  bytes: (length) => new Uint8Array(randomBytes(length)),
  fraction: () => randomInt(FRACTIONS) / FRACTIONS,
};
