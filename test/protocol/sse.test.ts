import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createSseDecoder,
  encodeSse,
  encodeSseComment,
  type SseEvent,
  SseLimitError,
} from '../../shared/protocol/index.ts';

const LIMITS = { maxLineBytes: 1000, maxEventBytes: 2000 };
const bytes = (text: string) => new TextEncoder().encode(text);
const decode = (text: string): SseEvent[] => createSseDecoder(LIMITS).push(bytes(text));
const dataOf = (text: string) => decode(text).map((event) => event.data);

describe('encodeSse', () => {
  test('ends every event with a blank line', () => {
    expect(encodeSse({ id: '3.0', event: 'error', data: '{}', retryMs: 1500 })).toBe(
      'id: 3.0\nevent: error\nretry: 1500\ndata: {}\n\n',
    );
    expect(encodeSse({ data: '' })).toBe('data: \n\n');
  });

  test('splits data on every kind of line end, so that no data forges a field', () => {
    expect(encodeSse({ data: 'a\nid: 9\r\nb\rc' })).toBe('data: a\ndata: id: 9\ndata: b\ndata: c\n\n');
  });

  test.each(['a\nb', 'a\rb', 'a\0'])('refuses the id and event name %j', (value) => {
    expect(() => encodeSse({ id: value, data: '' })).toThrow(RangeError);
    expect(() => encodeSse({ event: value, data: '' })).toThrow(RangeError);
  });

  test('writes comments that readers skip, whatever stands in them', () => {
    expect(encodeSseComment('ping')).toBe(': ping\n\n');
    expect(dataOf(`${encodeSseComment('a\r\ndata: forged')}data: x\n\n`)).toEqual(['x']);
  });
});

describe('the SSE decoder', () => {
  test.each([
    ['LF', 'data: a\n\n', ['a']],
    ['CRLF', 'data: a\r\n\r\n', ['a']],
    ['many lines with CRLF', 'event: x\r\ndata: a\r\ndata: b\r\n\r\n', ['a\nb']],
    ['CR', 'data: a\r\rdata: b\r\r', ['a', 'b']],
    ['no space after the colon', 'data:a\n\n', ['a']],
    ['one space taken, the second kept', 'data:  a\n\n', [' a']],
    ['data of many lines', 'data: a\ndata\ndata: b\n\n', ['a\n\nb']],
    ['comments and retry between', ': ping\nretry: 5\ndata: a\n: x\n\n', ['a']],
    ['fields it does not know', 'foo: 1\ndata: a\nbar\n\n', ['a']],
    ['events without data', 'id: 1\n\nevent: x\n\ndata: a\n\n', ['a']],
    ['a byte order mark at the start', '\uFEFFdata: a\n\n', ['a']],
    ['an event that the end cuts short', 'data: a\n\ndata: b\n', ['a']],
    ['an event without its last line end', 'data: a\n\ndata: b', ['a']],
  ])('reads %s', (_what, text, expected) => {
    expect(dataOf(text)).toEqual(expected);
  });

  test('takes a CRLF that two chunks share for one line end', () => {
    const decoder = createSseDecoder(LIMITS);
    const read = ['data: a\r', '\ndata: b\r', '\n\r', '\n'].flatMap((chunk) => decoder.push(bytes(chunk)));
    expect(read.map(({ data }) => data)).toEqual(['a\nb']);
  });

  test('carries the last id on, takes names, and forgets a name after its event', () => {
    expect(
      decode('id: 1.0\nevent: error\ndata: a\n\ndata: b\n\nid: x\0\ndata: c\n\nid\ndata: d\n\n'),
    ).toEqual([
      { event: 'error', data: 'a', lastEventId: '1.0' },
      { event: 'message', data: 'b', lastEventId: '1.0' },
      { event: 'message', data: 'c', lastEventId: '1.0' },
      { event: 'message', data: 'd', lastEventId: '' },
    ]);
  });

  test('tells the retry time that the stream asked for', () => {
    const decoder = createSseDecoder(LIMITS);
    expect(decoder.retryMs).toBeUndefined();
    decoder.push(bytes('retry: 3000\nretry: soon\n'));
    expect(decoder.retryMs).toBe(3000);
  });

  test('bounds a line without end, in one chunk or many', () => {
    expect(() => decode(`data: ${'x'.repeat(1000)}`)).toThrow(SseLimitError);
    const decoder = createSseDecoder(LIMITS);
    expect(() => {
      for (let chunk = 0; chunk < 11; chunk++) decoder.push(bytes('x'.repeat(100)));
    }).toThrow(expect.objectContaining({ kind: 'sse-limit', what: 'line', limitBytes: 1000 }));
  });

  test('bounds an event without end, of long lines and of short ones', () => {
    const eventLimit = expect.objectContaining({ kind: 'sse-limit', what: 'event', limitBytes: 2000 });
    expect(() => decode(`data: ${'x'.repeat(900)}\n`.repeat(3))).toThrow(eventLimit);
    expect(() => decode('data:\n'.repeat(401))).toThrow(eventLimit);
  });

  test('is not bounded by the length of a stream of comments or of many events', () => {
    expect(decode(': ping\n\n'.repeat(1000))).toEqual([]);
    expect(decode(`: ${'x'.repeat(900)}\n`.repeat(10))).toEqual([]);
    expect(decode('data: x\n\n'.repeat(1000))).toHaveLength(1000);
  });

  test('reads what the encoder wrote, however it was cut', () => {
    const event = fc.record({
      data: fc.string({
        unit: fc.constantFrom('a', 'é', '漢', '😀', '\n', '\r', ':', ' ', '\0'),
        maxLength: 30,
      }),
      id: fc.stringMatching(/^[0-9.]{0,8}$/),
    });
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 5 }),
        fc.array(fc.nat(9), { minLength: 1 }),
        (events, cuts) => {
          const wire = bytes(events.map(encodeSse).join(encodeSseComment('ping')));
          const decoder = createSseDecoder(LIMITS);
          const read: SseEvent[] = [];
          for (let at = 0, turn = 0; at < wire.length; turn++) {
            const next = at + (cuts[turn % cuts.length] ?? 0) + 1;
            read.push(...decoder.push(wire.subarray(at, next)));
            at = next;
          }
          const expected = events.map(({ data, id }) => ({
            data: data.replace(/\r\n|\r/g, '\n'),
            lastEventId: id,
          }));
          expect(read.map(({ data, lastEventId }) => ({ data, lastEventId }))).toEqual(expected);
        },
      ),
    );
  });
});
