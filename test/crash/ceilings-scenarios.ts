import type { AnswerLevel } from '../../shared/registry/index.ts';
import { administer, untilTightened } from './harness/administrator.ts';
import { brokenKeeping, type Keeping } from './harness/kept.ts';
import type { Script } from './harness/provider.ts';
import { RemoteClient } from './harness/remote-client.ts';
import type { World } from './harness/world.ts';
import type { Scenario } from './scenarios.ts';

const MARK = 'planted-marker-7f3a';
const MAIL = 'planted.marker@secret.example';
const ENDS = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];
const immediately = { returnImmediately: true };

const answering =
  (text: string): Script =>
  async () => ({ kind: 'completed', artifacts: [{ parts: [{ text }] }] });

/** Says the word while it works, then fails so that the next provider is tried. */
const talking =
  (word: string): Script =>
  async (run) => {
    await run.progress(`working on ${word}`);
    return { kind: 'failed', retryable: true, reason: 'unavailable' };
  };

function scenario(
  name: string,
  parts: Omit<Scenario, 'name' | 'play' | 'expected' | 'check'> & { readonly keeping: Keeping },
  play: Scenario['play'],
): Scenario {
  return {
    ...{ name, play, expected: { ends: [] } },
    ...(parts.world ? { world: parts.world } : {}),
    check: (world, clients) => brokenKeeping(world, clients, parts.keeping),
  };
}

const falling = (level: AnswerLevel, keeping: Keeping, word: string): Scenario =>
  scenario(
    `a fallback tightens a run to ${level}`,
    {
      world: {
        providers: { first: talking(word), second: answering(`from ${word}`) },
        levels: { second: level },
      },
      keeping,
    },
    async (world) => {
      const alice = new RemoteClient(world);
      const { id } = await alice.send(alice.message(`do ${word}`), immediately);
      await alice.until(id, ENDS);
      return [alice];
    },
  );

const fallNone = falling('none', { gone: [MARK], ends: ['FAILED RESULT_NOT_RETAINED'] }, MARK);
const fallRedacted = falling(
  'redacted',
  { gone: [MAIL], ends: ['COMPLETED'], artifacts: ['from [EMAIL]'] },
  MAIL,
);

/** Content must not be shown once the command that tightened was acknowledged. */
async function expectHidden(alice: RemoteClient, id: string, word: string): Promise<void> {
  const answer = await alice.call('GetTask', { id });
  if (JSON.stringify(answer).includes(word)) throw new Error(`${word} is shown after the tightening`);
}

/** One task is finished, another completes while an administrator lowers the level. */
const byAdministrator = (level: AnswerLevel, keeping: Keeping, word: string): Scenario =>
  scenario(
    `an administrator lowers the level to ${level} while a run completes`,
    {
      world: {
        providers: {
          only: async (run) => {
            if (run.message.parts[0]?.text?.startsWith('slow')) await run.sleep(9_000);
            return answering(`from ${word}`)(run);
          },
        },
      },
      keeping,
    },
    async (world) => {
      const alice = new RemoteClient(world);
      const done = await alice.send(alice.message(`fast ${word}`), immediately);
      await alice.until(done.id, ENDS);
      const running = await alice.send(alice.message(`slow ${word}`), immediately);
      await administer(world, 'settings.set', { settings: { answerLevel: level } });
      await expectHidden(alice, done.id, word);
      await untilTightened(world);
      await expectHidden(alice, done.id, word);
      await expectHidden(alice, running.id, word);
      return [alice];
    },
  );

const adminNone = byAdministrator(
  'none',
  { gone: [MARK], ends: ['purged', 'FAILED RESULT_NOT_RETAINED'] },
  MARK,
);
const adminRedacted = byAdministrator(
  'redacted',
  { gone: [MAIL], ends: ['COMPLETED'], artifacts: ['from [EMAIL]'] },
  MAIL,
);

const approving = (
  name: string,
  word: string,
  keeping: Keeping,
  steps: (world: World, alice: RemoteClient, id: string) => Promise<unknown>,
): Scenario =>
  scenario(
    name,
    { world: { profile: { approval: 'result' }, providers: { only: answering(`from ${word}`) } }, keeping },
    async (world) => {
      const alice = new RemoteClient(world);
      const { id } = await alice.send(alice.message('please'), immediately);
      await alice.until(id, ['AUTH_REQUIRED', ...ENDS], 2_000);
      await steps(world, alice, id);
      await alice.until(id, ENDS);
      return [alice];
    },
  );

const approve = (world: World, task: string) =>
  administer(world, 'approval.approve', { task, reason: 'looks right' });

const approved = approving(
  'a result is approved',
  MARK,
  { gone: [], ends: ['COMPLETED'], artifacts: [`from ${MARK}`] },
  (world, _alice, id) => approve(world, id),
);

const approveAgainstCancel = approving(
  'a result is approved while its client cancels',
  MARK,
  { gone: [], ends: ['COMPLETED', 'CANCELED'], artifacts: [`from ${MARK}`] },
  (world, alice, id) =>
    Promise.all([
      approve(world, id),
      alice.call('CancelTask', { id }).then(({ error }) => {
        if (error && error.code !== -32002) throw new Error(`cancel answered ${JSON.stringify(error)}`);
      }),
    ]),
);

const approveAgainstReject = approving(
  'a result is approved by one and rejected by another',
  MARK,
  { gone: [], ends: ['COMPLETED', 'REJECTED APPROVAL_REJECTED'], artifacts: [`from ${MARK}`] },
  (world, _alice, id) =>
    Promise.all([
      approve(world, id),
      administer(world, 'approval.reject', { task: id, reason: 'looks wrong' }),
    ]),
);

const approveAgainstTighten = approving(
  'a result is approved while an administrator lowers the level',
  MAIL,
  { gone: [MAIL], ends: ['COMPLETED'], artifacts: ['from [EMAIL]'] },
  async (world, _alice, id) => {
    await Promise.all([
      approve(world, id),
      administer(world, 'settings.set', { settings: { answerLevel: 'redacted' } }),
    ]);
    await untilTightened(world);
  },
);

const hook = { taskPushNotificationConfig: { url: 'https://hooks.example.com/hook' } };

/** A purge beside everything else that may be working on the task. */
const purging = (
  name: string,
  beside: (world: World, alice: RemoteClient, id: string) => Promise<unknown>,
  configuration: object = {},
): Scenario =>
  scenario(
    name,
    {
      world: { providers: { only: talkingTo(MARK) } },
      keeping: { gone: [MARK], ends: ['purged'] },
    },
    async (world) => {
      const alice = new RemoteClient(world);
      const { id } = await alice.send(alice.message(`do ${MARK}`), { ...immediately, ...configuration });
      // In the middle of the run, its projections and its deliveries.
      await alice.sleep(700);
      await Promise.all([beside(world, alice, id), purged(world, alice, id)]);
      return [alice];
    },
  );

function talkingTo(word: string): Script {
  return async (run) => {
    await run.sleep(400);
    await run.progress(`working on ${word}`);
    await run.sleep(400);
    return answering(`from ${word}`)(run);
  };
}

/** From the acknowledgement on, nothing is shown any more. */
async function purged(world: World, alice: RemoteClient, id: string): Promise<void> {
  await administer(world, 'task.purge', { id });
  for (let i = 0; i < 3; i++) {
    const { error } = await alice.call('GetTask', { id });
    if (error?.code !== -32001) throw new Error('a task is shown after its purge');
    await alice.sleep(2_000);
  }
}

const purgeAgainstReads = purging('a task is purged while it runs and is read', async (_world, alice, id) => {
  for (let i = 0; i < 4; i++) {
    await readWhole(alice, id);
    await alice.sleep(150);
  }
});

/** COMPLETED is never told without its artifacts, also not by what was under way when the purge came. */
async function readWhole(alice: RemoteClient, id: string): Promise<void> {
  const answers = await Promise.all([
    alice.call('GetTask', { id }),
    alice.call('ListTasks', { includeArtifacts: true }),
  ]);
  const tasks = answers.flatMap(({ result }) => result?.tasks ?? (result ? [result] : []));
  for (const { status, artifacts } of tasks) {
    if (status?.state === 'TASK_STATE_COMPLETED' && !(artifacts?.length > 0))
      throw new Error('a completed task is shown without its artifacts');
  }
}

const purgeOfFinished = scenario(
  'a finished task is purged while it is read',
  {
    world: { providers: { only: talkingTo(MARK) } },
    keeping: { gone: [MARK], ends: ['purged'] },
  },
  async (world) => {
    const alice = new RemoteClient(world);
    const { id } = await alice.send(alice.message(`do ${MARK}`));
    const reading = async () => {
      for (let i = 0; i < 4; i++) await readWhole(alice, id);
    };
    await Promise.all([reading(), purged(world, alice, id), reading()]);
    return [alice];
  },
);

const purgeAgainstRebuild = purging('a task is purged while it is rebuilt', (world, _alice, id) =>
  administer(world, 'task.rebuild', { id }),
);

const purgeAgainstDelivery = purging(
  'a task is purged while its webhook is told of it',
  async (_world, alice) => alice.sleep(300),
  hook,
);

export const keepingScenarios = {
  ...{ fallNone, fallRedacted, adminNone, adminRedacted },
  ...{ approved, approveAgainstCancel, approveAgainstReject, approveAgainstTighten },
  ...{ purgeAgainstReads, purgeOfFinished, purgeAgainstRebuild, purgeAgainstDelivery },
};
export type KeepingScenarioName = keyof typeof keepingScenarios;
