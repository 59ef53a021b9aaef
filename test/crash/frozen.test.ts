import type { UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from 'vitest';
import { type Call, GO } from './harness/calls.ts';
import { behind, differs, everywhere, frost, play } from './harness/disturb.ts';
import type { Instance } from './harness/instance.ts';
import { PATIENCE, withBench } from './harness/suite.ts';
import { type ScenarioName, scenarios } from './scenarios.ts';

/** Of an instance of that function. */
const of =
  (...functions: readonly string[]) =>
  ({ instance }: Call) =>
    functions.some((name) => instance.name.startsWith(`${name}-`));

/** A renewal sets nothing but the end of the lease. */
const isRenewal = ({ input }: Call): boolean =>
  Object.values((input as UpdateItemCommandInput).ExpressionAttributeNames ?? {})
    .sort()
    .join() === 'lease,until';

describe('an instance that stands still until its lease ran out and another did its work', () => {
  const bench = withBench();

  const executors: ScenarioName[] = ['create', 'progress', 'question', 'fallback', 'cancel', 'spent'];
  test.each(executors.map((name) => [scenarios[name].name, scenarios[name]] as const))(
    'as an executor changes nothing any more, while %s',
    PATIENCE,
    async (_, scenario) => {
      const done = await everywhere(bench(), scenario, frost, {
        from: 'accepted',
        which: of('executor'),
        moments: behind,
      });
      expect(done.broken.join('\n')).toBe('');
      expect(done.points).toBeGreaterThan(10);
    },
  );

  test('as an executor commits nothing while another holds the run, though the task did not change', async () => {
    let asleep: Instance | undefined;
    const { world, broken } = await play(
      bench(),
      {
        ...scenarios.immediate,
        expected: { ends: ['COMPLETED'], artifacts: ['of attempt 2'] },
        world: {
          providers: {
            slow: async (run) => {
              // Long enough that the one that slept could be first.
              if (run.attempt === 2) await run.sleep(900);
              return { kind: 'completed', artifacts: [{ parts: [{ text: `of attempt ${run.attempt}` }] }] };
            },
          },
        },
      },
      {
        plan: (call) => {
          if (call.name === 'provider slow' && asleep) asleep.thaw();
          if (asleep || !call.instance.name.startsWith('executor')) return GO;
          if (!call.name.endsWith('TransactWriteItemsCommand')) return GO;
          asleep = call.instance;
          return { kind: 'freeze', when: 'before' };
        },
      },
    );
    expect(broken).toEqual([]);
    const by = world.ledger.effects.findLast(
      (effect) => effect.kind === 'write' && effect.by.startsWith('executor'),
    );
    expect(by).not.toMatchObject({ by: asleep!.name });
  });

  test('as a sweeper ends no run whose lease was renewed after it looked', PATIENCE, async () => {
    const asleep: Instance[] = [];
    const { world, broken } = await play(
      bench(),
      {
        ...scenarios.immediate,
        expected: { ends: ['COMPLETED'], artifacts: ['in the end'] },
        world: {
          profile: { attempts: 1 },
          providers: {
            slow: async (run) => {
              await run.sleep(20_000);
              return { kind: 'completed', artifacts: [{ parts: [{ text: 'in the end' }] }] };
            },
          },
        },
      },
      {
        plan: (call) => {
          const [executor, sweeper] = asleep;
          const is = (name: string, command: string) =>
            call.instance.name.startsWith(name) && call.name.endsWith(command);
          // The executor misses its renewals, so that the run looks dead; it renews while the sweeper is about to end it.
          if (!executor && is('executor', 'UpdateItemCommand') && isRenewal(call)) {
            asleep.push(call.instance);
            return { kind: 'freeze', when: 'before' };
          }
          if (executor && !sweeper && is('sweeper', 'TransactWriteItemsCommand')) {
            asleep.push(call.instance);
            executor.thaw();
            return { kind: 'freeze', when: 'before' };
          }
          if (call.instance === executor && is('executor', 'ChangeMessageVisibility')) sweeper?.thaw();
          return GO;
        },
      },
    );
    expect(asleep).toHaveLength(2);
    expect(broken).toEqual([]);
    expect(world.ledger.effects.filter(({ kind }) => kind === 'provider')).toHaveLength(1);
  });

  test('as a request handler makes no second task and no second answer', PATIENCE, async () => {
    const done = await everywhere(bench(), scenarios.question, frost, { which: of('rpc'), moments: behind });
    expect(done.broken.join('\n')).toBe('');
    expect(done.points).toBeGreaterThan(30);
  });

  test('as the handler of a cancellation changes no ending', PATIENCE, async () => {
    const done = await everywhere(bench(), scenarios.cancel, frost, {
      from: 'accepted',
      which: of('rpc'),
      moments: behind,
    });
    expect(done.broken.join('\n')).toBe('');
    expect(done.points).toBeGreaterThan(10);
  });

  test('as a sweeper or a dead-letter handler ends nothing that went on', PATIENCE, async () => {
    const done = await everywhere(bench(), scenarios.deadLetter, frost, {
      from: 'accepted',
      which: (call) => of('sweeper', 'dead-letter', 'projector')(call) && differs(call),
      moments: behind,
    });
    expect(done.broken.join('\n')).toBe('');
    expect(done.points).toBeGreaterThan(10);
  });
});
