import { describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../shared/runtime/system.ts';

describe('the system clock', () => {
  it('sleeps until its time, or until the signal aborts, and throws for neither', async () => {
    const started = performance.now();
    await systemClock.sleep(20);
    expect(performance.now() - started).toBeGreaterThanOrEqual(19);
    const abort = new AbortController();
    const sleeping = systemClock.sleep(60_000, abort.signal);
    abort.abort();
    await sleeping;
    await systemClock.sleep(60_000, AbortSignal.abort());
    await systemClock.sleep(-5);
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
  });

  it('leaves nothing behind on a signal that outlives many sleeps', async () => {
    const abort = new AbortController();
    const warnings: Error[] = [];
    const keep = (warning: Error) => warnings.push(warning);
    process.on('warning', keep);
    for (let n = 0; n < 20; n++) await systemClock.sleep(0, abort.signal);
    await systemClock.sleep(1);
    process.off('warning', keep);
    expect(warnings).toEqual([]);
  });
});

describe('system randomness', () => {
  it('has as many bytes as asked, fractions in [0, 1), and ids that do not repeat', () => {
    expect(systemRandom.bytes(33)).toHaveLength(33);
    expect(Buffer.isBuffer(systemRandom.bytes(8))).toBe(false);
    const fractions = Array.from({ length: 2_000 }, () => systemRandom.fraction());
    expect(Math.min(...fractions)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...fractions)).toBeLessThan(1);
    // The chance that 2,000 draws leave a tenth of the range empty is below 1e-90.
    expect(new Set(fractions.map((fraction) => Math.floor(fraction * 10))).size).toBe(10);
    expect(new Set(Array.from({ length: 100 }, () => systemRandom.uuid())).size).toBe(100);
    expect(systemRandom.uuid()).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });
});
