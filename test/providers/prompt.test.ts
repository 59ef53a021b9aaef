import { expect, test } from 'vitest';
import type { Part } from '../../shared/protocol/index.ts';
import { buildPrompt } from '../../shared/providers/prompt.ts';
import { agentMessage, makeRequest, userMessage } from './requests.ts';

function partsOf(parts: Part[]): unknown {
  const [message] = buildPrompt(makeRequest({ message: userMessage(parts) }));
  return message?.content;
}

test('a model reads context, history, references and message, in this order, with the roles of a chat', () => {
  const prompt = buildPrompt(
    makeRequest({
      contextMessages: [userMessage([{ text: 'c1' }]), agentMessage([{ text: 'c2' }])],
      history: [userMessage([{ text: 'h1' }]), agentMessage([{ text: 'h2' }])],
      references: [
        {
          task: 'task-0',
          artifacts: [{ artifactId: 'x', name: 'plan', parts: [{ text: 'r3' }] }],
          messages: [userMessage([{ text: 'r1' }]), agentMessage([{ text: 'r2' }])],
        },
      ],
      message: userMessage([{ text: 'm' }]),
    }),
  );
  const flat = prompt.map(({ role, content }) => {
    const parts = content as { text: string }[];
    return [role, ...parts.map((part) => part.text)];
  });
  expect(flat).toEqual([
    ['user', 'c1'],
    ['assistant', 'c2'],
    ['user', 'h1'],
    ['assistant', 'h2'],
    ['user', 'Earlier task task-0.', 'User:', 'r1', 'Agent:', 'r2', 'Artifact "plan":', 'r3'],
    ['user', 'm'],
  ]);
});

test('answers whose question was cut off by a bound are left out, since a chat starts with its user', () => {
  const prompt = buildPrompt(
    makeRequest({ contextMessages: [agentMessage([{ text: 'stray' }])], history: [] }),
  );
  expect(prompt).toEqual([{ role: 'user', content: [{ type: 'text', text: 'hello' }] }]);
  const cut = buildPrompt(
    makeRequest({
      contextMessages: [agentMessage([{ text: 'stray' }]), userMessage([{ text: 'c1' }])],
      history: [agentMessage([{ text: 'h1' }])],
    }),
  );
  expect(cut.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(JSON.stringify(cut)).not.toContain('stray');
});

test('data is JSON, a url is text that nobody fetches, and blank texts are left out', () => {
  expect(
    partsOf([
      { data: { a: [1, null] } },
      { data: null },
      { url: 'https://hooks.example.com/x.png', mediaType: 'image/png', filename: 'x.png' },
      { url: 'https://hooks.example.com/y' },
      { text: ' ' },
    ]),
  ).toEqual([
    { type: 'text', text: '{"a":[1,null]}' },
    { type: 'text', text: 'null' },
    { type: 'text', text: 'x.png: https://hooks.example.com/x.png' },
    { type: 'text', text: 'https://hooks.example.com/y' },
  ]);
  expect(partsOf([{ text: '' }])).toEqual([{ type: 'text', text: '(empty)' }]);
});

test('images and PDFs go as files, texts as text, anything else as a note of what it is', () => {
  const raw = Buffer.from('https://hooks.example.com').toString('base64');
  expect(
    partsOf([
      { raw, mediaType: 'image/PNG; q=1', filename: 'a.png' },
      { raw, mediaType: 'application/pdf' },
      { raw: Buffer.from('a;ä').toString('base64'), mediaType: 'text/csv; charset=utf-8', filename: 'a.csv' },
      { raw: Buffer.from('{}').toString('base64'), mediaType: 'application/ld+json' },
      { raw: 'AAEC', mediaType: 'application/zip', filename: 'a.zip' },
      { raw: 'AAEC' },
      { raw: '', mediaType: 'image/png' },
    ]),
  ).toEqual([
    {
      type: 'file',
      mediaType: 'image/png',
      filename: 'a.png',
      data: { type: 'data', data: new Uint8Array(Buffer.from('https://hooks.example.com')) },
    },
    {
      type: 'file',
      mediaType: 'application/pdf',
      data: { type: 'data', data: new Uint8Array(Buffer.from('https://hooks.example.com')) },
    },
    { type: 'text', text: 'a.csv:\na;ä' },
    { type: 'text', text: '{}' },
    { type: 'text', text: '[file: a.zip, application/zip, 3 bytes]' },
    { type: 'text', text: '[file: 3 bytes]' },
    { type: 'text', text: '[file: image/png, 0 bytes]' },
  ]);
});

test('files of the agent are notes, because services take files from users only', () => {
  const [, answer] = buildPrompt(
    makeRequest({
      history: [
        userMessage([{ text: 'draw' }]),
        agentMessage([{ raw: 'AAEC', mediaType: 'image/png', filename: 'a.png' }]),
      ],
    }),
  );
  expect(answer).toEqual({
    role: 'assistant',
    content: [{ type: 'text', text: '[file: a.png, image/png]' }],
  });
});
