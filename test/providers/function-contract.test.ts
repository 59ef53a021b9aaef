import { describe, expect, test } from 'vitest';
import { buildInvocation, invocationSchema, readAnswer } from '../../shared/providers/function-contract.ts';
import { MAX_PROGRESS } from '../../shared/providers/index.ts';
import { agentMessage, makeRequest, userMessage } from './requests.ts';

test('the invocation carries message with its id, history, context and references, and no more than it says', () => {
  const request = makeRequest({
    message: userMessage([{ text: 'hello' }, { raw: 'AAEC', mediaType: 'image/png' }], 'm-7'),
    history: [userMessage([{ text: 'first' }], 'm-6'), agentMessage([{ text: 'which?' }])],
    contextMessages: [userMessage([{ text: 'before' }], 'm-1')],
    references: [
      { task: 'task-0', artifacts: [{ artifactId: 'x', parts: [{ data: { a: null } }] }], messages: [] },
    ],
    instructions: 'be brief',
    attempt: 2,
    deadline: Date.UTC(2026, 1, 3, 4, 5, 6, 7),
  });
  const wire = JSON.parse(JSON.stringify(buildInvocation(request)));
  expect(wire).toEqual({
    version: 1,
    task: 'task-1',
    context: 'context-1',
    client: 'acme',
    profile: 'helper',
    message: {
      messageId: 'm-7',
      role: 'ROLE_USER',
      parts: [{ text: 'hello' }, { raw: 'AAEC', mediaType: 'image/png' }],
    },
    history: [
      { messageId: 'm-6', role: 'ROLE_USER', parts: [{ text: 'first' }] },
      { messageId: 'a-1', role: 'ROLE_AGENT', parts: [{ text: 'which?' }] },
    ],
    contextMessages: [{ messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'before' }] }],
    references: [
      { task: 'task-0', artifacts: [{ artifactId: 'x', parts: [{ data: { a: null } }] }], messages: [] },
    ],
    instructions: 'be brief',
    acceptedOutputModes: ['text/plain'],
    agents: [],
    attempt: 2,
    deadline: '2026-02-03T04:05:06.007Z',
  });
  expect(invocationSchema.safeParse(wire).success).toBe(true);
});

describe('an answer is read as its one ending:', () => {
  const usage = { inputTokens: 1, outputTokens: 2 };
  test.each<[string, unknown, unknown]>([
    ['no artifacts', { artifacts: [] }, { kind: 'completed', artifacts: [] }],
    [
      'short text',
      { artifacts: [{ name: 'n', text: 't' }] },
      { kind: 'completed', artifacts: [{ name: 'n', parts: [{ text: 't' }] }] },
    ],
    [
      'short data',
      { artifacts: [{ data: { a: [1] } }] },
      { kind: 'completed', artifacts: [{ parts: [{ data: { a: [1] } }] }] },
    ],
    [
      'short data that is null',
      { artifacts: [{ data: null }] },
      { kind: 'completed', artifacts: [{ parts: [{ data: null }] }] },
    ],
    [
      'the form of the protocol',
      {
        artifacts: [
          {
            artifactId: 'a',
            name: 'n',
            description: 'd',
            parts: [
              { text: 't', metadata: { k: 'v' } },
              { raw: 'AAEC', mediaType: 'image/png' },
            ],
            metadata: { k: 1 },
            extensions: ['https://hooks.example.com/ext'],
          },
        ],
        message: 'done',
        usage,
      },
      {
        kind: 'completed',
        artifacts: [
          {
            artifactId: 'a',
            name: 'n',
            description: 'd',
            parts: [
              { text: 't', metadata: { k: 'v' } },
              { raw: 'AAEC', mediaType: 'image/png' },
            ],
            metadata: { k: 1 },
            extensions: ['https://hooks.example.com/ext'],
          },
        ],
        message: [{ text: 'done' }],
        usage,
      },
    ],
    ['a question as text', { question: 'which?' }, { kind: 'input-required', message: [{ text: 'which?' }] }],
    [
      'a question as parts',
      { question: [{ text: 'which?' }, { data: ['a', 'b'] }], usage },
      { kind: 'input-required', message: [{ text: 'which?' }, { data: ['a', 'b'] }], usage },
    ],
    [
      'an authorization',
      { authorization: 'log in at https://hooks.example.com' },
      { kind: 'auth-required', message: [{ text: 'log in at https://hooks.example.com' }] },
    ],
    ['a rejection as text', { rejection: 'no' }, { kind: 'rejected', message: [{ text: 'no' }] }],
    [
      'a rejection as parts',
      { rejection: [{ text: 'no' }] },
      { kind: 'rejected', message: [{ text: 'no' }] },
    ],
    [
      'a rejection with a message',
      { rejection: { message: 'no' } },
      { kind: 'rejected', message: [{ text: 'no' }] },
    ],
    ['a bare rejection', { rejection: {} }, { kind: 'rejected' }],
    ['a bare failure', { failure: {} }, { kind: 'failed', reason: 'declared', retryable: false }],
    [
      'a retryable failure',
      { failure: { message: 'try later', retryable: true } },
      { kind: 'failed', reason: 'declared', retryable: true, message: [{ text: 'try later' }] },
    ],
    [
      'null as absent',
      { version: 1, artifacts: null, question: 'q', failure: null, progress: null, usage: null },
      { kind: 'input-required', message: [{ text: 'q' }] },
    ],
    [
      'unknown members are ignored',
      { artifacts: [{ text: 't', colour: 'red' }], trace: {} },
      { kind: 'completed', artifacts: [{ parts: [{ text: 't' }] }] },
    ],
    [
      'usage that is no count is left out',
      { artifacts: [], usage: { inputTokens: -1, outputTokens: 'x' } },
      { kind: 'completed', artifacts: [] },
    ],
  ])('%s', (_, answer, result) => {
    expect(readAnswer(answer)).toEqual({ progress: [], result });
  });

  test('progress stands beside any ending, in order', () => {
    expect(readAnswer({ progress: ['one', 'two'], failure: {} }).progress).toEqual(['one', 'two']);
  });
});

describe('an answer that fits no form is invalid and not retryable:', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'done'],
    ['an array', []],
    ['no ending', {}],
    ['a message alone', { message: 'done' }],
    ['only an ending of a later version', { delegate: { agent: 'x' } }],
    ['two endings', { artifacts: [], question: 'which?' }],
    ['another version', { version: 2, artifacts: [] }],
    ['artifacts that are no list', { artifacts: { text: 'x' } }],
    ['an artifact that is a text', { artifacts: ['x'] }],
    ['an artifact with neither text nor data nor parts', { artifacts: [{ name: 'n' }] }],
    ['a short artifact with parts besides', { artifacts: [{ text: 'a', parts: [{ text: 'b' }] }] }],
    ['a short artifact with text and data', { artifacts: [{ text: 't', data: 1 }] }],
    ['an artifact with empty parts', { artifacts: [{ parts: [], text: 't' }] }],
    ['a part with two contents', { artifacts: [{ parts: [{ text: 't', data: 1 }] }] }],
    ['a blank question', { question: ' ' }],
    ['a question without parts', { question: [] }],
    ['a rejection that is a flag', { rejection: true }],
    ['a failure with a message that is a number', { failure: { message: 1 } }],
    ['progress that is a text', { artifacts: [], progress: 'half' }],
    ['blank progress', { artifacts: [], progress: [''] }],
    ['too much progress', { artifacts: [], progress: Array(MAX_PROGRESS + 1).fill('x') }],
  ])('%s', (_, answer) => {
    expect(readAnswer(answer)).toEqual({
      progress: [],
      result: { kind: 'failed', reason: 'invalid-answer', retryable: false },
      flaw: expect.any(String),
    });
  });

  test('a short artifact keeps every member beside its content', () => {
    const { result } = readAnswer({
      artifacts: [
        {
          artifactId: 'a1',
          name: 'n',
          description: 'd',
          metadata: { m: 1 },
          raw: 'AA==',
          filename: 'f',
          mediaType: 'image/png',
        },
      ],
    });
    const parts = [{ raw: 'AA==', filename: 'f', mediaType: 'image/png' }];
    expect(result).toEqual({
      kind: 'completed',
      artifacts: [{ artifactId: 'a1', name: 'n', description: 'd', metadata: { m: 1 }, parts }],
    });
  });

  test.each([
    [undefined, 'the answer'],
    [{ marker: 1 }, 'no ending'],
    [{ artifacts: [], question: 'marker' }, 'more than one ending'],
    [{ artifacts: [{ text: 'fine' }, 'marker'] }, 'artifacts[1]'],
    [{ artifacts: [{ parts: [{ text: 't', url: 'marker' }] }] }, 'artifacts[0].parts[0]'],
    [{ artifacts: [{ parts: [{ text: 't' }], metadata: 'marker' }] }, 'artifacts[0].metadata'],
    [{ delegate: [{ agent: 1, message: 'marker' }] }, 'delegate[0].agent'],
    [{ artifacts: [], progress: ['marker', ''] }, 'progress[1]'],
  ])('%j is told to the author of the function by its place alone', (answer, flaw) => {
    expect(readAnswer(answer).flaw).toBe(flaw);
  });
});
