import { describe, expect, test } from 'vitest';
import { decodeParams, decodeResponse } from '../../shared/protocol/index.ts';

const half = 'a\ud800';
const sent = (part: unknown, more: object = {}) =>
  decodeParams('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [part], ...more } });
const refusedAt = (field: string) => ({ ok: false, error: { violations: [{ field }] } });

describe('what JSON can write and the protocol cannot', () => {
  test.each([
    ['text', { text: half }, 'message.parts[0].text'],
    ['a url', { url: half }, 'message.parts[0].url'],
    ['a file name', { text: 'a', filename: half }, 'message.parts[0].filename'],
    ['a media type', { text: 'a', mediaType: half }, 'message.parts[0].mediaType'],
    ['a string in data', { data: [{ a: half }] }, 'message.parts[0].data'],
    ['a name in data', { data: { [half]: 1 } }, 'message.parts[0].data'],
    ['metadata', { text: 'a', metadata: { a: half } }, 'message.parts[0].metadata'],
    ['a number beyond a double in data', { data: [Number.POSITIVE_INFINITY] }, 'message.parts[0].data'],
    [
      'a number beyond a double in metadata',
      { text: 'a', metadata: { a: -Infinity } },
      'message.parts[0].metadata',
    ],
  ])('half a character or no number as %s is refused by name', (_what, part, field) => {
    expect(sent(part)).toMatchObject(refusedAt(field));
  });

  test('the two halves together, and the largest numbers, are served', () => {
    const data = [{ '\ud83d\ude00': '\ud83d\ude00' }, Number.MAX_VALUE, 5e-324, -0];
    expect(sent({ text: '\ud83d\ude00' }).ok).toBe(true);
    expect(sent({ data })).toMatchObject({ value: { message: { parts: [{ data }] } } });
  });

  test('of a peer it is read all the same: nothing depends on it', () => {
    const status = { state: 'TASK_STATE_COMPLETED' };
    const artifacts = [{ artifactId: 'a', parts: [{ text: half }, { data: half }] }];
    expect(decodeResponse('GetTask', { id: 't', status, artifacts }).ok).toBe(true);
  });
});
