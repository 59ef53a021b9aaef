import { describe, expect, it } from 'vitest';
import { withoutAnswer } from '../../shared/client/faults.ts';
import type { TransportFault } from '../../shared/client/index.ts';

describe('a call with effects that got no answer', () => {
  it.each<readonly [boolean, boolean, TransportFault]>([
    [false, false, { kind: 'refused', rule: 'address' }],
    [false, true, { kind: 'dns-failure', reason: 'not-found' }],
    [false, true, { kind: 'connect-failure', code: 'ECONNREFUSED' }],
    [false, true, { kind: 'tls-failure', code: 'CERT_HAS_EXPIRED' }],
    [false, true, { kind: 'reset', phase: 'tls', code: 'ECONNRESET' }],
    [true, true, { kind: 'reset', phase: 'exchange', code: 'ECONNRESET' }],
    [true, true, { kind: 'reset', phase: 'answer', code: 'ECONNRESET' }],
    [false, true, { kind: 'timeout', phase: 'dns' }],
    [false, true, { kind: 'timeout', phase: 'connect' }],
    [false, true, { kind: 'timeout', phase: 'tls' }],
    [true, true, { kind: 'timeout', phase: 'exchange' }],
    [true, true, { kind: 'timeout', phase: 'answer' }],
    [true, false, { kind: 'response-too-large', part: 'headers' }],
    [true, false, { kind: 'malformed-response', code: 'HPE_INVALID_CONSTANT' }],
    [true, false, { kind: 'aborted' }],
    [false, false, { kind: 'redirect', status: 307 }],
    [true, true, { kind: 'ended' }],
    [true, false, { kind: 'stream-limit', what: 'line', limitBytes: 1 }],
  ])(
    'may have been carried out: %s; may end otherwise next time: %s; after %j',
    (mayHaveActed, retryable, failure) => {
      const kind = mayHaveActed ? 'outcome-unknown' : 'transport-error';
      expect(withoutAnswer('SendMessage', failure)).toMatchObject({ kind, failure, retryable });
      expect(withoutAnswer('GetTask', failure)).toMatchObject({
        kind: 'transport-error',
        retryable,
        mayHaveActed: false,
      });
    },
  );
});
