import { describe, expect, test } from 'vitest';
import type { Call } from './harness/calls.ts';
import { everywhere, frost } from './harness/disturb.ts';
import { PATIENCE, withBench } from './harness/suite.ts';
import { type ScenarioName, scenarios } from './scenarios.ts';

/** Of an instance of that function. */
const of =
  (...functions: readonly string[]) =>
  ({ instance }: Call) =>
    functions.some((name) => instance.name.startsWith(`${name}-`));

describe('an instance that stands still until its lease ran out and another did its work', () => {
  const bench = withBench();

  const executors: ScenarioName[] = ['create', 'progress', 'question', 'fallback', 'cancel', 'spent'];
  test.each(executors.map((name) => [scenarios[name].name, scenarios[name]] as const))(
    'as an executor changes nothing any more, while %s',
    PATIENCE,
    async (_, scenario) => {
      const done = await everywhere(bench(), scenario, frost, { from: 'accepted', which: of('executor') });
      expect(done.broken.join('\n')).toBe('');
      expect(done.points).toBeGreaterThan(10);
    },
  );

  test('as a request handler makes no second task and no second answer', PATIENCE, async () => {
    const done = await everywhere(bench(), scenarios.question, frost, { which: of('rpc') });
    expect(done.broken.join('\n')).toBe('');
    expect(done.points).toBeGreaterThan(40);
  });

  test('as a sweeper or a dead-letter handler ends nothing that went on', PATIENCE, async () => {
    const done = await everywhere(bench(), scenarios.deadLetter, frost, {
      from: 'accepted',
      which: (call) => of('sweeper', 'dead-letter', 'projector')(call) && !call.name.endsWith('QueryCommand'),
    });
    expect(done.broken.join('\n')).toBe('');
    expect(done.points).toBeGreaterThan(10);
  });
});
