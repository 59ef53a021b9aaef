import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../shared/storage/index.ts';
import { type Attempt, deadlineOf, untilDone } from '../../shared/storage/retry.ts';
import { steppedClock } from './clock.ts';

const again = (): Promise<Attempt<string>> => Promise.resolve({ kind: 'again', why: 'TransactionConflict' });
const longest = { fraction: () => 0.999_999 };

describe('repeating a call', () => {
  it('doubles the bound of the wait up to a second and draws from the whole range below it', async () => {
    const upper = steppedClock();
    await expect(
      untilDone({ clock: upper, random: longest }, 'a read', upper.now() + 5_000, again),
    ).rejects.toThrow(StoreUnavailable);
    expect(upper.slept.map(Math.round)).toEqual([25, 50, 100, 200, 400, 800, 1000, 1000, 1000]);

    const lower = steppedClock();
    let tries = 0;
    await untilDone({ clock: lower, random: { fraction: () => 0 } }, 'a read', lower.now() + 1, () =>
      Promise.resolve(++tries < 4 ? { kind: 'again', why: '' } : { kind: 'done', value: '' }),
    );
    expect(lower.slept).toEqual([0, 0, 0]);
  });

  it('starts no attempt and no wait past the deadline', async () => {
    const clock = steppedClock();
    const deadline = clock.now() + 60;
    const starts: number[] = [];
    const failed = untilDone({ clock, random: longest }, 'a read', deadline, () => {
      starts.push(clock.now());
      return again();
    });
    await expect(failed).rejects.toMatchObject({ tag: 'StoreUnavailable' });
    expect(starts).toHaveLength(2);
    expect(clock.now()).toBeLessThan(deadline);
  });

  it('makes no attempt at all when the deadline has passed', async () => {
    const clock = steppedClock();
    let attempts = 0;
    const failed = untilDone({ clock, random: longest }, 'a read', clock.now(), () => {
      attempts++;
      return again();
    });
    await expect(failed).rejects.toThrow(StoreUnavailable);
    expect(attempts).toBe(0);
  });

  it('aborts the attempt that is running when the deadline comes', async () => {
    const clock = steppedClock();
    const failed = untilDone({ clock, random: longest }, 'a read', clock.now() + 30, (signal) => {
      return new Promise<Attempt<string>>((resolve) => {
        signal.addEventListener('abort', () => {
          clock.advance(30);
          resolve({ kind: 'again', why: 'AbortError' });
        });
      });
    });
    await expect(failed).rejects.toMatchObject({ cause: { message: 'AbortError' } });
  });

  it('takes a deadline beyond what a timer can hold', async () => {
    const clock = steppedClock();
    const value = untilDone({ clock, random: longest }, 'a read', Number.POSITIVE_INFINITY, () =>
      Promise.resolve({ kind: 'done', value: 'here' }),
    );
    await expect(value).resolves.toBe('here');
  });

  it('gives callers without a deadline a few seconds', () => {
    const clock = steppedClock();
    expect(deadlineOf(clock, undefined) - clock.now()).toBe(5_000);
    expect(deadlineOf(clock, { deadline: 7 })).toBe(7);
  });
});
