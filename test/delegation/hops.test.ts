import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MAX_HOPS } from '../../shared/delegation/hops.ts';
import { type FakeAgent, result, startAgent, task } from '../client/fake-agent.ts';
import { message } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Delegation, startDelegation } from './rig.ts';

let rig: StoreRig;
let agent: FakeAgent;
let delegation: Delegation;

beforeAll(async () => {
  rig = await startStore();
  agent = await startAgent(result({ task: task('TASK_STATE_COMPLETED') }));
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});
beforeEach(async () => {
  agent.seen.length = 0;
  delegation = await startDelegation(rig, {
    agent: { interface: { url: agent.url, protocolVersion: '1.0' } },
  });
});

/** A message that says in its metadata over how many gateways it came. */
async function send(metadata?: object): Promise<string> {
  const { result } = await delegation.gateway.call('alice', 'SendMessage', {
    message: { ...message('words'), ...(metadata ? { metadata } : {}) },
    configuration: { returnImmediately: true },
  });
  await delegation.gateway.runAll();
  await delegation.look(result.task.id);
  await delegation.gateway.runAll();
  return result.task.id;
}
const metadataSent = () =>
  agent.seen.map(({ rpc }) => (rpc.params as { message: { metadata?: object } }).message.metadata);

describe('a message that is handed on', () => {
  it.each([
    ['nothing', undefined, 1],
    ['no number', { 'sealpost/hops': 'many' }, 1],
    ['less than nothing', { 'sealpost/hops': -5 }, 1],
    ['one gateway', { 'sealpost/hops': 1 }, 2],
    ['as many as may be, but one', { 'sealpost/hops': MAX_HOPS - 1 }, MAX_HOPS],
  ])('counts the gateways that it came over: %s', async (_, metadata, hops) => {
    const id = await send(metadata);
    expect((await delegation.get(id)).status.state).toBe('TASK_STATE_COMPLETED');
    expect(metadataSent()).toEqual([{ 'sealpost/hops': hops }]);
  });

  it('over too many goes no further, with a reason of its own', async () => {
    const id = await send({ 'sealpost/hops': MAX_HOPS });
    expect(agent.seen).toEqual([]);
    expect(await delegation.get(id)).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { reason: 'TOO_MANY_HOPS' },
    });
  });
});
