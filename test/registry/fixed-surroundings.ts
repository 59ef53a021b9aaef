import { createHash } from 'node:crypto';
import type { Clock, Random } from '../../shared/runtime/ports.ts';
import type { Keyring } from '../../shared/sealing/index.ts';

/** A clock that stands still until it is told to go on; sleeping gives way to others and takes no time. */
export function testClock(start = Date.UTC(2026, 10, 30)): Clock & { advance(ms: number): void } {
  let now = start;
  return {
    now: () => now,
    sleep: () => new Promise((resolve) => setImmediate(resolve)),
    advance(ms) {
      now += ms;
    },
  };
}

/** The same values in every run, none of them twice. */
export function testRandom(): Random {
  let drawn = 0;
  const next = () => createHash('sha256').update(String(drawn++)).digest();
  return {
    uuid: () => next().toString('hex').slice(0, 32),
    bytes: (length) =>
      new Uint8Array(Buffer.concat(Array.from({ length: Math.ceil(length / 32) }, next)).subarray(0, length)),
    fraction: () => next().readUInt32BE() / 2 ** 32,
  };
}

/** One key per client and purpose, without a key service. */
export function testKeyring(): Keyring {
  const key = (client: string, purpose: string, epoch: string) =>
    new Uint8Array(createHash('sha256').update(`${client}/${purpose}/${epoch}`).digest());
  return {
    current: async (client, purpose) => ({ epoch: '202611', key: key(client, purpose, '202611') }),
    get: async (client, purpose, epoch) => key(client, purpose, epoch),
  };
}
