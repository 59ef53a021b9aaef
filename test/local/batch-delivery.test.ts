import { describe, expect, it } from 'vitest';
import { deliver } from '../../infra/local/batch-delivery.ts';

function scene(behaviour: (batch: readonly string[], call: number) => unknown, retryAttempts = 2) {
  const calls: string[] = [];
  const discarded: string[] = [];
  const checkpoints: string[] = [];
  let waits = 0;
  const run = (items: string) =>
    deliver([...items], {
      id: (item) => item,
      retryAttempts,
      onError: () => {},
      backoff: async () => void waits++,
      checkpoint: (item) => checkpoints.push(item),
      discard: (item) => discarded.push(item),
      invoke: async (batch) => {
        calls.push(batch.join(''));
        return behaviour(batch, calls.length);
      },
    });
  return { run, calls, discarded, checkpoints, waits: () => waits };
}

const failing = (...items: string[]) => ({
  batchItemFailures: items.map((itemIdentifier) => ({ itemIdentifier })),
});

describe('the delivery of a stream batch', () => {
  it('is one call when nothing fails, and none for nothing', async () => {
    const { run, calls, checkpoints } = scene(() => undefined);
    await run('abcd');
    await run('');
    expect(calls).toEqual(['abcd']);
    expect(checkpoints).toEqual(['d']);
  });

  it('halves a batch that threw until the record at fault stands alone, repeats that one and then leaves it behind', async () => {
    const { run, calls, discarded, checkpoints, waits } = scene((batch) => {
      if (batch.includes('c')) throw new Error('poison');
    });
    await run('abcd');
    expect(calls).toEqual(['abcd', 'ab', 'cd', 'c', 'c', 'c', 'd']);
    expect(discarded).toEqual(['c']);
    expect(checkpoints).toEqual(['b', 'c', 'd']);
    expect(waits()).toBe(2);
  });

  it('goes on from the lowest record that the function reported', async () => {
    const { run, calls, checkpoints, discarded } = scene((_batch, call) =>
      call === 1 ? failing('d', 'b') : undefined,
    );
    await run('abcde');
    expect(calls).toEqual(['abcde', 'bc', 'de']);
    expect(checkpoints).toEqual(['a', 'c', 'e']);
    expect(discarded).toEqual([]);
  });

  it('repeats a record that is reported again and again, and leaves only that one behind', async () => {
    const { run, calls, discarded } = scene((batch) => failing(...batch.filter((item) => item === 'b')));
    await run('abc');
    expect(calls).toEqual(['abc', 'b', 'b', 'b', 'c']);
    expect(discarded).toEqual(['b']);
  });

  it('takes the whole batch as failed when the answer names a record that is not in it', async () => {
    const { run, calls } = scene((_batch, call) => (call === 1 ? failing('z') : undefined));
    await run('ab');
    expect(calls).toEqual(['ab', 'a', 'b']);
  });
});
