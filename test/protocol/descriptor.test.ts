import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ENUMS, FIELDS, type Field, MESSAGE_NAMES, protoName } from '../../shared/protocol/fields.ts';
import { encodeMessageOf, METHODS, type MessageName, schemaOf } from '../../shared/protocol/index.ts';
import {
  buildDescriptor,
  type DescribedField,
  describeProto,
  PINNED_SHA256,
  WrongProtoError,
} from './build-descriptor.ts';
import { DESCRIPTOR_URL, descriptor, rightValueOf, sampleOf, wrongValueOf } from './samples.ts';

const messages = Object.entries(descriptor.messages) as [MessageName, DescribedField[]][];
const allFields = messages.flatMap(([message, fields]) => fields.map((field) => ({ message, field })));
const named = allFields.map(({ message, field }) => [`${message}.${field.name}`, message, field] as const);

describe('the descriptor', () => {
  test('records the hash of the pinned proto', () => {
    expect(descriptor.sha256).toBe('e195bf96ab630c69797851970203e1b2b6b19528f2e9803b7d904b91a5104016');
    expect(PINNED_SHA256).toBe(descriptor.sha256);
  });

  test('holds 44 messages, 176 fields, 61 of them REQUIRED, 10 optional, 11 methods, 2 enums', () => {
    expect(messages).toHaveLength(44);
    expect(allFields).toHaveLength(176);
    expect(allFields.filter(({ field }) => field.required)).toHaveLength(61);
    expect(allFields.filter(({ field }) => field.optional)).toHaveLength(10);
    expect(Object.keys(descriptor.service)).toHaveLength(11);
    expect(Object.keys(descriptor.enums)).toHaveLength(2);
  });

  test('is rebuilt from the pinned proto only', () => {
    expect(() => buildDescriptor(new TextEncoder().encode('syntax = "proto3";'))).toThrow(WrongProtoError);
  });

  // The proto is not ours to carry: whoever has it names it.
  const proto = process.env['A2A_PROTO'];
  if (proto !== undefined)
    test('is rebuilt byte for byte from the proto that A2A_PROTO names', () => {
      expect(buildDescriptor(readFileSync(proto))).toBe(readFileSync(DESCRIPTOR_URL, 'utf8'));
    });

  test('is read from proto text with labels, maps, oneofs and options', () => {
    const text = [
      'package a.b;',
      'service S {',
      '  rpc Go(M) returns (stream M) {}',
      '}',
      'message M {',
      '  // string gone = 9;',
      '  oneof pick {',
      '    string left_side = 1;',
      '    N right = 2 [deprecated = true];',
      '  }',
      '  map<string, N> by_name = 3 [(google.api.field_behavior) = REQUIRED];',
      '  optional int32 some_count = 4;',
      '}',
      'enum E {',
      '  E_NONE = 0;',
      '}',
      '',
    ].join('\n');
    expect(describeProto(text)).toEqual({
      package: 'a.b',
      service: { Go: { request: 'M', response: 'M', serverStreaming: true } },
      messages: {
        M: [
          { name: 'left_side', json: 'leftSide', number: 1, type: 'string', oneof: 'pick' },
          { name: 'right', json: 'right', number: 2, type: 'N', oneof: 'pick', deprecated: true },
          { name: 'by_name', json: 'byName', number: 3, map: { key: 'string', value: 'N' }, required: true },
          { name: 'some_count', json: 'someCount', number: 4, type: 'int32', optional: true },
        ],
      },
      enums: { E: { E_NONE: 0 } },
    });
  });
});

describe('the tables', () => {
  test('know the eleven methods, their messages and which of them stream', () => {
    const ours = Object.fromEntries(
      Object.entries(METHODS).map(([name, { request, response, streaming }]) => [
        name,
        { request, response, ...(streaming && { serverStreaming: true }) },
      ]),
    );
    expect(ours).toEqual(descriptor.service);
  });

  test('know the names and numbers of both enums', () => {
    const ours = Object.fromEntries(
      Object.entries(ENUMS).map(([name, names]) => [
        name,
        Object.fromEntries(names.map((key, n) => [key, n])),
      ]),
    );
    expect(ours).toEqual(descriptor.enums);
  });

  test('know the same messages as the proto', () => {
    expect([...MESSAGE_NAMES].sort()).toEqual(messages.map(([name]) => name).sort());
  });

  test.each(messages)('say of %s what the proto says, field by field, in its order', (message, fields) => {
    const ours = Object.entries<Field>(FIELDS[message]).map(([json, field]) =>
      describeField(message, json, field),
    );
    const theirs = fields.map(({ number: _number, deprecated: _deprecated, ...facts }) => facts);
    expect(ours).toEqual(theirs);
  });
});

describe.each(['request', 'response'] as const)('the %s schema', (mode) => {
  const decode = (message: MessageName, value: unknown) => schemaOf(message, mode).safeParse(value);

  test.each(messages)('of %s takes a message that has what it needs', (message) => {
    expect(decode(message, sampleOf(message))).toMatchObject({ success: true, data: sampleOf(message) });
  });

  test.each(named)('of %s takes the JSON name and the proto name', (_name, message, field) => {
    const rest = restOf(message, field);
    const expected = { ...rest, [field.json]: rightValueOf(field) };
    expect(decode(message, expected).data).toEqual(expected);
    expect(decode(message, { ...rest, [field.name]: rightValueOf(field) }).data).toEqual(expected);
  });

  test.each(named.filter(([, , field]) => field.repeated || field.map))(
    'of %s takes many values and not one alone',
    (_name, message, field) => {
      const result = decode(message, { ...restOf(message, field), [field.json]: 'one' });
      expect(result.error?.issues[0]?.path).toEqual([field.json]);
    },
  );
});

describe('the request schema', () => {
  const decode = (message: MessageName, value: unknown) => schemaOf(message, 'request').safeParse(value);

  test.each(named.filter(([, , field]) => wrongValueOf(field) !== undefined))(
    'of %s refuses a value of another type and names the field',
    (_name, message, field) => {
      const result = decode(message, { ...restOf(message, field), [field.json]: wrongValueOf(field) });
      expect(result.error?.issues[0]?.path[0]).toBe(field.json);
    },
  );

  test.each(named)('of %s asks for the field exactly if it is REQUIRED', (name, message, field) => {
    if (field.oneof) return;
    const result = decode(message, sampleOf(message, field.name));
    const isRequired = field.required === true || name === 'AgentExtension.uri'; // stricter on purpose
    expect(result.success).toBe(!isRequired);
    if (isRequired)
      expect(result.error?.issues).toMatchObject([{ path: [field.json], message: 'is required' }]);
  });

  test.each(named.filter(([, , field]) => field.oneof))(
    'of %s refuses two members of its oneof',
    (_n, message, field) => {
      const other = descriptor.messages[message]!.find(
        (one) => one.oneof === field.oneof && one.name !== field.name,
      )!;
      const result = decode(message, {
        [field.json]: rightValueOf(field),
        [other.json]: rightValueOf(other),
      });
      expect(result.error?.issues).toMatchObject([{ path: [], message: `has more than one ${field.oneof}` }]);
    },
  );
});

describe('encoding', () => {
  const DEFAULTS: Record<string, unknown> = { string: '', bytes: '', int32: 0, bool: false };

  test.each(
    named.filter(([, , field]) => field.repeated || field.map || Object.hasOwn(DEFAULTS, field.type!)),
  )(
    'of %s writes a default exactly where presence is explicit or the field REQUIRED',
    (name, message, field) => {
      const value = field.map ? {} : field.repeated ? [] : DEFAULTS[field.type!];
      const encoded = encodeMessageOf(message, { ...restOf(message, field), [field.json]: value } as never);
      const isOurs = name === 'AgentExtension.uri' || name === 'StringList.list';
      const isWritten = field.required || field.optional || field.oneof || isOurs;
      expect(Object.hasOwn(encoded, field.json)).toBe(Boolean(isWritten));
    },
  );

  test.each(messages)('of %s writes fields in the order of the proto', (message, fields) => {
    const oneofs = new Set<string>();
    const full = fields.filter(
      (field) => !field.oneof || (!oneofs.has(field.oneof) && oneofs.add(field.oneof)),
    );
    const reversed = Object.fromEntries(full.toReversed().map((field) => [field.json, rightValueOf(field)]));
    const encoded = encodeMessageOf(message, reversed as never);
    expect(Object.keys(encoded)).toEqual(full.map((field) => field.json));
  });
});

/** What stands beside the field in a right message; without the other members of its oneof. */
function restOf(message: MessageName, field: DescribedField): Record<string, unknown> {
  const rest = sampleOf(message);
  for (const one of descriptor.messages[message]!) {
    if (one.name === field.name || (field.oneof && one.oneof === field.oneof)) delete rest[one.json];
  }
  return rest;
}

function describeField(message: string, json: string, field: Field): Record<string, unknown> {
  const types: Record<string, string> = {
    struct: 'google.protobuf.Struct',
    value: 'google.protobuf.Value',
    timestamp: 'google.protobuf.Timestamp',
  };
  const type = types[field.type] ?? field.type;
  return {
    name: protoName(json),
    json,
    ...(field.map ? { map: { key: 'string', value: type } } : { type }),
    ...(field.repeated && { repeated: true }),
    ...(field.required && `${message}.${json}` !== 'AgentExtension.uri' && { required: true }),
    ...(field.optional && { optional: true }),
    ...(field.oneof && { oneof: field.oneof }),
  };
}
