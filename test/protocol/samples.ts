import { readFileSync } from 'node:fs';
import type { DescribedField, Descriptor } from './build-descriptor.ts';

export const DESCRIPTOR_URL = new URL('../../fixtures/a2a-v1.0.1.descriptor.json', import.meta.url);
export const descriptor = JSON.parse(readFileSync(DESCRIPTOR_URL, 'utf8')) as Descriptor;

type Json = Record<string, unknown>;

/** A message with what the descriptor says it needs: REQUIRED fields, and the first member of each oneof. */
export function sampleOf(message: string, without?: string): Json {
  const sample: Json = {};
  const chosen = new Set<string>();
  for (const field of descriptor.messages[message]!) {
    if (field.name === without) continue;
    if (field.oneof && !chosen.has(field.oneof)) {
      chosen.add(field.oneof);
      sample[field.json] = rightValueOf(field);
    } else if (field.required || (message === 'AgentExtension' && field.name === 'uri')) {
      sample[field.json] = rightValueOf(field);
    }
  }
  return sample;
}

export function rightValueOf(field: DescribedField): unknown {
  if (field.map) return { key: oneOf(field.map.value) };
  return field.repeated ? [oneOf(field.type!)] : oneOf(field.type!);
}

/** A value that no decoder may take for the field; undefined where every JSON value is right. */
export function wrongValueOf(field: DescribedField): unknown {
  if (field.map) return { key: 5 };
  const wrong = field.type === 'google.protobuf.Value' ? undefined : (WRONG[field.type!] ?? 5);
  return field.repeated ? [wrong] : wrong;
}

function oneOf(type: string): unknown {
  return RIGHT[type] ?? sampleOf(type);
}

const RIGHT: Json = {
  string: 's',
  bytes: 'aGk=',
  int32: 5,
  bool: true,
  'google.protobuf.Timestamp': '2026-01-31T12:00:00.000Z',
  'google.protobuf.Struct': { a: null },
  'google.protobuf.Value': [1, null],
  TaskState: 'TASK_STATE_WORKING',
  Role: 'ROLE_USER',
};

const WRONG: Json = {
  bytes: '!',
  int32: 'five',
  bool: 'true',
  'google.protobuf.Timestamp': 'yesterday',
  'google.protobuf.Struct': [],
  TaskState: 'working',
  Role: 'user',
};
