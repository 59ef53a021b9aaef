import { describe, expect, test } from 'vitest';
import { parseAnswer, writeRequest } from '../../shared/protocol/index.ts';

const error = (id: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message: 'gone' } });

describe('the envelope of a peer’s answer', () => {
  test('is asked for with a method by its rpc name', () => {
    expect(writeRequest('r-1', 'GetTask', { id: 't' })).toBe(
      '{"jsonrpc":"2.0","id":"r-1","method":"GetTask","params":{"id":"t"}}',
    );
  });

  test('gives the result, null included', () => {
    expect(parseAnswer('{"jsonrpc":"2.0","id":1,"result":{"a":1}}', 1)).toEqual({
      ok: true,
      value: { kind: 'result', result: { a: 1 } },
    });
    expect(parseAnswer('{"jsonrpc":"2.0","id":"r","result":null}', 'r')).toMatchObject({
      value: { result: null },
    });
  });

  test('gives the error with the reason of its ErrorInfo and a bounded message', () => {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32004,
        message: 'm'.repeat(9999),
        data: [5, { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'UNSUPPORTED_OPERATION' }],
      },
    };
    expect(parseAnswer(JSON.stringify(body), 1)).toEqual({
      ok: true,
      value: {
        kind: 'error',
        error: { code: -32004, message: 'm'.repeat(500), reason: 'UNSUPPORTED_OPERATION' },
      },
    });
  });

  test('is refused when its id is another, in words that name both; an error may have id null', () => {
    expect(parseAnswer('{"jsonrpc":"2.0","id":2,"result":{}}', 1)).toEqual({
      ok: false,
      error: { kind: 'id-mismatch', expected: '1', received: '2' },
    });
    expect(parseAnswer('{"jsonrpc":"2.0","id":"1","result":{}}', 1).ok).toBe(false);
    expect(parseAnswer('{"jsonrpc":"2.0","id":null,"result":{}}', 1).ok).toBe(false);
    expect(parseAnswer(error(2), 1).ok).toBe(false);
    expect(parseAnswer(error(null), 1)).toMatchObject({ value: { kind: 'error', error: { code: -32001 } } });
  });

  test.each(['', '<html>', '[]', 'null', '{}', '{"jsonrpc":"2.0","id":1}', '{"id":1,"result":{}}'])(
    'is refused when it is %j',
    (text) => {
      expect(parseAnswer(text, 1)).toMatchObject({ ok: false, error: { kind: expect.any(String) } });
    },
  );
});
