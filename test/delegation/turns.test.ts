import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOpenAiAdapter } from '../../shared/providers/models.ts';
import type { Provider } from '../../shared/registry/index.ts';
import { purgeTask } from '../../shared/retention/index.ts';
import { readHead } from '../../shared/tasks/read-head.ts';
import { type FakeAgent, result, startAgent, task } from '../client/fake-agent.ts';
import { type FakeServer, json, startFakeServer } from '../providers/fake-servers.ts';
import { message } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { type Delegation, dumpTables, startDelegation, woken } from './rig.ts';

type OpenAi = Extract<Provider, { kind: 'openai' }>;

let rig: StoreRig;
let model: FakeServer;
let far: FakeAgent;
let near: FakeAgent;
let delegation: Delegation;
/** How each agent's task stands. */
let states: { far: object; near: object };

beforeAll(async () => {
  rig = await startStore();
});
afterAll(() => rig[Symbol.asyncDispose]());
beforeEach(async () => {
  states = { far: task('TASK_STATE_WORKING'), near: task('TASK_STATE_WORKING') };
  model = await startFakeServer();
  const agentOf = (name: keyof typeof states) =>
    startAgent((response, seen) => {
      const standing = states[name];
      return result(seen.rpc.method === 'SendMessage' ? { task: standing } : standing)(response, seen);
    });
  [far, near] = await Promise.all([agentOf('far'), agentOf('near')]);
  const provider: OpenAi = {
    id: 'model',
    kind: 'openai',
    baseUrl: model.url,
    model: 'm',
    trustedHosts: [],
    timeoutSeconds: 5,
    agents: ['far', 'near'],
  };
  delegation = await startDelegation(rig, {
    agent: { interface: { url: far.url, protocolVersion: '1.0' } },
    near: { interface: { url: near.url, protocolVersion: '1.0' } },
    providers: [provider],
    adapters: { model: createOpenAiAdapter(provider, { fetch, openApiKey: async () => undefined }) },
  });
});
afterEach(() => Promise.all([model, far, near].map((server) => server[Symbol.asyncDispose]())));

const call = (agent: string, words: string) => ({
  id: `c-${agent}`,
  type: 'function',
  function: { name: `ask_${agent}`, arguments: JSON.stringify({ message: words }) },
});
const asks = (...calls: readonly object[]) =>
  json(200, {
    choices: [
      { message: { role: 'assistant', content: null, tool_calls: calls }, finish_reason: 'tool_calls' },
    ],
  });
const says = (text: string) =>
  json(200, { choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }] });
const done = (text: string) =>
  task('TASK_STATE_COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text }] }] });
const ended = (state: string, text: string) =>
  task(state, { status: { state, message: { messageId: text, role: 'ROLE_AGENT', parts: [{ text }] } } });

const FAR = '0001.0000';
const NEAR = '0001.0001';
/** A task whose model asked both agents, both of which got their message. */
async function bothAsked(words = 'words of Alice'): Promise<string> {
  model.respond = asks(call('far', 'to the far one'), call('near', 'to the near one'));
  const id = await delegation.hand(words, 'model');
  model.respond = says('all told');
  for (const one of [FAR, NEAR]) await delegation.look(id, one);
  delegation.gateway.runQueue.messages.length = 0;
  return id;
}

async function lookAt(id: string, ...dependencies: readonly string[]) {
  delegation.ahead += 60_000;
  await Promise.all(dependencies.map((one) => delegation.look(id, one)));
}

const queued = () => delegation.gateway.runQueue.messages.length;
const wordsTo = (agent: FakeAgent) =>
  agent.seen.flatMap(({ rpc }) => {
    const sent = rpc.params?.['message'] as { parts: { text: string }[] } | undefined;
    return sent ? [sent.parts[0]?.text] : [];
  });

describe('a model that asks two agents in one turn', () => {
  it('has each asked once, and goes on once when both have answered, with what both brought', async () => {
    const id = await bothAsked();
    expect(woken(delegation.gateway).map(({ dependency }) => dependency)).toEqual([FAR, NEAR]);
    expect([wordsTo(far), wordsTo(near)]).toEqual([['to the far one'], ['to the near one']]);
    states.far = done('of the far one');
    await lookAt(id, FAR);
    expect(queued()).toBe(0);
    expect(await readHead(delegation.services, id)).toMatchObject({ run: 'suspended', waiting: 1 });
    states.near = done('of the near one');
    await lookAt(id, NEAR);
    expect(queued()).toBe(1);
    await delegation.gateway.runAll();
    expect((await delegation.get(id)).artifacts).toMatchObject([{ parts: [{ text: 'all told' }] }]);
    const { messages } = JSON.parse(model.requests.at(-1)!.body) as { messages: Record<string, unknown>[] };
    expect(messages.slice(-2)).toEqual([
      { role: 'tool', tool_call_id: 'c-far', content: 'of the far one' },
      { role: 'tool', tool_call_id: 'c-near', content: 'of the near one' },
    ]);
    expect(model.requests).toHaveLength(2);
  });

  it('goes on once when both answer at the same moment', async () => {
    const id = await bothAsked();
    states = { far: done('of the far one'), near: done('of the near one') };
    await lookAt(id, FAR, NEAR, FAR, NEAR);
    for (const one of [FAR, NEAR]) await delegation.look(id, one);
    expect(queued()).toBe(1);
    expect(delegation.gateway.metrics.total('DependencyEnded')).toBe(2);
    expect(await readHead(delegation.services, id)).toMatchObject({ run: 'queued', waiting: 0 });
  });

  it('is told of one that failed, and completes without it', async () => {
    const id = await bothAsked();
    states = { far: ended('TASK_STATE_FAILED', 'no luck'), near: done('of the near one') };
    await lookAt(id, FAR, NEAR);
    await delegation.gateway.runAll();
    expect((await delegation.get(id)).status.state).toBe('TASK_STATE_COMPLETED');
    expect(model.requests.at(-1)?.body).toContain('(failed) no luck');
  });

  it('asks its client for both by turns, the one that asked first in front, and passes each its own reply', async () => {
    const id = await bothAsked();
    states.near = ended('TASK_STATE_INPUT_REQUIRED', 'Near asks.');
    await lookAt(id, NEAR);
    states.far = ended('TASK_STATE_AUTH_REQUIRED', 'Far asks.');
    await lookAt(id, FAR);
    const status = async () => (await delegation.get(id)).status;
    expect(await status()).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'Near asks.' }] },
    });
    await reply(id, 'for near');
    states.near = done('of the near one');
    await delegation.look(id, NEAR);
    expect(await status()).toMatchObject({
      state: 'TASK_STATE_AUTH_REQUIRED',
      message: { parts: [{ text: 'Far asks.' }] },
    });
    await reply(id, 'for far');
    states.far = done('of the far one');
    await delegation.look(id, FAR);
    expect([wordsTo(far), wordsTo(near)]).toEqual([
      ['to the far one', 'for far'],
      ['to the near one', 'for near'],
    ]);
    await delegation.gateway.runAll();
    expect((await delegation.get(id)).artifacts).toMatchObject([{ parts: [{ text: 'all told' }] }]);
  });

  it('may ask again in a turn of its own, and sees both turns', async () => {
    const id = await bothAsked();
    states = { far: done('first'), near: done('second') };
    model.respond = asks(call('far', 'once more'));
    await lookAt(id, FAR, NEAR);
    await delegation.gateway.runAll();
    expect(await delegation.dependency(id, '0002.0000')).toMatchObject({ agent: 'far', state: 'new' });
    model.respond = says('all told');
    await delegation.look(id, '0002.0000');
    expect(wordsTo(far)).toEqual(['to the far one', 'once more']);
    await delegation.gateway.runAll();
    expect((await delegation.get(id)).status.state).toBe('TASK_STATE_COMPLETED');
    const { body } = model.requests.at(-1)!;
    for (const words of ['first', 'second', 'once more']) expect(body).toContain(words);
  });
});

describe('what a run hands on and gets back', () => {
  it('stands sealed while it is waited for, and nowhere else; its end and its purge take it away', async () => {
    const id = await bothAsked('the-words-of-alice');
    states.near = ended('TASK_STATE_INPUT_REQUIRED', 'the-question-of-near');
    await lookAt(id, NEAR);
    await reply(id, 'the-reply-of-alice');
    states = { far: done('the-answer-of-far'), near: done('the-answer-of-near') };
    await lookAt(id, FAR, NEAR);
    const secrets = [
      ...['the-words-of-alice', 'the-question-of-near', 'the-reply-of-alice'],
      ...['the-answer-of-far', 'the-answer-of-near', 'to the far one', 'to the near one', 'ask_far'],
      ...[...far.seen, ...near.seen].flatMap(({ text }) => /"credentials":"([^"]+)"/.exec(text)?.[1] ?? []),
    ];
    expect(secrets).toHaveLength(10);
    const { gateway, services } = delegation;
    const inPlain = async () => {
      const text = JSON.stringify([
        await dumpTables(rig),
        ...[gateway.log.lines, gateway.metrics.measurements],
        ...[gateway.inboxQueue.messages, gateway.runQueue.messages, await delegation.shown(id)],
      ]);
      return secrets.filter((secret) => text.includes(secret));
    };
    expect(await inPlain()).toEqual([]);
    expect((await readHead(services, id))?.working).toBeDefined();
    await gateway.runAll();
    expect(await inPlain()).toEqual([]);
    expect((await readHead(services, id))?.working).toBeUndefined();
    expect(await delegation.openRegistrations()).toBe(0);

    expect(await purgeTask(services, id)).toBe('purged');
    const { state, view, delegation: left } = await dumpTables(rig);
    const ofTask = [state, view, left].flat().filter((item) => JSON.stringify(item).includes(id));
    expect(ofTask.map(({ pk }) => pk)).toEqual([`T#${id}`, `T#${id}`]);
    expect(left).toEqual([expect.objectContaining({ pk: 'registrations', open: 0 })]);
  });
});

async function reply(id: string, words: string) {
  const { error } = await delegation.gateway.call('alice', 'SendMessage', {
    message: message(words, { taskId: id }),
    configuration: { returnImmediately: true },
  });
  expect(error).toBeUndefined();
}
