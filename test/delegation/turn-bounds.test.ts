import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { A2AClient } from '../../shared/client/index.ts';
import { MAX_TURNS, type ProviderAdapter, type ProviderResult } from '../../shared/providers/index.ts';
import { message } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Delegation, startDelegation } from './rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await startStore();
});
afterAll(() => rig[Symbol.asyncDispose]());

/** Answers each message with a message, at once. */
const answering = async () =>
  ({
    sendMessage: async () => ({
      kind: 'ok',
      value: { kind: 'message', message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'done' }] } },
      notices: [],
    }),
  }) as unknown as A2AClient;

/** Goes through all turns of a run until it ends or waits for its client; how many there were. */
async function play(delegation: Delegation, task: string, from = 1): Promise<number> {
  for (let turn = from; ; turn++) {
    const id = `${String(turn).padStart(4, '0')}.0000`;
    const found = await delegation.shown(task, id);
    if (!found) return turn - 1;
    expect(turn).toBeLessThan(from + MAX_TURNS + 5);
    await delegation.look(task, id);
    await delegation.gateway.runAll();
  }
}

describe('a provider that hands steps on again and again', () => {
  const calls = [{ id: 'c', agent: 'far', parts: [{ text: 'again' }] }];

  it('is ended after so many turns, with a reason of its own', async () => {
    let runs = 0;
    const far: ProviderAdapter = {
      run: async () => {
        runs += 1;
        return { kind: 'delegated', calls };
      },
    };
    const delegation = await startDelegation(rig, { adapters: { far }, clientOf: answering });
    const task = await delegation.hand();
    expect(await play(delegation, task)).toBe(MAX_TURNS);
    expect(runs).toBe(MAX_TURNS + 1);
    expect(await delegation.get(task)).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { reason: 'TOO_MANY_TURNS' },
    });
  });

  it('has all of them anew for each message of its client', async () => {
    let runs = 0;
    const far: ProviderAdapter = {
      run: async () => {
        runs += 1;
        if (runs === MAX_TURNS + 1) return { kind: 'input-required', message: [{ text: 'Go on?' }] };
        if (runs === 2 * MAX_TURNS + 2)
          return { kind: 'completed', artifacts: [{ parts: [{ text: 'end' }] }] };
        return { kind: 'delegated', calls };
      },
    };
    const delegation = await startDelegation(rig, { adapters: { far }, clientOf: answering });
    const task = await delegation.hand();
    await play(delegation, task);
    expect((await delegation.get(task)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    await delegation.gateway.call('alice', 'SendMessage', {
      message: { ...message('yes'), taskId: task },
      configuration: { returnImmediately: true },
    });
    await delegation.gateway.runAll();
    expect(await play(delegation, task, MAX_TURNS + 1)).toBe(2 * MAX_TURNS);
    expect((await delegation.get(task)).status.state).toBe('TASK_STATE_COMPLETED');
  });
});

describe('an answer of a provider that one transaction cannot hold', () => {
  const large = 'x'.repeat(300_000);
  const call = (id: string, text: string) => ({ id, agent: 'far', parts: [{ text }] });

  it.each<readonly [string, ProviderResult]>([
    [
      'messages to agents',
      { kind: 'delegated', calls: Array.from({ length: 16 }, (_, i) => call(`c${i}`, large)) },
    ],
    [
      'a message and a state',
      { kind: 'delegated', calls: [call('c', large.repeat(6))], transcript: '漢'.repeat(500_000) },
    ],
    ['a name of a call', { kind: 'delegated', calls: [call(large.repeat(2), 'x')] }],
    ['a question', { kind: 'input-required', message: [{ text: large.repeat(15) }] }],
  ])('fails the task and is not asked for again: %s', async (_, answer) => {
    let runs = 0;
    const far: ProviderAdapter = {
      run: async () => {
        runs += 1;
        return answer;
      },
    };
    const delegation = await startDelegation(rig, { adapters: { far }, clientOf: answering });
    const task = await delegation.hand();
    expect(runs).toBe(1);
    expect(await delegation.get(task)).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { reason: 'EXECUTION_FAILED' },
    });
    expect(delegation.gateway.metrics.total('ExecutionFault')).toBe(0);
  });

  it('may be as large as a client’s message, several times', async () => {
    const far: ProviderAdapter = {
      run: async () => ({
        kind: 'delegated',
        calls: Array.from({ length: 9 }, (_, i) => call(`c${i}`, large)),
      }),
    };
    const delegation = await startDelegation(rig, { adapters: { far }, clientOf: answering });
    const task = await delegation.hand();
    expect((await delegation.get(task)).status.state).toBe('TASK_STATE_WORKING');
  });
});
