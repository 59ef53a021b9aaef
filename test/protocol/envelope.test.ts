import { describe, expect, test } from 'vitest';
import {
  type JsonId,
  NULL_ID,
  parseRequest,
  toWireError,
  writeError,
  writeResult,
} from '../../shared/protocol/index.ts';

const request = (id: string, rest = '"method":"GetTask","params":{"id":"x"}') =>
  `{"jsonrpc":"2.0","id":${id},${rest}}`;

describe('parseRequest', () => {
  test.each([
    '1',
    '0',
    '-7',
    '9007199254740991',
    '9007199254740993',
    '-9223372036854775808',
    '18446744073709551616',
    `1${'0'.repeat(400)}`,
    'null',
    '"a"',
    '""',
    '"7"',
    '"é漢\\n\\""',
  ])('keeps the id %s, and it stands in the answer as it was', (id) => {
    const parsed = parseRequest(request(id));
    expect(parsed).toEqual({ ok: true, value: { id, method: 'GetTask', params: { id: 'x' } } });
    expect(writeResult(id as JsonId, {})).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
  });

  test('takes the id of the request, not one further down', () => {
    const body =
      '{"params":{"id":11111111111111111111},"id":22222222222222222222,"jsonrpc":"2.0","method":"GetTask"}';
    expect(parseRequest(body)).toMatchObject({ ok: true, value: { id: '22222222222222222222' } });
    const big = `{"jsonrpc":"2.0","method":"GetTask","id":22222222222222222222,"params":{"a":[{"id":1}]}}`;
    expect(parseRequest(big)).toMatchObject({ ok: true, value: { id: '22222222222222222222' } });
  });

  test.each([
    '1.5',
    '1.0',
    '1e2',
    '1e400',
    '12345678901234567890.0',
    '1.0000000000000000000001',
    'true',
    'false',
    '{}',
    '[]',
    '[1]',
    `"${'x'.repeat(1023)}"`,
    '1'.repeat(1025),
  ])('refuses the id %s and answers null', (id) => {
    expect(parseRequest(request(id))).toMatchObject({
      ok: false,
      error: { id: NULL_ID, failure: { kind: 'invalid-request' } },
    });
  });

  test.each([
    ['a batch', `[${request('1')},${request('2')}]`],
    ['an empty batch', '[]'],
    ['a notification', '{"jsonrpc":"2.0","method":"GetTask","params":{"id":"x"}}'],
    ['an empty object', '{}'],
    ['a string', '"x"'],
    ['a number', '5'],
    ['null', 'null'],
    ['members that only stand in __proto__', `{"__proto__":${request('1')}}`],
  ])('refuses %s as an invalid request with id null', (_what, body) => {
    expect(parseRequest(body)).toMatchObject({
      ok: false,
      error: { id: NULL_ID, failure: { kind: 'invalid-request' } },
    });
  });

  test.each([
    ['jsonrpc 1.0', '{"jsonrpc":"1.0","id":12345678901234567890,"method":"GetTask"}', '12345678901234567890'],
    ['jsonrpc as a number', '{"jsonrpc":2.0,"id":"a","method":"GetTask"}', '"a"'],
    ['no jsonrpc', '{"id":null,"method":"GetTask"}', 'null'],
    ['an empty method', request('1', '"method":""'), '1'],
    ['no method', request('1', '"params":{}'), '1'],
    ['a method that is a number', request('1', '"method":5'), '1'],
  ])('refuses %s as an invalid request and echoes the id', (_what, body, id) => {
    expect(parseRequest(body)).toMatchObject({
      ok: false,
      error: { id, failure: { kind: 'invalid-request' } },
    });
  });

  test.each([
    ['nothing', ''],
    ['half a body', '{"jsonrpc":"2.0",'],
    ['two bodies', `${request('1')}${request('2')}`],
    ['an id with a leading zero', request('01')],
    ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['UTF-16', new Uint8Array(Buffer.from(request('1'), 'utf16le'))],
  ])('answers %s with a parse error and id null', (_what, body) => {
    expect(parseRequest(body)).toEqual({
      ok: false,
      error: { id: NULL_ID, failure: { kind: 'parse-error' } },
    });
  });

  test('skips one byte order mark, in text and in bytes', () => {
    expect(parseRequest(`\uFEFF${request('1')}`).ok).toBe(true);
    expect(parseRequest(new TextEncoder().encode(`\uFEFF${request('1')}`)).ok).toBe(true);
    expect(parseRequest(`\uFEFF\uFEFF${request('1')}`).ok).toBe(false);
  });

  test('lets the last of two members of one name count, for the id too', () => {
    expect(
      parseRequest('{"jsonrpc":"2.0","id":1,"id":20000000000000000001,"method":"A","method":"B"}'),
    ).toMatchObject({
      value: { id: '20000000000000000001', method: 'B' },
    });
  });

  test('survives a body nested 200,000 levels, also where the id needs its source', () => {
    const deep = `"params":${'['.repeat(2e5)}${']'.repeat(2e5)},"method":"GetTask"`;
    expect(parseRequest(request('1', deep)).ok).toBe(true);
    expect(parseRequest(request('12345678901234567890', deep))).toMatchObject({
      ok: false,
      error: { id: NULL_ID },
    });
  });

  test('leaves params as they are, absent and null included', () => {
    expect(parseRequest(request('1', '"method":"ListTasks"'))).toMatchObject({
      value: { params: undefined },
    });
    expect(parseRequest(request('1', '"method":"ListTasks","params":null'))).toMatchObject({
      value: { params: null },
    });
    expect(parseRequest(request('1', '"method":"GetTask","params":["x"]'))).toMatchObject({
      value: { params: ['x'] },
    });
  });
});

describe('writeResult and writeError', () => {
  test('write JSON that survives any text', () => {
    const text = '<a & b> é 漢 \u2028 \ud800';
    expect(JSON.parse(writeResult('1' as JsonId, { text })).result).toEqual({ text });
  });

  test('write an error without result', () => {
    const body = writeError('18446744073709551616' as JsonId, toWireError({ kind: 'task-not-found' }));
    expect(body).toContain('"id":18446744073709551616,');
    expect(Object.keys(JSON.parse(body))).toEqual(['jsonrpc', 'id', 'error']);
  });
});
