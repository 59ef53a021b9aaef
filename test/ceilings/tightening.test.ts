import { describe, expect, test, vi } from 'vitest';
import { keys } from '../../shared/storage/keys.ts';
import type { Action } from '../../shared/storage/port.ts';
import { readHead } from '../../shared/tasks/read-head.ts';
import { executing, message } from '../server/rig.ts';
import { ask, errorOf, stream } from '../server/scene.ts';
import {
  completing,
  failing,
  held,
  type Keeping,
  MAIL,
  MARK,
  REDACTED_MAIL,
  scripted,
  startKeeping,
  told,
} from './rig.ts';

vi.setConfig({ testTimeout: 30_000 });

const WORDS = "The result could not be kept under the installation's privacy policy.";
/** Says something while it works, then fails so that the next provider is tried. */
const talking = () =>
  scripted(async ({ progress }) => {
    await progress(`working on ${MARK}`);
    return failing;
  });

/** The task's prompt holds the mark and its webhook is at the receiver. */
async function start(keeping: Keeping, text = `please do ${MARK}`) {
  const sent = message(text);
  const params = {
    message: sent,
    configuration: { taskPushNotificationConfig: { url: keeping.webhooks.url() } },
  };
  return { sent, params };
}

describe.each(['metadata', 'none'] as const)('a fallback whose level is %s', (level) => {
  const setUp = async () => {
    const first = talking();
    const second = scripted(() => completing(MARK));
    const keeping = await startKeeping({
      adapters: { first, second },
      levels: { providers: { second: level } },
    });
    return { keeping, second };
  };

  test('ends the task FAILED, distinguishably, and no path returns its content', async () => {
    const { keeping, second } = await setUp();
    await using _keeping = keeping;
    await using _executor = executing(keeping.gateway);
    const { params, sent } = await start(keeping);
    const blocking = ask(keeping.gateway, 'alice', 'SendMessage', params);
    const { result } = await blocking;
    const { id } = result.task;
    const expected = { state: 'FAILED', reason: 'RESULT_NOT_RETAINED' };
    const isBare = (task: {
      status: { message: { parts: unknown } };
      artifacts?: unknown;
      history?: unknown[];
    }) => {
      expect(told(task)).toEqual(expected);
      expect(task.status.message.parts).toEqual([{ text: WORDS }]);
      expect(task.artifacts ?? []).toEqual([]);
      expect(JSON.stringify(task)).not.toContain(MARK);
    };
    isBare(result.task);
    expect(second.requests).toEqual([]);

    isBare((await ask(keeping.gateway, 'alice', 'GetTask', { id })).result);
    const listed = await ask(keeping.gateway, 'alice', 'ListTasks', {
      includeArtifacts: true,
      historyLength: 50,
    });
    expect(listed.result.tasks).toHaveLength(1);
    isBare(listed.result.tasks[0]);
    // The same message again: the same task, as bare.
    const again = await ask(keeping.gateway, 'alice', 'SendMessage', { ...params, message: sent });
    expect(again.result.task.id).toBe(id);
    isBare(again.result.task);
    // A stream that is resumed has every state, the last with its reason, and no word.
    const resumed = await stream(
      keeping.gateway,
      'alice',
      'SubscribeToTask',
      { id },
      { 'last-event-id': '1.0' },
    );
    const missed = (await resumed.rest()).map(({ result: one }) => one);
    expect(JSON.stringify(missed)).not.toContain(MARK);
    expect(told(missed.at(-1).statusUpdate)).toEqual(expected);
    // Likewise what the webhook is sent.
    await keeping.finish(id);
    await keeping.outbox.drain();
    const bodies = keeping.webhooks.receiver.seen.map(({ body }) => body);
    expect(told(JSON.parse(bodies.at(-1)!).statusUpdate)).toEqual(expected);
    expect(bodies.join()).not.toContain(MARK);
  });

  test('drops the salts in the transaction that ends the task, and nothing that is left opens', async () => {
    const { keeping } = await setUp();
    await using _keeping = keeping;
    const { params } = await start(keeping);
    const { result } = await ask(keeping.gateway, 'alice', 'SendMessage', {
      ...params,
      configuration: { ...params.configuration, returnImmediately: true },
    });
    expect((await keeping.readable()).join()).toContain(MARK);
    const transact = vi.spyOn(keeping.store, 'transact');
    await keeping.gateway.runAll();
    const ending = transact.mock.calls.map(([actions]) => actions).find(endsTask);
    expect(ending?.[0]).toMatchObject({ changes: { remove: expect.arrayContaining(['salt', 'work']) } });
    // Deliveries that had opened content before it lose their condition with the same write.
    const configs = await keeping.configs(result.task.id);
    expect(ending).toContainEqual(
      expect.objectContaining({
        key: keys.pushConfig(result.task.id, configs[0]!),
        changes: { add: { generation: 1 } },
      }),
    );
    expect(await keeping.readable()).toEqual([]);
    // Sealed leftovers stand until the purge.
    expect((await keeping.dump()).state.some(({ pk }) => pk.startsWith('M#'))).toBe(true);
    expect(await keeping.found(MARK)).toEqual([]);
  });

  test('shows its stream the end, and what was shown before it is told no more', async () => {
    const { keeping } = await setUp();
    await using _keeping = keeping;
    const { params } = await start(keeping);
    const live = await stream(keeping.gateway, 'alice', 'SendStreamingMessage', params);
    await live.next();
    await using _executor = executing(keeping.gateway);
    const rest = await live.rest();
    expect(told(rest.at(-1)!.result.statusUpdate)).toEqual({
      state: 'FAILED',
      reason: 'RESULT_NOT_RETAINED',
    });
    expect(JSON.stringify(rest.at(-1))).not.toContain(MARK);
  });
});

function endsTask(actions: readonly Action[]): boolean {
  return actions.some(
    (action) => action.kind === 'update' && action.changes.set?.['state'] === 'TASK_STATE_FAILED',
  );
}

describe('a fallback whose level is redacted', () => {
  test('has the history redacted before it is called, gets the originals, and its result is kept redacted', async () => {
    const first = scripted(async ({ progress }) => {
      await progress(`asking ${MAIL}`);
      return failing;
    });
    let before: string[] = [];
    const second = scripted(async () => {
      before = storedMessages(await keeping.dump());
      return completing(`answer from ${MAIL}`);
    });
    const keeping = await startKeeping({
      adapters: { first, second },
      levels: { providers: { second: 'redacted' } },
    });
    await using _keeping = keeping;
    await using _executor = executing(keeping.gateway);
    const { result } = await ask(keeping.gateway, 'alice', 'SendMessage', {
      message: message(`write to ${MAIL}`),
    });
    expect(told(result.task).state).toBe('COMPLETED');
    expect(second.requests[0]!.message.parts[0]).toEqual({ text: `write to ${MAIL}` });
    expect(result.task.artifacts[0].parts).toEqual([{ text: `answer from ${REDACTED_MAIL}` }]);
    const said = result.task.history.map((one: { parts: { text: string }[] }) => one.parts[0]!.text);
    expect(said).toEqual([
      `write to ${REDACTED_MAIL}`,
      `asking ${REDACTED_MAIL}`,
      `said: answer from ${REDACTED_MAIL}`,
    ]);
    // The copies that the head named when the second provider was called are not those of before.
    expect(before.length).toBeGreaterThan(0);
    expect(await keeping.found(MAIL)).toEqual([]);
  });

  test('of which the run still gets the originals after a question and its answer', async () => {
    const first = scripted(() => failing);
    const second = scripted(({ history, message: asked }) =>
      history.length === 0
        ? { kind: 'input-required', message: [{ text: `is ${MAIL} right?` }] }
        : completing(`${asked.parts[0]!.text} of ${history.length}`),
    );
    const keeping = await startKeeping({
      adapters: { first, second },
      levels: { providers: { second: 'redacted' } },
    });
    await using _keeping = keeping;
    await using _executor = executing(keeping.gateway);
    const asked = await ask(keeping.gateway, 'alice', 'SendMessage', { message: message(`for ${MAIL}`) });
    expect(asked.result.task.status.message.parts[0].text).toBe(`is ${REDACTED_MAIL} right?`);
    const { id } = asked.result.task;
    const { result } = await ask(keeping.gateway, 'alice', 'SendMessage', {
      message: message(`yes, ${MAIL}`, { taskId: id }),
    });
    const resumed = second.requests.at(-1)!;
    const given = [...resumed.history, resumed.message].map(({ parts }) => parts[0]);
    expect(given).toEqual([`for ${MAIL}`, `is ${MAIL} right?`, `yes, ${MAIL}`].map((text) => ({ text })));
    expect(result.task.artifacts[0].parts[0].text).toBe(`yes, ${REDACTED_MAIL} of 2`);
    expect(await keeping.found(MAIL)).toEqual([]);
  });
});

function storedMessages({ state }: Awaited<ReturnType<Keeping['dump']>>): string[] {
  return state.flatMap(({ pk }) => (pk.startsWith('M#') ? [pk] : []));
}

describe('a completion in flight', () => {
  test.each(['metadata', 'none'] as const)(
    'that read an older ceiling does not commit: lowered to %s, the task fails',
    async (level) => {
      const only = held(completing(MARK));
      await using keeping = await startKeeping({ adapters: { only } });
      const id = await keeping.send('go');
      const execution = keeping.gateway.execute(id);
      await only.begun;
      await lowerHead(keeping, id, level);
      only.release();
      await execution;
      const { result } = await ask(keeping.gateway, 'alice', 'GetTask', { id });
      expect(told(result)).toEqual({ state: 'FAILED', reason: 'RESULT_NOT_RETAINED' });
      expect(await keeping.found(MARK)).toEqual([]);
      // The original never was a result item.
      expect((await keeping.dump()).state.filter(({ pk }) => pk.startsWith('A#'))).toEqual([]);
    },
  );

  test('that read an older ceiling is redacted before it commits, its history too', async () => {
    const only = held(completing(MAIL));
    await using keeping = await startKeeping({ adapters: { only } });
    const id = await keeping.send(`for ${MAIL}`);
    const execution = keeping.gateway.execute(id);
    await only.begun;
    await lowerHead(keeping, id, 'redacted');
    only.release();
    await execution;
    const { result } = await ask(keeping.gateway, 'alice', 'GetTask', { id });
    expect(result.artifacts[0].parts[0].text).toBe(REDACTED_MAIL);
    expect(result.history[0].parts[0].text).toBe(`for ${REDACTED_MAIL}`);
    expect(await keeping.found(MAIL)).toEqual([]);
    expect((await keeping.dump()).state.filter(({ pk }) => pk.startsWith('A#'))).toHaveLength(1);
  });

  test('is told from one that completed with no artifacts', async () => {
    const empty = scripted(() => ({ kind: 'completed', artifacts: [] }));
    await using keeping = await startKeeping({ adapters: { empty } });
    await using _executor = executing(keeping.gateway);
    const { result } = await ask(keeping.gateway, 'alice', 'SendMessage', {
      message: message('nothing, please'),
    });
    expect(told(result.task)).toEqual({ state: 'COMPLETED', reason: undefined });
    expect(result.task.artifacts ?? []).toEqual([]);
    expect(result.task.history).toHaveLength(1);
  });
});

/** What an administrator's job writes first. */
async function lowerHead({ store }: Keeping, task: string, level: string): Promise<void> {
  await store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(task),
    changes: { set: { ceiling: level } },
    when: [{ attribute: 'pk', is: 'present' }],
  });
}

test('a provider stands once among those that were tried, however often it is', async () => {
  const [first, second] = [scripted(() => failing), scripted(() => failing)];
  await using keeping = await startKeeping({ adapters: { first, second }, profile: { attempts: 3 } });
  const id = await keeping.send('go');
  await keeping.gateway.runAll();
  expect(second.requests).toHaveLength(3);
  expect((await readHead(keeping.gateway.services, id))?.tried).toEqual(['first', 'second']);
});

test('a follow-up to a task of which nothing may be kept any more is refused', async () => {
  const only = scripted(() => ({ kind: 'input-required', message: [{ text: 'which?' }] }));
  await using keeping = await startKeeping({ adapters: { only } });
  const id = await keeping.send('go');
  await keeping.gateway.runAll();
  await lowerHead(keeping, id, 'none');
  const asked = await ask(keeping.gateway, 'alice', 'SendMessage', {
    message: message('this', { taskId: id }),
  });
  expect(errorOf(asked).own).toBe('RESULT_NOT_RETAINABLE');
});
