import { describe, expect, test } from 'vitest';
import type { Part } from '../../shared/protocol/index.ts';
import {
  failed,
  type ProviderArtifact,
  type ProviderResult,
  validateResult,
} from '../../shared/providers/index.ts';
import { countingIds } from './requests.ts';

const INVALID = { kind: 'failed', reason: 'invalid-answer', retryable: false };

function completed(artifacts: readonly unknown[]): ProviderResult {
  return { kind: 'completed', artifacts: artifacts as ProviderArtifact[] };
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

describe('a result that can be kept', () => {
  test('keeps ids that are unique and not blank, and gives the others new ones', () => {
    const parts = [{ text: 'x' }];
    const result = validateResult(
      completed([
        { artifactId: 'a', parts },
        { artifactId: 'a', parts },
        { artifactId: '  ', parts },
        { artifactId: '', parts },
        { parts },
        { artifactId: 'b', parts },
      ]),
      countingIds(),
    );
    expect(result.kind === 'completed' && result.artifacts.map((artifact) => artifact.artifactId)).toEqual([
      'a',
      'id-1',
      'id-2',
      'id-3',
      'id-4',
      'b',
    ]);
  });

  test('holds empty contents, as the protocol does, and nesting as deep as clients may', () => {
    const parts = [{ text: '' }, { url: '' }, { raw: '' }, { data: nested(64) }] as Part[];
    expect(validateResult(completed([{ parts }]), countingIds())).toMatchObject({ artifacts: [{ parts }] });
  });

  test('is Unicode: half a character, which no client could read, becomes a replacement character', () => {
    const half = 'a\ud83d';
    const result = validateResult(
      completed([
        { name: half, metadata: { [half]: [half] }, parts: [{ text: half }, { data: { x: half } }] },
      ]),
      countingIds(),
    );
    const mended = 'a\ufffd';
    expect(result).toMatchObject({
      kind: 'completed',
      artifacts: [
        {
          name: mended,
          metadata: { [mended]: [mended] },
          parts: [{ text: mended }, { data: { x: mended } }],
        },
      ],
    });
    const asked = validateResult({ kind: 'input-required', message: [{ text: half }] }, countingIds());
    expect(asked).toEqual({ kind: 'input-required', message: [{ text: mended }] });
  });

  test('has the form of the protocol: standard base64, no empty names, no unknown keys', () => {
    const result = validateResult(
      completed([
        {
          name: '',
          description: 'd',
          extensions: [],
          colour: 'red',
          metadata: { a: 1 },
          parts: [
            { raw: '-_8', mediaType: '', filename: 'f', size: 2 },
            { text: 'x', data: null, raw: null },
          ],
        },
      ]),
      countingIds(),
    );
    expect(result).toEqual({
      kind: 'completed',
      artifacts: [
        {
          artifactId: 'id-1',
          description: 'd',
          metadata: { a: 1 },
          parts: [{ raw: '+/8=', filename: 'f' }, { text: 'x' }],
        },
      ],
    });
  });

  test('may have no artifact at all, or more than a task keeps, which is decided where it is committed', () => {
    const parts = [{ text: 'x' }];
    const many = (count: number) => completed(Array.from({ length: count }, () => ({ parts })));
    expect(validateResult(many(0), countingIds())).toEqual({ kind: 'completed', artifacts: [] });
    expect(validateResult(many(100), countingIds()).kind).toBe('completed');
    expect(validateResult(many(101), countingIds()).kind).toBe('completed');
  });

  test('keeps token usage that is a count, and ends no task over one that is not', () => {
    const usage = { inputTokens: 3, outputTokens: 4 };
    expect(validateResult({ ...completed([]), usage } as ProviderResult, countingIds())).toHaveProperty(
      'usage',
      usage,
    );
    for (const inputTokens of [-1, 0.5, Number.NaN, '3' as unknown as number]) {
      const odd = { ...completed([]), usage: { inputTokens, outputTokens: 4 } } as ProviderResult;
      expect(validateResult(odd, countingIds())).toEqual({ kind: 'completed', artifacts: [] });
    }
  });
});

describe('a result that cannot be kept is failed as an invalid answer:', () => {
  test.each<[string, unknown]>([
    ['an artifact without parts', { parts: [] }],
    ['an artifact that has none', {}],
    ['a part without content', { parts: [{ filename: 'f' }] }],
    ['a part with two contents', { parts: [{ text: 'x', url: 'https://hooks.example.com' }] }],
    ['text that is no string', { parts: [{ text: 1 }] }],
    ['raw that is no base64', { parts: [{ raw: 'a!' }] }],
    ['raw of an impossible length', { parts: [{ raw: 'AAAAA' }] }],
    ['raw that mixes both alphabets', { parts: [{ raw: '+_8=' }] }],
    ['a blank url', { parts: [{ url: ' ' }] }],
    ['data that is no JSON', { parts: [{ data: { when: new Date(0) } }] }],
    ['data with a number that JSON cannot say', { parts: [{ data: Number.POSITIVE_INFINITY }] }],
    ['data nested deeper than clients may nest', { parts: [{ data: nested(65) }] }],
    ['metadata that is an array', { parts: [{ text: 'x' }], metadata: [] }],
    ['metadata with a function', { parts: [{ text: 'x' }], metadata: { f: () => 1 } }],
    ['metadata of a part with undefined', { parts: [{ text: 'x', metadata: { u: undefined } }] }],
    ['extensions that are no strings', { parts: [{ text: 'x' }], extensions: [1] }],
    ['a name that is no string', { parts: [{ text: 'x' }], name: 1 }],
    ['null', null],
  ])('%s', (_, artifact) => {
    expect(validateResult(completed([artifact]), countingIds())).toEqual(INVALID);
  });

  test.each(['input-required', 'auth-required', 'rejected'] as const)('%s with an empty message', (kind) => {
    expect(validateResult({ kind, message: [] }, countingIds())).toEqual(INVALID);
  });

  test('completed with a message of a part without content', () => {
    const message = [{} as Part];
    expect(validateResult({ kind: 'completed', artifacts: [], message }, countingIds())).toEqual(INVALID);
  });
});

test('a failure stays what it is and loses a message that cannot be read', () => {
  const result = failed('throttled', { message: [{} as Part] });
  expect(validateResult(result, countingIds())).toEqual({
    kind: 'failed',
    reason: 'throttled',
    retryable: true,
  });
  const told = failed('declared', { retryable: true, message: [{ text: 'later, please' }] });
  expect(validateResult(told, countingIds())).toEqual(told);
});
