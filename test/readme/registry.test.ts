import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { parameterNames, readParameters } from '../../infra/cloud/parameters.ts';
import {
  profileInput,
  providerInput,
  settingsDefaults,
  settingsFields,
} from '../../shared/registry/index.ts';
import { profileFields } from '../../shared/registry/schemas.ts';
import { fences, namesIn, tableOf } from './document.ts';

interface Facts {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly default?: unknown;
}

const factsOf = (field: z.ZodType): Facts =>
  z.toJSONSchema(field, { io: 'input', unrepresentable: 'any' }) as Facts;
const number = (value: number): string => value.toLocaleString('en-US');

/** What the bounds of a field are in words; what a pattern says is the prose's business. */
function boundsOf(facts: Facts): string | undefined {
  if (facts.enum) return facts.enum.map((value) => `\`${value}\``).join(', ');
  if (facts.type === 'boolean') return '`true`, `false`';
  if (facts.type === 'integer') return `${number(facts.minimum ?? 0)} to ${number(facts.maximum ?? 0)}`;
  if (facts.type === 'array' && facts.maxItems !== undefined) return `${number(facts.maxItems)}`;
  if (facts.type !== 'string' || facts.pattern !== undefined || facts.maxLength === undefined)
    return undefined;
  const most = number(facts.maxLength);
  return facts.minLength === undefined
    ? `at most ${most} characters`
    : `${facts.minLength} to ${most} characters`;
}

function defaultOf(value: unknown): string {
  if (value === undefined) return 'none';
  if (typeof value === 'number') return number(value);
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map((one) => `\`${one}\``).join(', ');
  return `\`${String(value)}\``;
}

describe('the README on what administrators set', () => {
  const settings = Object.entries(settingsFields);
  const limits = new Map(tableOf('setting', 'default', 'bounds').map((row) => [namesIn(row[0])[0], row]));

  it('names every setting and no other', () => {
    expect([...limits.keys()]).toEqual(Object.keys(settingsFields));
  });

  it.each(settings)('states default and bounds of the setting %s', (name, field) => {
    const [, stated, bounds] = limits.get(name) ?? [];
    const defaults: Readonly<Record<string, unknown>> = { ...settingsDefaults };
    expect(stated).toBe(defaultOf(defaults[name]));
    const expected = boundsOf(factsOf(field));
    if (expected !== undefined) expect(bounds).toBe(expected);
  });

  const [profileTable] = [
    new Map(tableOf('field', 'default', 'bounds').map((row) => [namesIn(row[0])[0], row])),
  ];

  it('names every field of a profile and no other', () => {
    expect([...profileTable.keys()]).toEqual(Object.keys(profileFields));
  });

  it.each(Object.entries(profileFields))(
    'states default and bounds of the profile field %s',
    (name, field) => {
      const [, stated = '', bounds = ''] = profileTable.get(name) ?? [];
      const facts = factsOf(field);
      const optional = field.safeParse(undefined).success;
      if (facts.default !== undefined) expect(stated).toBe(defaultOf(facts.default));
      else if (!optional) expect(['required', 'none', 'the setting']).toContain(stated);
      const expected = boundsOf(facts);
      if (expected !== undefined) expect(bounds).toContain(expected);
    },
  );

  it('names every field of a provider and no other', () => {
    const kinds = z.toJSONSchema(providerInput, { io: 'input', unrepresentable: 'any' }) as {
      readonly oneOf: readonly {
        readonly properties: Readonly<Record<string, Facts & { readonly const?: string }>>;
      }[];
    };
    const known = new Set(kinds.oneOf.flatMap(({ properties }) => Object.keys(properties)));
    const rows = tableOf('field', 'kinds', 'default');
    expect(new Set(rows.map(([field]) => namesIn(field)[0]))).toEqual(known);
    const ofKinds = kinds.oneOf.map(({ properties }) => properties['kind']?.const);
    expect(namesIn(rows.find(([field]) => field === '`kind`')?.[3])).toEqual(ofKinds);
  });

  it('names every parameter of a deployment and no other, with its default', () => {
    const rows = tableOf('parameter', 'meaning', 'default');
    expect(rows.map(([name]) => namesIn(name)[0])).toEqual(parameterNames);
    const defaults: Readonly<Record<string, unknown>> = { ...readParameters({}) };
    for (const [name = '', , stated] of rows) {
      const value = defaults[namesIn(name)[0] ?? ''];
      if (value === undefined) expect(['none', "the API's own URL"], name).toContain(stated);
      else if (typeof value === 'number') expect(stated, name).toBe(String(value));
      // Roles are read into an object of flags.
      else if (typeof value === 'object' && !Array.isArray(value)) {
        const on = Object.entries(value as Record<string, boolean>).filter(([, flag]) => flag);
        expect(stated, name).toBe(`\`${on.map(([role]) => role).join(',')}\``);
      } else expect(stated, name).toBe(defaultOf(value));
    }
  });

  it.each([
    ['profile', profileInput],
    ['provider', providerInput],
  ] as const)('shows only files of a %s that the gateway takes', (kind, schema) => {
    const files = fences.filter(({ info }) => info === `yaml ${kind}`);
    expect(files.length).toBeGreaterThan(0);
    for (const { text } of files) expect(schema.safeParse(parse(text)).error, text).toBeUndefined();
  });
});
