import { describe, expect, test } from 'vitest';
import { createOpenAiAdapter } from '../../shared/providers/models.ts';
import { agentTools, callsOf } from '../../shared/providers/tools.ts';
import type { DelegationOutcome, ProviderAdapter, ProviderResult } from '../../shared/providers/types.ts';
import { MAX_TURNS } from '../../shared/providers/types.ts';
import type { Provider } from '../../shared/registry/index.ts';
import { type FakeServer, json, startFakeServer } from './fake-servers.ts';
import { makeRequest } from './requests.ts';

const agents = [
  { id: 'weather', name: 'Weather', description: 'Knows the weather.' },
  { id: 'trains', name: 'Trains', description: 'Knows the trains.' },
];

function adapterAt(server: FakeServer): ProviderAdapter {
  const provider: Extract<Provider, { kind: 'openai' }> = {
    id: 'model',
    kind: 'openai',
    baseUrl: server.url,
    model: 'm',
    trustedHosts: [],
    timeoutSeconds: 5,
  };
  return createOpenAiAdapter(provider, { fetch, openApiKey: async () => undefined });
}

const call = (id: string, name: string, input: unknown) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
});
const asks = (...calls: unknown[]) =>
  json(200, {
    choices: [
      { message: { role: 'assistant', content: null, tool_calls: calls }, finish_reason: 'tool_calls' },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  });
const says = (text: string) =>
  json(200, { choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }] });
const done = (id: string, agent: string, text: string): DelegationOutcome => ({
  call: id,
  agent,
  state: 'completed',
  artifacts: [{ artifactId: 'a', parts: [{ text }] }],
});

describe('a model with remote agents as its tools', () => {
  test('hands the steps of one turn on together, and goes on with what came back', async () => {
    await using server = await startFakeServer(
      asks(
        call('c1', 'ask_weather', { message: 'Bern?' }),
        call('c2', 'ask_trains', { message: 'To Bern?' }),
      ),
    );
    const adapter = adapterAt(server);
    const first = await adapter.run(makeRequest({ agents }));
    expect(first).toMatchObject({
      kind: 'delegated',
      calls: [
        { id: 'c1', agent: 'weather', parts: [{ text: 'Bern?' }] },
        { id: 'c2', agent: 'trains', parts: [{ text: 'To Bern?' }] },
      ],
      usage: { inputTokens: 3, outputTokens: 2 },
    });
    expect(
      JSON.parse(server.requests[0]!.body).tools.map(
        (tool: { function: { name: string } }) => tool.function.name,
      ),
    ).toEqual(['ask_weather', 'ask_trains']);

    server.respond = says('Take the train, it rains.');
    const { transcript } = first as Extract<ProviderResult, { kind: 'delegated' }>;
    const second = await adapter.run(
      makeRequest({
        agents,
        delegation: {
          outcomes: [
            done('c1', 'weather', 'Rain.'),
            { ...done('c2', 'trains', ''), state: 'failed', artifacts: [] },
          ],
          ...(transcript === undefined ? {} : { transcript: JSON.parse(JSON.stringify(transcript)) }),
        },
      }),
    );
    expect(second).toMatchObject({
      kind: 'completed',
      artifacts: [{ parts: [{ text: 'Take the train, it rains.' }] }],
    });
    const { messages } = JSON.parse(server.requests[1]!.body);
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    expect(messages[2]).toMatchObject({ tool_call_id: 'c1', content: 'Rain.' });
    expect(messages[3]).toMatchObject({ tool_call_id: 'c2', content: '(failed)' });
  });

  test('that asks an agent it was not granted gives no answer that can be used', async () => {
    await using server = await startFakeServer(asks(call('c1', 'ask_bank', { message: 'all of it' })));
    expect(await adapterAt(server).run(makeRequest({ agents }))).toMatchObject({
      kind: 'failed',
      reason: 'invalid-answer',
      retryable: true,
    });
  });

  test('is offered none without a grant, and none any more after its last turn', async () => {
    await using server = await startFakeServer(says('done'));
    const adapter = adapterAt(server);
    await adapter.run(makeRequest());
    const transcript = { turns: MAX_TURNS, messages: [{ role: 'assistant', content: [] }] };
    await adapter.run(makeRequest({ agents, delegation: { outcomes: [], transcript } }));
    for (const { body } of server.requests) expect(JSON.parse(body)).not.toHaveProperty('tools');
  });
});

test('agents whose long ids begin alike are tools of their own, within the length that services take', () => {
  const ids = ['a', 'b', 'c'].map((end) => `${'x'.repeat(62)}${end}`);
  const names = Object.keys(agentTools(ids.map((id) => ({ id, name: id, description: '' }))));
  expect(new Set(names).size).toBe(3);
  expect(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true);
  const asked = [{ toolCallId: 'c', toolName: names[1]!, input: { message: 'Go.' } }];
  const granted = ids.map((id) => ({ id, name: id, description: '' }));
  expect(callsOf(asked, granted)).toMatchObject([{ agent: ids[1] }]);
});
