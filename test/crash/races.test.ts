import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { project } from '../../shared/journal/project.ts';
import type { ProviderAdapter } from '../../shared/providers/index.ts';
import { keys } from '../../shared/storage/index.ts';
import { readHead, readRevisions } from '../../shared/tasks/read-head.ts';
import {
  createGateway,
  echoProfile,
  executing,
  type Gateway,
  memoryKeyService,
  memoryQueue,
  message,
  register,
  textOf,
} from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { withoutStream } from './harness/bench.ts';
import { PATIENCE } from './harness/suite.ts';

/** Real concurrency on the engine, on the real clock: several gateways on one store, as instances are. */
interface Field {
  readonly rig: StoreRig;
  readonly gateways: readonly [Gateway, Gateway];
  /** Provider runs, by task. */
  readonly runs: Map<string, number>;
}

const immediately = { returnImmediately: true };

function field(): () => Field {
  let made: Field | undefined;
  beforeAll(async () => {
    const rig = await startStore();
    await withoutStream(rig.client, rig.tables.state);
    const runs = new Map<string, number>();
    const asking: ProviderAdapter = {
      async run({ task, history, message: { parts } }) {
        runs.set(task, (runs.get(task) ?? 0) + 1);
        if (history.length > 0) return { kind: 'completed', artifacts: [{ parts }] };
        return { kind: 'input-required', message: [{ text: 'and?' }] };
      },
    };
    const counting: ProviderAdapter = {
      async run({ task, message: { parts } }) {
        runs.set(task, (runs.get(task) ?? 0) + 1);
        return { kind: 'completed', artifacts: [{ parts }] };
      },
    };
    await register(rig.store, {
      clients: [{ id: 'alice' }],
      profiles: [
        echoProfile,
        { ...echoProfile, id: 'asking', providers: ['asking'] },
        { ...echoProfile, id: 'hasty', providers: ['asking'], inputSeconds: 1 },
      ],
      providers: [
        { id: 'echo', kind: 'echo', timeoutSeconds: 10 },
        { id: 'asking', kind: 'echo', timeoutSeconds: 10 },
      ],
      settings: { requestsPerMinute: 1_000_000, openTasks: 10_000, openStreams: 1_000 },
    });
    const parts = {
      store: rig.store,
      keyService: memoryKeyService(),
      runQueue: memoryQueue(),
      adapters: { echo: counting, asking },
    };
    made = { rig, runs, gateways: [createGateway(parts), createGateway(parts)] };
  });
  afterAll(() => made?.rig[Symbol.asyncDispose]());
  return () => made!;
}

async function send(gateway: Gateway, params: object): Promise<{ id: string; contextId: string }> {
  const { result, error } = await gateway.call('alice', 'SendMessage', params);
  if (error) throw new Error(JSON.stringify(error));
  return result.task;
}

const stateOf = async (gateway: Gateway, id: string): Promise<string> =>
  (await gateway.call('alice', 'GetTask', { id })).result.status.state;

describe('cancel against completion', PATIENCE, () => {
  const on = field();

  test('200 times leaves one ending each, the one that GetTask and the stream show', async () => {
    const [one, other] = on().gateways;
    const endings = new Map<string, number>();
    const race = async (round: number) => {
      const { id } = await send(one, { message: message('race'), configuration: immediately });
      one.runQueue.messages.length = 0;
      const stream = await one.post('alice', {
        jsonrpc: '2.0',
        id: 1,
        method: 'SubscribeToTask',
        params: { id },
      });
      const reading = textOf(stream.body as AsyncIterable<string>);
      const cancel = async () => {
        // Spread over the run's length, so that either may be first.
        for (let turn = 0; turn < (7 * round) % 12; turn++) await readHead(other.services, id);
        return other.call('alice', 'CancelTask', { id });
      };
      const [canceled] = await Promise.all([cancel(), one.execute(id)]);
      const state = await stateOf(other, id);
      const events = (await reading)
        .trimEnd()
        .split('\n\n')
        .filter((event) => event.startsWith('id: '));
      const last = JSON.parse(events.at(-1)!.split('data: ')[1]!).result;
      expect(last.statusUpdate.status.state).toBe(state);
      if (canceled.error) expect(canceled.error.code).toBe(-32002);
      expect(state).toBe(canceled.error ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_CANCELED');
      const head = (await readHead(one.services, id))!;
      const revisions = await readRevisions(one.services, id, 1, head.revision + 5);
      expect(revisions.filter((each) => /COMPLETED|CANCELED|FAILED/.test(each.state))).toHaveLength(1);
      endings.set(state, (endings.get(state) ?? 0) + 1);
    };
    for (let round = 0; round < 200; round += 5)
      await Promise.all(Array.from({ length: 5 }, (_, i) => race(round + i)));
    // A race that always has the same winner is none.
    expect(endings.get('TASK_STATE_COMPLETED')).toBeGreaterThan(10);
    expect(endings.get('TASK_STATE_CANCELED')).toBeGreaterThan(10);
  });
});

describe('at the same moment', PATIENCE, () => {
  const on = field();

  test('20 sends of one message make one task that is run once', async () => {
    const { gateways, runs, rig } = on();
    const sent = { message: message('only once') };
    await using _ = executing(...gateways);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => send(gateways[i % 2]!, sent)));
    const ids = new Set(answers.map(({ id }) => id));
    expect([...ids]).toHaveLength(1);
    expect(runs.get([...ids][0]!)).toBe(1);
    const { items } = await rig.store.scan('state');
    expect(items.filter(({ pk, sk }) => pk.startsWith('T#') && sk === 'H')).toHaveLength(1);
  });

  test('50 tasks of one client all complete', async () => {
    const { gateways } = on();
    await using _ = executing(...gateways);
    const texts = Array.from({ length: 50 }, (_, i) => `task ${i}`);
    const answers = await Promise.all(
      texts.map(
        async (text, i) =>
          (await gateways[i % 2]!.call('alice', 'SendMessage', { message: message(text) })).result.task,
      ),
    );
    expect(answers.map((task) => task.status.state)).toEqual(texts.map(() => 'TASK_STATE_COMPLETED'));
    expect(answers.map((task) => task.artifacts[0].parts[0].text)).toEqual(texts);
  });

  test('two follow-ups to a question: one resumes it, the other is told that it is worked on', async () => {
    const { gateways, runs } = on();
    const [one, other] = gateways;
    for (let round = 0; round < 20; round++) {
      const { id: taskId } = await send(one, {
        tenant: 'asking',
        message: message('?'),
        configuration: immediately,
      });
      await one.runAll();
      expect(await stateOf(one, taskId)).toBe('TASK_STATE_INPUT_REQUIRED');
      const answers = await Promise.all(
        [one, other].map((gateway) =>
          gateway.call('alice', 'SendMessage', {
            message: message('!', { taskId }),
            configuration: immediately,
          }),
        ),
      );
      const refused = answers.filter(({ error }) => error);
      expect(refused).toHaveLength(1);
      expect(refused[0]!.error!.code).toBe(-32004);
      expect(refused[0]!.error!.data.map(({ reason }) => reason)).toContain('TASK_WORKING');
      await one.runAll();
      const { result } = await other.call('alice', 'GetTask', { id: taskId });
      expect(result.status.state).toBe('TASK_STATE_COMPLETED');
      expect(result.history).toHaveLength(3);
      expect(runs.get(taskId)).toBe(2);
    }
  });

  test('two projectors publish each revision once', async () => {
    const { gateways, rig } = on();
    const [one, other] = gateways;
    for (let round = 0; round < 20; round++) {
      const { id } = await send(one, { tenant: 'asking', message: message('?'), configuration: immediately });
      await one.runAll();
      // The view is thrown away: both begin at revision 1.
      const shown = await rig.store.query({ table: 'view', partition: keys.view(id).pk });
      for (const { pk, sk } of shown.items)
        await rig.store.write({ kind: 'delete', table: 'view', key: { pk, sk } });
      const views = await Promise.all([one, other, one, other].map(({ services }) => project(services, id)));
      const again = await rig.store.query({ table: 'view', partition: keys.view(id).pk });
      expect(again.items).toEqual(shown.items);
      expect(new Set(views.map(({ view }) => view?.revision))).toEqual(new Set([views[0]!.head!.revision]));
    }
  });

  test('a follow-up and the expiry of the question: one of them has it, and the task ends as that one says', async () => {
    const { gateways } = on();
    const [one, other] = gateways;
    const endings = new Set<string>();
    const race = async (round: number) => {
      const { id: taskId } = await send(one, {
        tenant: 'hasty',
        message: message('?'),
        configuration: immediately,
      });
      await one.execute(taskId);
      const head = (await readHead(one.services, taskId))!;
      const until = async (moment: number) => {
        while (Date.now() < moment) await one.services.clock.sleep(moment - Date.now());
      };
      // The answer comes shortly before the limit, or at it; who is first is a matter of milliseconds.
      await until(head.deadline! - (round % 8) * 15);
      const expire = async () => {
        await until(head.deadline!);
        return other.deadLetter(taskId);
      };
      const [answer] = await Promise.all([
        one.call('alice', 'SendMessage', { message: message('!', { taskId }), configuration: immediately }),
        expire(),
      ]);
      if (!answer.error) await one.execute(taskId);
      const { result } = await other.call('alice', 'GetTask', { id: taskId });
      if (answer.error) {
        expect(answer.error.code).toBe(-32004);
        expect(result.metadata.reason).toBe('INPUT_EXPIRED');
      }
      expect(result.status.state).toBe(answer.error ? 'TASK_STATE_FAILED' : 'TASK_STATE_COMPLETED');
      endings.add(result.status.state);
    };
    await Promise.all(Array.from({ length: 40 }, (_, round) => race(round)));
    expect(endings.size).toBe(2);
  });
});
