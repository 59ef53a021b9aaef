import type { Expected } from './harness/invariants.ts';
import type { Script } from './harness/provider.ts';
import { RemoteClient } from './harness/remote-client.ts';
import type { World, WorldOptions } from './harness/world.ts';

/** What clients do, what providers do, and what it may come to. */
export interface Scenario {
  readonly name: string;
  readonly world?: WorldOptions;
  /** Plays the clients; resolves with them when they have what they came for. */
  readonly play: (world: World) => Promise<RemoteClient[]>;
  readonly expected: Expected;
  /** Instead of what must hold of tasks that are kept as they are: what is broken, in words. */
  readonly check?: (world: World, clients: readonly RemoteClient[]) => Promise<string[]>;
}

const ENDS = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];
const immediately = { returnImmediately: true };
const answering =
  (text: string): Script =>
  async () => ({ kind: 'completed', artifacts: [{ parts: [{ text }] }] });

/** Plays one client. */
const alone = (steps: (alice: RemoteClient) => Promise<void>) => async (world: World) => {
  const alice = new RemoteClient(world);
  await steps(alice);
  return [alice];
};

const create: Scenario = {
  name: 'a message is sent and its task completed',
  play: alone(async (alice) => {
    const task = await alice.send(alice.message('hello'));
    await alice.until(task.id, ENDS);
  }),
  expected: { ends: ['COMPLETED'], artifacts: ['hello'] },
};

const progress: Scenario = {
  name: 'a run reports progress and completes',
  world: {
    providers: {
      slow: async (run) => {
        await run.sleep(1_500);
        await run.progress('half of it');
        await run.sleep(500);
        return {
          kind: 'completed',
          artifacts: [{ parts: [{ text: 'all of it' }] }],
          message: [{ text: 'done' }],
        };
      },
    },
  },
  play: create.play,
  expected: { ends: ['COMPLETED'], artifacts: ['all of it'] },
};

const asking: Script = async ({ message, history }) =>
  history.length === 0
    ? { kind: 'input-required', message: [{ text: 'which one?' }] }
    : { kind: 'completed', artifacts: [{ parts: [{ text: `${message.parts[0]?.text} it is` }] }] };

const question: Scenario = {
  name: 'a run asks, is answered and completes',
  world: { providers: { asking } },
  play: alone(async (alice) => {
    const sent = await alice.send(alice.message('one of them'));
    const { id } = await alice.until(sent.id, ['INPUT_REQUIRED', ...ENDS]);
    await alice.send(alice.message('the red one', { taskId: id }));
    await alice.until(id, ENDS);
  }),
  expected: { ends: ['COMPLETED'], artifacts: ['the red one it is'] },
};

const cancel: Scenario = {
  name: 'a task is canceled while it completes',
  world: {
    providers: {
      slow: async (run) => {
        await run.sleep(300);
        return { kind: 'completed', artifacts: [{ parts: [{ text: 'too late?' }] }] };
      },
    },
  },
  play: alone(async (alice) => {
    const task = await alice.send(alice.message('hello'), immediately);
    await alice.sleep(300);
    const { error } = await alice.call('CancelTask', { id: task.id });
    if (error && error.code !== -32002) throw new Error(`cancel answered ${JSON.stringify(error)}`);
    await alice.until(task.id, ENDS, 0);
  }),
  expected: { ends: ['COMPLETED', 'CANCELED'], artifacts: ['too late?'] },
};

const immediate: Scenario = {
  name: 'a message is answered at once and its task asked for later',
  play: alone(async (alice) => {
    const task = await alice.send(alice.message('later'), immediately);
    await alice.until(task.id, ENDS);
  }),
  expected: { ends: ['COMPLETED'], artifacts: ['later'] },
};

const streaming: Scenario = {
  name: 'a stream is followed by its sender',
  world: {
    providers: {
      slow: async (run) => {
        await run.sleep(50);
        await run.progress('on it');
        await run.sleep(50);
        return { kind: 'completed', artifacts: ['a', 'b'].map((text) => ({ parts: [{ text }] })) };
      },
    },
  },
  play: alone(async (alice) => {
    await alice.follow(alice.message('stream me'));
    await alice.until([...alice.handed][0]!, ENDS);
  }),
  expected: { ends: ['COMPLETED'], artifacts: ['a', 'b'] },
};

const watched: Scenario = {
  name: 'a stream is followed by its sender, who asks after each event, and by another',
  world: streaming.world ?? {},
  async play(world) {
    const [alice, other] = [new RemoteClient(world), new RemoteClient(world)];
    const watching = (async () => {
      while (alice.handed.size === 0) await alice.sleep(20);
      await other.watch([...alice.handed][0]!);
    })();
    await alice.follow(alice.message('stream me'), true);
    await alice.until([...alice.handed][0]!, ENDS);
    await watching;
    return [alice, other];
  },
  expected: streaming.expected,
};

/** Asks all the time for as long as an undisturbed run takes, then as anybody would. */
async function pry(client: RemoteClient, task: string): Promise<void> {
  for (let look = 0; look < 60; look++) {
    await client.call('GetTask', { id: task });
    await client.sleep(9);
  }
  await client.until(task, ENDS);
}

/** Commits that follow each other at once, under the eyes of two streams and of somebody who asks all the time. */
const pried: Scenario = {
  name: 'a run says one thing after another, and is watched closely',
  world: {
    providers: {
      chatty: async (run) => {
        for (const words of ['one', 'two', 'three', 'four']) await run.progress(words);
        return { kind: 'completed', artifacts: [{ parts: [{ text: 'five' }] }] };
      },
    },
  },
  async play(world) {
    const [alice, other] = [new RemoteClient(world), new RemoteClient(world)];
    const watching = (async () => {
      while (alice.handed.size === 0) await alice.sleep(5);
      const task = [...alice.handed][0]!;
      await Promise.all([other.watch(task), pry(other, task)]);
    })();
    await alice.follow(alice.message('tell me'));
    await alice.until([...alice.handed][0]!, ENDS);
    await watching;
    return [alice, other];
  },
  expected: { ends: ['COMPLETED'], artifacts: ['five'] },
};

/** The same, and a third one cancels it between two of its commits, or between the items of one. */
const interrupted: Scenario = {
  ...pried,
  name: 'a run says one thing after another, and is canceled on the way',
  async play(world) {
    const third = new RemoteClient(world);
    const canceling = (async () => {
      for (let look = 0; world.ledger.revisions().length < 3; look++)
        await third.sleep(look < 300 ? 3 : 5_000);
      const task = world.ledger.revisions().at(-1)!.revision.task;
      await third.call('CancelTask', { id: task });
    })();
    const clients = await pried.play(world);
    await canceling;
    return [...clients, third];
  },
  expected: { ends: ['COMPLETED', 'CANCELED'], artifacts: ['five'] },
};

const retried: Scenario = {
  name: 'a provider fails for a while and the run is tried again',
  world: {
    providers: {
      shaky: async ({ attempt }) =>
        attempt === 1
          ? { kind: 'failed', retryable: true, reason: 'unavailable' }
          : { kind: 'completed', artifacts: [{ parts: [{ text: 'at last' }] }] },
    },
  },
  play: immediate.play,
  expected: { ends: ['COMPLETED'], artifacts: ['at last'] },
};

const fallback: Scenario = {
  name: 'a provider fails and the next one is tried',
  world: {
    providers: {
      broken: async () => ({ kind: 'failed', retryable: true, reason: 'unavailable' }),
      spare: answering('spared'),
    },
  },
  play: immediate.play,
  expected: { ends: ['COMPLETED'], artifacts: ['spared'] },
};

const spent: Scenario = {
  name: 'a provider always fails and the attempts are spent',
  world: {
    providers: { broken: async () => ({ kind: 'failed', retryable: true, reason: 'unavailable' }) },
  },
  play: immediate.play,
  expected: { ends: ['FAILED EXECUTION_FAILED'] },
};

const deadLetter: Scenario = {
  name: 'a run kills its executor and its message becomes a dead letter',
  world: {
    receives: 1,
    visibilityMs: 45_000,
    providers: { deadly: (run) => (run.attempt < 3 ? run.die() : answering('survived')(run)) },
  },
  play: alone(async (alice) => {
    const task = await alice.send(alice.message('kill me'), immediately);
    await alice.until(task.id, ENDS, 60_000);
  }),
  // One more crash spends the attempt that would have survived.
  expected: { ends: ['COMPLETED', 'FAILED EXECUTION_FAILED'], artifacts: ['survived'] },
};

const deadline: Scenario = {
  name: 'a run does not end before its deadline',
  world: {
    profile: { runSeconds: 40 },
    providers: {
      endless: async (run) => {
        while (!run.signal.aborted) await run.sleep(10_000);
        return { kind: 'failed', retryable: false, reason: 'aborted' };
      },
    },
  },
  play: immediate.play,
  expected: { ends: ['FAILED DEADLINE_EXCEEDED'] },
};

const expiry: Scenario = {
  name: 'a question is never answered',
  world: { providers: { asking } },
  play: alone(async (alice) => {
    const task = await alice.send(alice.message('one of them'), immediately);
    await alice.until(task.id, ENDS, 8 * 24 * 3_600_000);
  }),
  expected: { ends: ['FAILED INPUT_EXPIRED'] },
};

const tooLarge: Scenario = {
  name: 'a result is larger than what is kept',
  world: { providers: { big: answering('x'.repeat(2_000_001)) } },
  play: immediate.play,
  expected: { ends: ['FAILED RESULT_TOO_LARGE'] },
};

const sliced: Scenario = {
  name: 'a result is kept in several slices',
  world: { providers: { big: answering('x'.repeat(800_000)) } },
  play: immediate.play,
  expected: { ends: ['COMPLETED'], artifacts: ['x'.repeat(800_000)] },
};

export const scenarios = {
  ...{
    create,
    progress,
    question,
    cancel,
    immediate,
    streaming,
    watched,
    pried,
    interrupted,
    retried,
    fallback,
    spent,
    deadLetter,
  },
  ...{ deadline, expiry, tooLarge, sliced },
};
export type ScenarioName = keyof typeof scenarios;
