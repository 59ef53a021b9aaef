import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MESSAGE_NAMES } from '../../shared/protocol/fields.ts';
import {
  decodeAgentCard,
  decodeParams,
  decodeResponse,
  decodeStreamResponse,
  encodeMessageOf,
  METHOD_NAMES,
  type MessageName,
  parseAnswer,
  parseRequest,
  schemaOf,
} from '../../shared/protocol/index.ts';
import type { DescribedField } from './build-descriptor.ts';
import { descriptor } from './samples.ts';

type Json = Record<string, unknown>;

const anyJson = fc.jsonValue({ maxDepth: 4 });
const word = fc
  .string({ minLength: 1, maxLength: 12 })
  .filter((text) => text.trim() !== '' && text.isWellFormed());

/** In-memory messages in canonical form, built from the descriptor and not from the tables under test. */
function messageOf(name: string): fc.Arbitrary<Json> {
  const fields = descriptor.messages[name]!;
  const oneofs = [...new Set(fields.flatMap((field) => field.oneof ?? []))];
  const plain = fields.filter((field) => !field.oneof);
  const isNeeded = (field: DescribedField) =>
    field.required || (name === 'AgentExtension' && field.name === 'uri');
  const record = fc.record(Object.fromEntries(plain.map((field) => [field.json, fieldOf(field)])), {
    requiredKeys: plain.filter(isNeeded).map((field) => field.json),
  });
  const members = oneofs.map((oneof) =>
    fc.oneof(
      ...fields
        .filter((field) => field.oneof === oneof)
        .map((field) => fieldOf(field).map((value) => ({ [field.json]: value }))),
    ),
  );
  return fc.tuple(record, ...members).map((parts) => Object.assign({}, ...parts) as Json);
}

function fieldOf(field: DescribedField): fc.Arbitrary<unknown> {
  if (field.map)
    return fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), typeOf(field.map.value, field), { minKeys: 1 });
  const one = typeOf(field.type!, field);
  return field.repeated ? fc.array(one, { minLength: 1, maxLength: 3 }) : one;
}

function typeOf(type: string, field: DescribedField): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return field.oneof ? fc.string() : word;
    case 'bytes':
      return fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64'));
    case 'int32':
      return fc.integer({ min: 1, max: 100 });
    case 'bool':
      return field.optional ? fc.boolean() : fc.constant(true);
    case 'google.protobuf.Timestamp':
      return fc
        .date({
          min: new Date('0001-01-02T00:00:00Z'),
          max: new Date('9999-12-30T00:00:00Z'),
          noInvalidDate: true,
        })
        .map((date) => date.toISOString());
    case 'google.protobuf.Struct':
      return fc.dictionary(fc.string(), anyJson, { maxKeys: 3 });
    case 'google.protobuf.Value':
      return anyJson;
    case 'TaskState':
    case 'Role':
      return fc.constantFrom(...Object.keys(descriptor.enums[type]!).slice(1));
    default:
      return messageOf(type);
  }
}

/** The same message under proto names, with fields of the future beside every known one. */
function asAnotherWriterMay(name: string, message: Json): Json {
  const written: Json = { $future: { text: 'x' }, extraField: [null] };
  for (const field of descriptor.messages[name]!) {
    const value = message[field.json];
    if (value === undefined) continue;
    const type = field.map?.value ?? field.type!;
    const rewrite = (one: unknown) =>
      descriptor.messages[type] ? asAnotherWriterMay(type, one as Json) : one;
    written[field.name] =
      Array.isArray(value) && field.repeated
        ? value.map(rewrite)
        : field.map
          ? Object.fromEntries(Object.entries(value as Json).map(([key, one]) => [key, rewrite(one)]))
          : rewrite(value);
  }
  return written;
}

const viaJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe.each(MESSAGE_NAMES)('%s', (name: MessageName) => {
  test('comes back from encoding and decoding as it was, in both modes', () => {
    fc.assert(
      fc.property(messageOf(name), (message) => {
        const encoded = viaJson(encodeMessageOf(name, message as never));
        for (const mode of ['request', 'response'] as const) {
          const read = schemaOf(name, mode).safeParse(encoded);
          expect(read.error?.issues).toBeUndefined();
          expect(viaJson(encodeMessageOf(name, read.data as never))).toEqual(encoded);
          expect(read.data).toEqual(viaJson(message));
        }
      }),
      { numRuns: 40 },
    );
  });

  test('reads the same with proto names and unknown fields', () => {
    fc.assert(
      fc.property(messageOf(name), (message) => {
        const json = viaJson(message) as Json;
        for (const mode of ['request', 'response'] as const) {
          expect(schemaOf(name, mode).safeParse(asAnotherWriterMay(name, json)).data).toEqual(json);
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('no JSON value makes it throw:', () => {
  const names = [
    ...new Set(
      Object.values(descriptor.messages).flatMap((fields) => fields.flatMap((f) => [f.json, f.name])),
    ),
  ];
  const likely = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(
        null,
        '',
        'x',
        'ROLE_USER',
        'TASK_STATE_WORKING',
        0,
        1,
        -1,
        1.5,
        true,
        '5',
        '\ud800',
      ),
      fc.dictionary(
        fc.oneof(fc.constantFrom(...names), fc.constantFrom('__proto__', 'constructor', 'kind')),
        tie('value'),
        {
          maxKeys: 4,
        },
      ),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
  })).value;
  const input = fc.oneof(likely, anyJson);

  test.each(METHOD_NAMES)('decodeParams and decodeResponse of %s', (method) => {
    fc.assert(
      fc.property(input, (value) => {
        for (const decoded of [decodeParams(method, value), decodeResponse(method, value)]) {
          if (!decoded.ok) expect(decoded.error.violations.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('decodeStreamResponse, decodeAgentCard', () => {
    fc.assert(
      fc.property(input, (value) => {
        expect(typeof decodeStreamResponse(value).ok).toBe('boolean');
        expect(typeof decodeAgentCard(value).ok).toBe('boolean');
      }),
    );
  });

  test('parseRequest and parseAnswer, of any text or bytes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), fc.uint8Array()), (body) => {
        expect(typeof parseRequest(body).ok).toBe('boolean');
        if (typeof body === 'string') expect(typeof parseAnswer(body, 1).ok).toBe('boolean');
      }),
    );
  });

  test('and an integer id of any length comes back digit for digit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n }), fc.jsonValue(), (id, params) => {
        const body = `{"jsonrpc":"2.0","id":${id},"method":"M","params":${JSON.stringify(params)}}`;
        expect(parseRequest(body)).toMatchObject({ ok: true, value: { id: String(id) } });
      }),
    );
  });
});
