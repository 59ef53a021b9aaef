import { administer } from './harness/administrator.ts';
import { brokenDelegation, type Handed } from './harness/delegated.ts';
import { registerAgents } from './harness/furniture.ts';
import type { Script } from './harness/provider.ts';
import { type AgentScript, lostAnswer, type Stage, unreachable } from './harness/remote-agents.ts';
import { RemoteClient } from './harness/remote-client.ts';
import type { World, WorldOptions } from './harness/world.ts';
import type { Scenario } from './scenarios.ts';

const ENDS = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];
const immediately = { returnImmediately: true };
/** How often a client looks: seldom, so that its calls are few. */
const LOOK_MS = 60_000;

const working: Stage = { afterMs: 0, state: 'WORKING' };
const asking: Stage = { afterMs: 1_000, state: 'INPUT_REQUIRED', says: 'which one?' };
const completed = (afterMs: number, text: string): Stage => ({
  afterMs,
  state: 'COMPLETED',
  artifacts: [text],
});

/** Works for a while and brings back what it was sent. */
const works = (push: AgentScript['push'], more: Partial<AgentScript> = {}): AgentScript => ({
  push,
  conduct: (text) => [working, completed(2_500, `${text} done`)],
  ...more,
});

const DONE: Handed = {
  ends: ['COMPLETED'],
  artifacts: ['this done'],
  outcomes: ['completed'],
  endsRemote: true,
};
const FAILED: Handed = { ends: ['FAILED'], outcomes: ['failed'] };

export function handing(
  name: string,
  world: WorldOptions,
  handed: Handed,
  play: (world: World, alice: RemoteClient) => Promise<void> = sending,
): Scenario {
  return {
    name,
    world,
    expected: handed,
    async play(one) {
      const alice = new RemoteClient(one);
      await play(one, alice);
      return [alice];
    },
    check: (one, clients) => brokenDelegation(one, clients, handed),
  };
}

async function sending(_: World, alice: RemoteClient): Promise<void> {
  const { id } = await alice.send(alice.message('this'), immediately);
  await alice.until(id, ENDS, LOOK_MS);
}

/** A little after a step was handed on. */
async function suspended({ ledger }: World, alice: RemoteClient): Promise<void> {
  do await alice.sleep(1_000);
  while (!ledger.isWritten('delegation'));
}

/** A whole task is handed on to one agent. */
const far = (name: string, agent: AgentScript, handed: Handed = DONE, play = sending): Scenario =>
  handing(name, { agents: { far: agent } }, handed, play);

const orders = {
  embedded: far('a task is handed on, push embedded', works('embedded')),
  separate: far('a task is handed on, push separate', works('separate')),
  off: far('a task is handed on, push off', works('off')),
};

const atOnce = (text: string) => [completed(0, `${text} done`)];
/** The second callback of each change comes with the first; those of the first change come after those of the second. */
const inDisorder = (n: number) => (n === 1 ? [20_000, 40_000] : [0, 0, 30_000]);

const callbacks = {
  /** The remote calls back, and ends, long before it answers what it was sent. */
  early: far(
    'callbacks come before the answer to the message',
    works('embedded', { answerMs: 6_000, conduct: (text) => [working, completed(1_000, `${text} done`)] }),
  ),
  instant: far('a task has ended when the message is answered', works('embedded', { conduct: atOnce })),
  disordered: far(
    'callbacks come twice, late and out of order',
    works('embedded', { callbacks: inDisorder }),
  ),
  disorderedSeparate: far(
    'callbacks of a separate registration come twice, late and out of order',
    works('separate', { callbacks: inDisorder }),
  ),
  /** The first poll is due 5 s after the message was sent. */
  polled: far(
    'a callback comes in the moment of the poll',
    works('embedded', { conduct: (text) => [working, completed(5_000, `${text} done`)] }),
  ),
  lost: far('no callback ever comes', works('embedded', { callbacks: () => [] })),
  liar: far(
    'callbacks claim what is not so',
    works('embedded', {
      claims: 'COMPLETED',
      conduct: () => [working, { afterMs: 3_000, state: 'FAILED', says: 'it did not work' }],
    }),
    FAILED,
  ),
  stranger: far('strangers call back too', works('embedded'), DONE, async (world, alice) => {
    const { id } = await alice.send(alice.message('this'), immediately);
    const intrude = async () => {
      for (const { url } of world.agents.addresses.slice(0, 1)) {
        const registration = url.split('/').at(-1)!;
        await world.agents.intrude(registration, `Bearer ${'x'.repeat(43)}`);
        await world.agents.intrude(registration, '');
        await world.agents.intrude(registration.split('').reverse().join(''), `Bearer ${'x'.repeat(43)}`);
      }
    };
    await alice.sleep(1_000);
    await intrude();
    await alice.until(id, ENDS, LOOK_MS);
    await intrude();
  }),
};

const joining: Script = async ({ delegation, message }) => {
  if (!delegation)
    return {
      kind: 'delegated',
      calls: ['left', 'right'].map((agent) => ({ id: `to-${agent}`, agent, parts: message.parts })),
    };
  const texts = delegation.outcomes.map(
    ({ artifacts, state }) => artifacts.map(({ parts }) => parts[0]?.text).join() || state,
  );
  return { kind: 'completed', artifacts: [{ parts: [{ text: texts.join(' and ') }] }] };
};

const BOTH: Handed = { ...DONE, artifacts: ['this left and this right'], dependencies: 2 };
const side = (name: string, push: AgentScript['push'], more: Partial<AgentScript> = {}) =>
  works(push, { conduct: (text) => [working, completed(2_500, `${text} ${name}`)], ...more });

/** One step after the other, each with a transcript of what came before. */
const turning: Script = async ({ delegation, message }) => {
  if (!delegation) return { kind: 'delegated', calls: [{ id: 'one', agent: 'left', parts: message.parts }] };
  const [outcome] = delegation.outcomes;
  const parts = outcome?.artifacts[0]?.parts ?? [];
  return delegation.transcript === 'second'
    ? { kind: 'completed', artifacts: [{ parts: [...parts] }] }
    : { kind: 'delegated', calls: [{ id: 'two', agent: 'right', parts }], transcript: 'second' };
};

const asks: Partial<AgentScript> = {
  conduct: () => [working, asking],
  replied: (text) => [working, completed(2_000, `${text} it is`)],
};

async function answering(alice: RemoteClient, id: string, text: string): Promise<void> {
  await alice.until(id, ['INPUT_REQUIRED', ...ENDS], 30_000);
  await alice.send(alice.message(text, { taskId: id }), immediately);
}

const steps = {
  pair: handing(
    'two agents end in the same moment',
    { providers: { joining }, agents: { left: side('left', 'embedded'), right: side('right', 'separate') } },
    BOTH,
  ),
  pairPolled: handing(
    'two agents that only can be asked end in the same moment',
    { providers: { joining }, agents: { left: side('left', 'off'), right: side('right', 'off') } },
    BOTH,
  ),
  turns: handing(
    'one agent works after the other',
    { providers: { turning }, agents: { left: side('left', 'embedded'), right: side('right', 'separate') } },
    { ...DONE, artifacts: ['this left right'], dependencies: 2, turns: 2 },
  ),
  question: far(
    'an agent asks, is answered and completes',
    works('embedded', asks),
    { ...DONE, artifacts: ['the red one it is'] },
    async (_, alice) => {
      const { id } = await alice.send(alice.message('this'), immediately);
      await answering(alice, id, 'the red one');
      await alice.until(id, ENDS, LOOK_MS);
    },
  ),
  questions: handing(
    'two agents ask, one after the other is answered',
    {
      providers: { joining },
      agents: { left: side('left', 'embedded', asks), right: side('right', 'off', asks) },
    },
    { ...BOTH, artifacts: ['red it is and red it is'] },
    async (_, alice) => {
      const { id } = await alice.send(alice.message('this'), immediately);
      await answering(alice, id, 'red');
      await answering(alice, id, 'red');
      await alice.until(id, ENDS, LOOK_MS);
    },
  ),
  spoken: far(
    'an agent answers with a message in place of a task',
    works('embedded', { conduct: (text) => ({ says: `${text} at once` }) }),
    { ...DONE, artifacts: ['this at once'] },
  ),
};

const CANCELED: Handed = {
  ...DONE,
  ends: ['COMPLETED', 'CANCELED'],
  outcomes: ['completed', 'canceled'],
  mayEndEarly: true,
};

const cancelingAfter = (ms: number) => async (_: World, alice: RemoteClient) => {
  const { id } = await alice.send(alice.message('this'), immediately);
  await alice.sleep(ms);
  const { error } = await alice.call('CancelTask', { id });
  if (error && error.code !== -32002) throw new Error(`cancel answered ${JSON.stringify(error)}`);
  await alice.until(id, ENDS, LOOK_MS);
};

const canceling = {
  canceled: far(
    'a task is canceled while its agent works',
    works('embedded'),
    CANCELED,
    cancelingAfter(1_000),
  ),
  canceledSeparate: far(
    'a task is canceled while its agent is told where to call back',
    works('separate', { answerMs: 500 }),
    CANCELED,
    cancelingAfter(500),
  ),
  canceledLate: far(
    'a task is canceled in the moment in which its agent ends',
    works('embedded'),
    CANCELED,
    cancelingAfter(2_500),
  ),
  canceledPair: handing(
    'a task is canceled in the moment in which two agents end',
    { providers: { joining }, agents: { left: side('left', 'embedded'), right: side('right', 'off') } },
    { ...CANCELED, artifacts: BOTH.artifacts!, dependencies: 2 },
    cancelingAfter(2_500),
  ),
};

const operators = {
  ended: far(
    'an operator ends a step while its agent works',
    works('embedded', { conduct: () => [working] }),
    { ...FAILED, outcomes: ['canceled'], endsRemote: true },
    async (world, alice) => {
      const { id } = await alice.send(alice.message('this'), immediately);
      await suspended(world, alice);
      await administer(world, 'dependency.cancel', { dependency: `${id}/0001.0000` });
      await alice.until(id, ENDS, LOOK_MS);
    },
  ),
};

const gone = {
  unreachable: far(
    'an agent is never there',
    works('embedded', { waitSeconds: 90, trouble: () => unreachable }),
    FAILED,
  ),
  endless: far('an agent never ends', works('embedded', { waitSeconds: 90, conduct: () => [working] }), {
    ...FAILED,
    endsRemote: true,
  }),
  forgotten: far(
    'an agent knows its task no more',
    works('embedded', {
      conduct: () => [working],
      trouble: (method) => (method === 'GetTask' ? { status: 200, code: -32001 } : undefined),
    }),
    FAILED,
  ),
  disabled: far(
    'an agent is taken away',
    works('embedded', { conduct: (text) => [working, completed(60_000, `${text} done`)] }),
    FAILED,
    async (world, alice) => {
      const { id } = await alice.send(alice.message('this'), immediately);
      await suspended(world, alice);
      await registerAgents(world.gateway.services, world.options.agents ?? {}, { disabled: true });
      await alice.until(id, ENDS, LOOK_MS);
    },
  ),
  unopened: far(
    'the credential of an agent can be opened no more',
    works('embedded', { waitSeconds: 90, conduct: () => [working] }),
    FAILED,
    async (world, alice) => {
      const { id } = await alice.send(alice.message('this'), immediately);
      await suspended(world, alice);
      const credential = { sealed: new Uint8Array(64), salt: new Uint8Array(32), epoch: '2026-01' };
      await registerAgents(world.gateway.services, world.options.agents ?? {}, { credential });
      await alice.until(id, ENDS, LOOK_MS);
    },
  ),
  outage: far(
    'an agent cannot be reached for a while, at any time of its work',
    works('separate', {
      trouble: (_, n, now) => (now < 20_000 && n % 3 !== 0 ? unreachable : undefined),
    }),
  ),
  /** Asked after 4 s, 8 s and so on, however often it called back before. */
  silence: far(
    'an agent that called back cannot be reached for five minutes',
    works('embedded', {
      callbacks: () => [0, 10, 20, 60_000],
      trouble: (method, _, now) => (method === 'GetTask' && now < 300_000 ? unreachable : undefined),
    }),
    { ...DONE, mostRequests: 16 },
  ),
  lostAnswers: far(
    'the answers of an agent are lost again and again',
    works('separate', { trouble: (_, n) => (n % 3 === 0 ? undefined : lostAnswer) }),
  ),
  forgetful: far(
    'an agent that knows no message again loses its answers',
    works('embedded', {
      dedup: false,
      trouble: (method, n) => (method === 'SendMessage' && n < 3 ? lostAnswer : undefined),
    }),
    { ...DONE, mayRunTwice: true, endsRemote: false },
  ),
  pushless: far('an agent refuses to call back, in the message', works('embedded', { takesPush: false }), {
    ...DONE,
    refusesPush: true,
  }),
  pushlessSeparate: far('an agent refuses to call back', works('separate', { takesPush: false })),
};

export const delegationScenarios = { ...orders, ...callbacks, ...steps, ...canceling, ...operators, ...gone };
export type DelegationScenarioName = keyof typeof delegationScenarios;
