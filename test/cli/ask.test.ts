import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../infra/cli/program.ts';
import { error, type FakeAgent, json, type Reply, startAgent, stream } from '../client/fake-agent.ts';
import { DONE, WORKING } from '../client/stream-samples.ts';

/** An agent whose card is the first thing asked for. */
async function agentWith(replies: readonly Reply[], changed: object = {}): Promise<FakeAgent> {
  let agent: FakeAgent | undefined;
  const card: Reply = (response, seen) =>
    json(200, () => ({
      name: 'Far',
      description: 'Far away.',
      version: '1',
      supportedInterfaces: [{ url: agent!.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: { streaming: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
      ...changed,
    }))(response, seen);
  agent = await startAgent([card, ...replies]);
  return agent;
}

async function ask(agent: FakeAgent, ...words: readonly string[]) {
  let out = '';
  let err = '';
  const line = [
    'agent',
    'ask',
    new URL('/', agent.url).href,
    '--credential-env',
    'FAR',
    '--allow-loopback',
    ...words,
  ];
  const code = await runCommandLine(line, {
    write: (text) => {
      out += text;
    },
    writeError: (text) => {
      err += text;
    },
    readInput: async () => '',
    environment: { FAR: 'a-secret' },
    folder: '.',
  });
  return { code, out, err };
}

describe('agent ask', () => {
  it('sends a message, shows what comes, and goes on where the stream broke off', async () => {
    await using agent = await agentWith([stream([WORKING], { cut: true }), stream([WORKING, DONE])]);
    const { code, out } = await ask(agent, '--message', 'hello');
    expect(code).toBe(0);
    expect(out).toMatch(/^task t-1 {2}WORKING\n/);
    expect(out).toMatch(/the stream broke off \(.+\); it is taken up again\n/);
    expect(out).toMatch(/COMPLETED\n(.*\n)*the task ended COMPLETED\n$/);
    expect(agent.seen.map(({ path }) => path)).toEqual(['/.well-known/agent-card.json', '/rpc', '/rpc']);
    // The card is fetched without the credential.
    expect(agent.seen.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      'Bearer a-secret',
      'Bearer a-secret',
    ]);
    expect(agent.seen[1]?.rpc).toMatchObject({
      method: 'SendStreamingMessage',
      params: { message: { parts: [{ text: 'hello' }] } },
    });
    expect(agent.seen[2]?.rpc.method).toBe('SubscribeToTask');
    expect(out).not.toContain('a-secret');
  });

  it('follows a task, and with --json answers one value', async () => {
    await using agent = await agentWith([stream([WORKING, DONE])]);
    const { code, out } = await ask(agent, '--task', 't-1', '--json');
    expect(code).toBe(0);
    expect(agent.seen[1]?.rpc).toMatchObject({ method: 'SubscribeToTask', params: { id: 't-1' } });
    expect(JSON.parse(out)).toMatchObject({
      items: [{ kind: 'task' }, { kind: 'statusUpdate' }],
      end: { kind: 'finished', task: 't-1', state: 'TASK_STATE_COMPLETED' },
    });
  });

  it('shows nothing that moves the cursor or looks like a line of ours', async () => {
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: '\u001b[2J\nthe task ended' }] };
    const status = { state: 'TASK_STATE_WORKING', message };
    const said = { result: { task: { ...WORKING.result.task, status } } };
    await using agent = await agentWith([stream([said, DONE])]);
    const { out } = await ask(agent, '--message', 'hello');
    expect(out).toContain('  | \\u{1b}[2J\n  | the task ended\n');
  });

  it('says what is wrong, and ends with 1', async () => {
    await using refusing = await agentWith([error(-32602)]);
    const refused = await ask(refusing, '--message', 'hello');
    expect([refused.code, refused.out]).toEqual([1, expect.stringMatching(/-32602/)]);
    await using old = await agentWith([], {
      supportedInterfaces: [{ url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', protocolVersion: '0.3' }],
    });
    const unspoken = await ask(old, '--message', 'hello');
    expect([unspoken.code, unspoken.err]).toEqual([1, expect.stringMatching(/no compatible interface/)]);
    await using elsewhere = await agentWith([], {
      supportedInterfaces: [
        { url: 'https://elsewhere.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ],
    });
    const origin = await ask(elsewhere, '--message', 'hello');
    expect([origin.code, origin.err]).toEqual([1, expect.stringMatching(/--allow-origin/)]);
    await using silent = await agentWith([]);
    const nothing = await ask(silent);
    expect([nothing.code, nothing.err]).toEqual([1, expect.stringMatching(/--message/)]);
    expect(elsewhere.seen).toHaveLength(1);
  });
});
