import { describe, expect, test } from 'vitest';
import { delegateUnder } from './harness/delegation-suite.ts';
import { lost, troubled } from './harness/deliveries.ts';
import { PATIENCE, withBench } from './harness/suite.ts';

const bench = withBench();

describe('every delegation comes to the same end', PATIENCE, () => {
  test('in whatever order calls of the same moment are made', async () => {
    expect(await delegateUnder(bench(), () => ({}), [1, 2, 3])).toBe('');
  });

  test('with messages of the inbox that are lost, doubled, late and out of order', async () => {
    const options = (rng: () => number) => ({ inbox: troubled(rng, 120_000) });
    expect(await delegateUnder(bench(), options, [1, 2])).toBe('');
  });

  test('with every other message of the inbox lost, and no stream', async () => {
    const everyOther = () => {
      let sent = 0;
      return () => (sent++ % 2 === 0 ? [] : [0]);
    };
    expect(await delegateUnder(bench(), () => ({ inbox: everyOther(), stream: lost }), [1])).toBe('');
  });
});
