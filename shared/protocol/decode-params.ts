import type { InvalidParams } from './errors.ts';
import { isStruct } from './leaf-schemas.ts';
import { METHODS, type Method, type MethodParams } from './methods.ts';
import type { Decoded } from './notices.ts';
import { requestViolations } from './request-rules.ts';
import { err } from './result.ts';
import { schemaOf } from './schemas.ts';
import { settle } from './settle.ts';
import { MAX_VIOLATIONS, violationsOf } from './violations.ts';

/**
 * Reads the `params` of a request into memory (decisions "Encoding"). Absent and null params count as `{}`. Strict in
 * what the protocol requires, open to what it does not know: unknown fields are ignored, parts of unknown kinds are
 * left out and told in `notices`. `data` and `metadata` come back as they were given, numbers as doubles, nested at
 * most 64 levels; ids have at most 256 characters, lists at most 10,000 elements. Never throws on any JSON value; at most 20 violations are told.
 */
export function decodeParams<M extends Method>(
  method: M,
  params: unknown,
): Decoded<MethodParams[M], InvalidParams> {
  const name = METHODS[method].request;
  const input = params ?? {};
  if (!isStruct(input)) return invalid([{ field: 'params', description: 'must be an object' }]);
  const parsed = schemaOf(name, 'request').safeParse(input);
  if (!parsed.success) return invalid(violationsOf(parsed.error, 'params'));
  const notices = settle(name, parsed.data);
  const value = parsed.data as MethodParams[M];
  const violations = requestViolations(method, value);
  return violations.length > 0 ? invalid(violations.slice(0, MAX_VIOLATIONS)) : { ok: true, value, notices };
}

function invalid(violations: InvalidParams['violations']) {
  return err<InvalidParams>({ kind: 'invalid-params', violations });
}
