import { describe, expect, test } from 'vitest';
import { type A2AFailure, toRpcError, toWireError } from '../../shared/protocol/index.ts';

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';

type Answer = readonly [failure: A2AFailure, code: number, status: number, reason: string, domain?: string];

const ANSWERS: readonly Answer[] = [
  [{ kind: 'parse-error' }, -32700, 200, 'PARSE_ERROR'],
  [{ kind: 'invalid-request' }, -32600, 200, 'INVALID_REQUEST'],
  [{ kind: 'method-not-found' }, -32601, 200, 'METHOD_NOT_FOUND'],
  [{ kind: 'invalid-params', violations: [] }, -32602, 200, 'INVALID_PARAMS'],
  [{ kind: 'internal', correlationId: 'c-1' }, -32603, 200, 'INTERNAL_ERROR'],
  [{ kind: 'task-not-found' }, -32001, 200, 'TASK_NOT_FOUND'],
  [{ kind: 'task-not-cancelable' }, -32002, 200, 'TASK_NOT_CANCELABLE'],
  [{ kind: 'push-not-supported' }, -32003, 200, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  [{ kind: 'unsupported-operation' }, -32004, 200, 'UNSUPPORTED_OPERATION'],
  [{ kind: 'content-type-not-supported' }, -32005, 200, 'CONTENT_TYPE_NOT_SUPPORTED'],
  [{ kind: 'invalid-agent-response' }, -32006, 200, 'INVALID_AGENT_RESPONSE'],
  [{ kind: 'extended-card-not-configured' }, -32007, 200, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
  [{ kind: 'extension-support-required', missing: ['u:a'] }, -32008, 200, 'EXTENSION_SUPPORT_REQUIRED'],
  [{ kind: 'version-not-supported' }, -32009, 200, 'VERSION_NOT_SUPPORTED'],
  [{ kind: 'unauthenticated' }, -32090, 401, 'UNAUTHENTICATED', 'sealpost'],
  [{ kind: 'forbidden' }, -32091, 403, 'PERMISSION_DENIED', 'sealpost'],
  [{ kind: 'body-too-large', limitBytes: 2097152 }, -32600, 413, 'INVALID_REQUEST'],
  [{ kind: 'media-type-not-json' }, -32005, 415, 'CONTENT_TYPE_NOT_SUPPORTED'],
  [{ kind: 'quota-exceeded', retryAfterSeconds: 1.2 }, -32092, 429, 'QUOTA_EXCEEDED', 'sealpost'],
  [{ kind: 'unavailable' }, -32093, 503, 'UNAVAILABLE', 'sealpost'],
];

describe('a failure on the wire', () => {
  const rows = ANSWERS.map(([failure, code, status, reason, domain = 'a2a-protocol.org']) => ({
    kind: failure.kind,
    failure,
    expected: { code, status, reason, domain },
  }));

  test.each(rows)('$kind has its code, HTTP status and ErrorInfo', ({ failure, expected }) => {
    const wire = toWireError(failure);
    expect([wire.code, wire.httpStatus]).toEqual([expected.code, expected.status]);
    const [info] = toRpcError(wire).data;
    expect(info).toMatchObject({ '@type': ERROR_INFO, reason: expected.reason, domain: expected.domain });
  });

  test('names our own case of an unsupported operation in a second ErrorInfo', () => {
    const { code, data } = toRpcError(
      toWireError({ kind: 'unsupported-operation', reason: 'RESULT_NOT_RETAINABLE' }),
    );
    expect(code).toBe(-32004);
    expect(data).toEqual([
      { '@type': ERROR_INFO, reason: 'UNSUPPORTED_OPERATION', domain: 'a2a-protocol.org' },
      { '@type': ERROR_INFO, reason: 'RESULT_NOT_RETAINABLE', domain: 'sealpost' },
    ]);
  });

  test('names the fields of invalid params in a BadRequest beside the ErrorInfo', () => {
    const violations = [{ field: 'message.parts[0].raw', description: 'is not base64' }];
    expect(toRpcError(toWireError({ kind: 'invalid-params', violations }))).toEqual({
      code: -32602,
      message: 'Invalid params: message.parts[0].raw is not base64.',
      data: [
        { '@type': ERROR_INFO, reason: 'INVALID_PARAMS', domain: 'a2a-protocol.org' },
        { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations },
      ],
    });
  });

  test('says MESSAGE_ID_REUSED in our domain on -32602', () => {
    const violations = [{ field: 'message.messageId', description: 'was used before' }];
    const { data } = toRpcError(
      toWireError({ kind: 'invalid-params', violations, reason: 'MESSAGE_ID_REUSED' }),
    );
    expect(data[1]).toEqual({ '@type': ERROR_INFO, reason: 'MESSAGE_ID_REUSED', domain: 'sealpost' });
    expect(data[2]).toMatchObject({ fieldViolations: violations });
  });

  test('tells of an internal error its correlation id and nothing else', () => {
    expect(toRpcError(toWireError({ kind: 'internal', correlationId: 'c-1' }))).toEqual({
      code: -32603,
      message: 'Internal error.',
      data: [
        {
          '@type': ERROR_INFO,
          reason: 'INTERNAL_ERROR',
          domain: 'a2a-protocol.org',
          metadata: { correlationId: 'c-1' },
        },
      ],
    });
  });

  test('names the supported versions, the missing extensions and the body limit in metadata', () => {
    const metadata = (failure: A2AFailure) => toRpcError(toWireError(failure)).data[0]?.['metadata'];
    expect(metadata({ kind: 'version-not-supported' })).toEqual({ supportedVersions: '1.0' });
    expect(metadata({ kind: 'extension-support-required', missing: ['u:a', 'u:b'] })).toEqual({
      requiredExtensions: 'u:a,u:b',
    });
    expect(metadata({ kind: 'body-too-large', limitBytes: 5 })).toEqual({ limitBytes: '5' });
  });

  test('carries the headers that HTTP asks for', () => {
    expect(toWireError({ kind: 'unauthenticated' }).headers).toEqual({
      'WWW-Authenticate': 'Bearer realm="sealpost"',
    });
    expect(toWireError({ kind: 'quota-exceeded', retryAfterSeconds: 1.2 }).headers).toEqual({
      'Retry-After': '2',
    });
    expect(toWireError({ kind: 'unavailable', retryAfterSeconds: 0 }).headers).toEqual({
      'Retry-After': '1',
    });
    expect(toWireError({ kind: 'unavailable' }).headers).toEqual({});
  });
});
