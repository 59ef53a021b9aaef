import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MAX_REGISTRATIONS } from '../../shared/delegation/formats.ts';
import { keys } from '../../shared/storage/keys.ts';
import { error, type FakeAgent, type Reply, result, startAgent, task } from '../client/fake-agent.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Delegation, startDelegation } from './rig.ts';

let rig: StoreRig;
let agent: FakeAgent;
let delegation: Delegation;
let onGet: Reply;

beforeAll(async () => {
  rig = await startStore();
  agent = await startAgent((response, seen) => {
    if (seen.rpc.method === 'CreateTaskPushNotificationConfig')
      return result(seen.rpc.params)(response, seen);
    return seen.rpc.method === 'SendMessage'
      ? result({ task: WORKING })(response, seen)
      : onGet(response, seen);
  });
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});
const target = () => ({ interface: { url: agent.url, protocolVersion: '1.0' } });
beforeEach(async () => {
  agent.seen.length = 0;
  onGet = result(WORKING);
  delegation = await startDelegation(rig, { agent: target() });
});

const WORKING = task('TASK_STATE_WORKING');
interface PushConfig {
  readonly url: string;
  readonly authentication: { readonly credentials: string };
}

/** A step that was sent, and how its agent calls back. */
async function sent() {
  const id = await delegation.hand();
  await delegation.look(id);
  const { configuration } = agent.seen.at(-1)!.rpc.params as { configuration: Record<string, PushConfig> };
  const { url, authentication } = configuration['taskPushNotificationConfig']!;
  const headers = { authorization: `Bearer ${authentication.credentials}` };
  return { id, signal: (body = '{}') => delegation.callBack(url.split('/').at(-1)!, headers, body) };
}

const gets = () => agent.seen.filter(({ rpc }) => rpc.method === 'GetTask').length;
/** Seconds from now to the next look. */
const wait = async (id: string) => {
  const { next } = (await delegation.shown(id))!;
  return Math.round((Date.parse(String(next)) - delegation.services.clock.now()) / 1000);
};

describe('looks because of signals', () => {
  it('are no polls: however much an agent talks, it is polled after 5, 10, 20 … seconds', async () => {
    const { id, signal } = await sent();
    for (const seconds of [5, 10, 20]) {
      const looked = gets();
      for (let n = 0; n < 6; n++) {
        expect((await signal()).status).toBe(200);
        await delegation.look(id);
      }
      expect(gets()).toBe(looked + 6);
      expect(Math.abs((await wait(id)) - seconds)).toBeLessThanOrEqual(2);
      delegation.ahead += seconds * 1000;
      await delegation.look(id);
    }
    expect(await delegation.shown(id)).toMatchObject({ polls: 4, signalsWaiting: 0 });
  });
});

describe('a signal', () => {
  it.each([
    ['half of a surrogate pair', { task: { id: '\ud800' } }],
    ['a name of a thousand characters', { statusUpdate: { taskId: 'x'.repeat(1_000) } }],
    ['no name', { task: { id: { deep: [] } } }],
    ['nothing', null],
  ])('may claim %s', async (_, body) => {
    const { id, signal } = await sent();
    expect((await signal(JSON.stringify(body))).status).toBe(200);
    expect(await delegation.shown(id)).toMatchObject({ signalsWaiting: 1 });
  });

  it('that names another task is told of once, also where the agent does not answer for long', async () => {
    const { id, signal } = await sent();
    await signal(JSON.stringify({ task: { id: 't-other' } }));
    onGet = error(-32603);
    for (let n = 0; n < 5; n++) {
      delegation.ahead += 60_000;
      await delegation.look(id);
    }
    onGet = result(WORKING);
    for (let n = 0; n < 2; n++) {
      delegation.ahead += 60_000;
      await delegation.look(id);
    }
    expect(delegation.gateway.metrics.total('CallbackMismatch')).toBe(1);
  });
});

describe('where no more callback addresses may be opened', () => {
  const full = () =>
    rig.store.write({
      kind: 'put',
      table: 'delegation',
      item: { ...keys.openRegistrations(), open: MAX_REGISTRATIONS },
    });

  it.each(['embedded', 'separate'] as const)(
    'a step is polled to its end (%s), and it is told why',
    async (push) => {
      delegation = await startDelegation(rig, { agent: { ...target(), push } });
      await full();
      const id = await delegation.hand();
      await delegation.look(id);
      await delegation.look(id);
      expect(delegation.gateway.metrics.total('CallbacksFull')).toBeGreaterThan(0);
      expect(delegation.gateway.log.lines).toContainEqual(
        expect.objectContaining({
          message: 'too many callback addresses are open: a step is polled',
          fields: expect.objectContaining({ task: id, agent: 'far' }),
        }),
      );
      onGet = result(task('TASK_STATE_COMPLETED'));
      delegation.ahead += 30_000;
      await delegation.look(id);
      await delegation.gateway.runAll();
      expect((await delegation.get(id)).status.state).toBe('TASK_STATE_COMPLETED');
    },
  );
});

describe('calls of remote agents', () => {
  it('are counted alike whether they were answered or not', async () => {
    const { id } = await sent();
    const counted = () => ['RemoteAnswered', 'RemoteFailure'].map(delegation.gateway.metrics.total);
    expect(counted()).toEqual([1, 0]);
    delegation.ahead += 10_000;
    await delegation.look(id);
    expect(counted()).toEqual([2, 0]);
    onGet = error(-32603);
    delegation.ahead += 60_000;
    await delegation.look(id);
    expect(counted()).toEqual([2, 1]);
  });
});
