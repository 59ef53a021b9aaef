import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { message } from '../server/rig.ts';
import { ask, errorOf } from '../server/scene.ts';
import { completing, type Keeping, scripted, startKeeping } from './rig.ts';

describe('a profile that cannot keep a result', () => {
  const only = scripted(() => completing('never said'));
  let keeping: Keeping;
  beforeAll(async () => {
    keeping = await startKeeping({ adapters: { only } });
  });
  afterAll(() => keeping[Symbol.asyncDispose]());

  const cases = [
    { by: 'the installation', levels: { global: 'none' } },
    { by: 'the profile', levels: { profile: 'metadata' } },
    { by: 'the provider', levels: { providers: { only: 'none' } } },
  ] as const;
  const modes = [
    { mode: 'blocking', method: 'SendMessage', configuration: {} },
    { mode: 'immediate', method: 'SendMessage', configuration: { returnImmediately: true } },
    { mode: 'streaming', method: 'SendStreamingMessage', configuration: {} },
  ] as const;
  const table = cases.flatMap((one) => modes.map((each) => ({ ...one, ...each })));

  test.each(table)(
    'by $by refuses a $mode send before a task exists',
    async ({ levels, method, configuration }) => {
      await keeping.inForce(levels);
      const asked = await ask(keeping.gateway, 'alice', method, { message: message('hello'), configuration });
      expect(errorOf(asked)).toEqual({
        code: -32004,
        reason: 'UNSUPPORTED_OPERATION',
        own: 'RESULT_NOT_RETAINABLE',
      });
      const { state, view, outbox, delegation } = await keeping.dump();
      expect([...state, ...view, ...outbox, ...delegation]).toEqual([]);
      expect(keeping.gateway.runQueue.messages).toEqual([]);
      expect(only.requests).toEqual([]);
    },
  );

  test('takes messages again once it can keep them', async () => {
    await keeping.inForce({});
    await keeping.send('hello');
    await keeping.gateway.runAll();
    expect(only.requests).toHaveLength(1);
  });
});
