import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_REGISTRATIONS } from '../../shared/delegation/formats.ts';
import { keys } from '../../shared/storage/keys.ts';
import { workingName } from '../../shared/tasks/working.ts';
import { error, type FakeAgent, type Reply, result, startAgent, task } from '../client/fake-agent.ts';
import { message } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Delegation, startDelegation } from './rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await startStore();
});
afterAll(() => rig[Symbol.asyncDispose]());

const working = task('TASK_STATE_WORKING');
const done = task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text: 'done' }] }] });

/** Answers by method; what is not named is answered with the task. */
const byMethod =
  (replies: Readonly<Record<string, Reply>>): Reply =>
  (response, seen) =>
    (replies[seen.rpc.method ?? ''] ?? result(working))(response, seen);

async function delegate(agent: FakeAgent, push: 'embedded' | 'separate'): Promise<Delegation> {
  return startDelegation(rig, {
    agent: { push, interface: { url: agent.url, protocolVersion: '1.0' } },
  });
}

/** Looks until nothing is to be done now, as the reconciler does. */
async function lookUntilRest(delegation: Delegation, id: string): Promise<void> {
  for (let looks = 0; looks < 8; looks++) {
    const wakeAt = await delegation.look(id);
    if (wakeAt === undefined || wakeAt > delegation.services.clock.now()) return;
  }
  throw new Error('it never comes to rest');
}

const methods = (agent: FakeAgent) => agent.seen.map(({ rpc }) => rpc.method);
const credentialOf = async (id: string) => {
  const names = (await rig.store.scan('state')).items.map(({ pk }) => pk);
  return names.filter((pk) => pk.includes(workingName.credential('')) && pk.includes(id));
};

describe('a remote that takes no push', () => {
  it('gets the message again without the config, and its registration counts no more', async () => {
    await using agent = await startAgent(
      byMethod({
        SendMessage: (response, seen) => {
          const { configuration } = seen.rpc.params as { configuration: Record<string, unknown> };
          const refuses = 'taskPushNotificationConfig' in configuration;
          return (refuses ? error(-32003) : result({ task: working }))(response, seen);
        },
      }),
    );
    const delegation = await delegate(agent, 'embedded');
    const id = await delegation.hand();
    expect(await delegation.openRegistrations()).toBe(1);
    expect(await credentialOf(id)).toHaveLength(1);
    await lookUntilRest(delegation, id);
    expect(methods(agent)).toEqual(['SendMessage', 'SendMessage']);
    const [first, second] = agent.seen.map(({ rpc }) => rpc.params?.['message']);
    expect(second).toEqual(first);
    expect(await delegation.shown(id)).toMatchObject({
      state: 'sent',
      push: 'off',
      registered: false,
      registrationState: 'ended',
    });
    expect(await delegation.openRegistrations()).toBe(0);
    expect(await credentialOf(id)).toEqual([]);
  });

  it('is polled to its end, and what ended with it is not counted twice', async () => {
    let answer: object = working;
    await using agent = await startAgent(
      byMethod({
        SendMessage: result({ task: working }),
        GetTask: (response, seen) => result(answer)(response, seen),
        CreateTaskPushNotificationConfig: error(-32003),
      }),
    );
    const delegation = await delegate(agent, 'separate');
    const id = await delegation.hand();
    await lookUntilRest(delegation, id);
    // What it refused is known after the second call; the third closes the gap between the first and then.
    expect(methods(agent)).toEqual(['SendMessage', 'CreateTaskPushNotificationConfig', 'GetTask']);
    expect(await delegation.shown(id)).toMatchObject({ push: 'off', registrationState: 'ended' });
    expect(await delegation.openRegistrations()).toBe(0);
    answer = done;
    delegation.ahead = 60_000;
    await delegation.look(id);
    expect(await delegation.shown(id)).toMatchObject({ state: 'ended', outcome: 'completed' });
    expect(await delegation.openRegistrations()).toBe(0);
    await delegation.gateway.runAll();
    expect((await delegation.get(id)).status.state).toBe('TASK_STATE_COMPLETED');
  });
});

describe('open registrations', () => {
  it.each(['embedded', 'separate'] as const)(
    'are counted from their first to their end (%s)',
    async (push) => {
      let answer: object = working;
      await using agent = await startAgent(
        byMethod({
          SendMessage: result({ task: working }),
          GetTask: (response, seen) => result(answer)(response, seen),
          CreateTaskPushNotificationConfig: (response, seen) => result(seen.rpc.params)(response, seen),
        }),
      );
      const delegation = await delegate(agent, push);
      const ids = [await delegation.hand(), await delegation.hand()];
      for (const id of ids) await lookUntilRest(delegation, id);
      expect(await delegation.openRegistrations()).toBe(2);
      answer = done;
      delegation.ahead = 60_000;
      await delegation.look(ids[0]!);
      await delegation.look(ids[0]!);
      expect(await delegation.openRegistrations()).toBe(1);
      await delegation.gateway.call('alice', 'CancelTask', { id: ids[1] });
      await delegation.look(ids[1]!);
      expect(await delegation.openRegistrations()).toBe(0);
    },
  );

  it.each(['embedded', 'separate'] as const)(
    'are never more than the bound: a step beyond it is polled, and ends as any other (%s)',
    async (push) => {
      let answer: object = working;
      await using agent = await startAgent(
        byMethod({
          SendMessage: result({ task: working }),
          GetTask: (response, seen) => result(answer)(response, seen),
          CreateTaskPushNotificationConfig: (response, seen) => result(seen.rpc.params)(response, seen),
        }),
      );
      const delegation = await delegate(agent, push);
      await rig.store.write({
        kind: 'put',
        table: 'delegation',
        item: { ...keys.openRegistrations(), open: MAX_REGISTRATIONS - 1 },
      });
      const ids = [await delegation.hand(), await delegation.hand(), await delegation.hand()];
      for (const id of ids) await lookUntilRest(delegation, id);
      expect(await delegation.openRegistrations()).toBe(MAX_REGISTRATIONS);
      const shown = await Promise.all(ids.map((id) => delegation.shown(id)));
      expect(shown.map((one) => one?.['state'])).toEqual(['sent', 'sent', 'sent']);
      expect(shown.filter((one) => one?.['registrationState'] === 'open')).toHaveLength(1);
      answer = done;
      delegation.ahead = 60_000;
      for (const id of ids) await delegation.look(id);
      await delegation.gateway.runAll();
      for (const id of ids) expect((await delegation.get(id)).status.state).toBe('TASK_STATE_COMPLETED');
      expect(await delegation.openRegistrations()).toBe(MAX_REGISTRATIONS - 1);
    },
  );

  it('are never more than the bound, also when many runs open some at once', async () => {
    await using agent = await startAgent(byMethod({ SendMessage: result({ task: working }) }));
    const delegation = await delegate(agent, 'embedded');
    const { gateway } = delegation;
    await rig.store.write({
      kind: 'put',
      table: 'delegation',
      item: { ...keys.openRegistrations(), open: MAX_REGISTRATIONS - 5 },
    });
    const created = await Promise.all(
      Array.from({ length: 20 }, () =>
        gateway.call('alice', 'SendMessage', {
          message: message('one of many'),
          configuration: { returnImmediately: true },
        }),
      ),
    );
    const ids = created.map(({ result: sent }) => String(sent.task.id));
    await Promise.all(ids.map((id) => gateway.execute(id)));
    expect(await delegation.openRegistrations()).toBe(MAX_REGISTRATIONS);
    const pushes = await Promise.all(ids.map(async (id) => (await delegation.dependency(id))['push']));
    expect(pushes.filter((push) => push === 'embedded')).toHaveLength(5);
    expect(pushes.filter((push) => push === 'off')).toHaveLength(15);
  });
});
