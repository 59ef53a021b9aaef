import { describe, expect, it } from 'vitest';
import {
  check,
  clientInput,
  profileInput,
  providerInput,
  settingNames,
  settingsDefaults,
  settingsFields,
  settingsInput,
} from '../../shared/registry/index.ts';

const profile = { id: 'writer', name: 'Writer', description: 'Writes.', providers: ['one'] };
const openai = { id: 'one', kind: 'openai', baseUrl: 'https://models.example.com/v1', model: 'm' };

describe('a file that is right', () => {
  it('gets the documented defaults of a profile', () => {
    expect(check(profileInput, profile)).toEqual({
      kind: 'valid',
      value: {
        ...profile,
        version: '1.0.0',
        tags: [],
        examples: [],
        inputModes: ['text/plain', 'application/json'],
        outputModes: ['text/plain', 'application/json'],
        public: false,
        blockingSeconds: 25,
        runSeconds: 1_800,
        inputSeconds: 604_800,
        attempts: 3,
        dedup: true,
        extensions: [],
        approval: 'none',
        approvalSeconds: 604_800,
        retentionDays: 30,
      },
    });
  });

  it('gets the documented defaults of a provider', () => {
    expect(check(providerInput, { id: 'e', kind: 'echo' })).toEqual({
      kind: 'valid',
      value: { id: 'e', kind: 'echo', timeoutSeconds: 60 },
    });
    expect(check(providerInput, openai)).toMatchObject({ kind: 'valid', value: { trustedHosts: [] } });
  });

  it.each([
    'https://models.example.com',
    'https://models.example.com:8443/v1',
    'http://127.0.0.1:11434/v1',
    'http://localhost:1/',
    'http://[::1]:1/',
  ])('may have the base URL %s', (baseUrl) => {
    expect(check(providerInput, { ...openai, baseUrl }).kind).toBe('valid');
  });

  it.each(['*/*', 'text/*', 'image/svg+xml', 'application/vnd.x-1.y+json'])(
    'may have the mode %s',
    (mode) => {
      expect(check(profileInput, { ...profile, inputModes: [mode] }).kind).toBe('valid');
    },
  );

  it('may have every setting at its default', () => {
    expect(check(settingsInput, settingsDefaults).kind).toBe('valid');
    expect(settingNames).toEqual(Object.keys(settingsFields));
    expect([...settingNames].sort()).toEqual([...Object.keys(settingsDefaults), 'defaultProfile'].sort());
  });
});

describe('a file that is wrong names the field', () => {
  const cases: [string, object, unknown, string, string][] = [
    ['profile', profileInput, null, '', 'must be an object with named fields'],
    ['profile', profileInput, [], '', 'must be an object with named fields'],
    ['profile', profileInput, undefined, '', 'is missing'],
    ['profile', profileInput, {}, 'id', 'is missing'],
    ['profile', profileInput, { ...profile, id: 'Writer' }, 'id', 'must be 1 to 63 lower-case'],
    ['profile', profileInput, { ...profile, id: '-writer' }, 'id', 'must be 1 to 63 lower-case'],
    ['profile', profileInput, { ...profile, id: 'w'.repeat(64) }, 'id', 'must be 1 to 63 lower-case'],
    ['profile', profileInput, { ...profile, name: '' }, 'name', 'must have at least 1 characters'],
    ['profile', profileInput, { ...profile, name: 'a\nb' }, 'name', 'must be one line'],
    [
      'profile',
      profileInput,
      { ...profile, description: 'a\u0000b' },
      'description',
      'must not have control characters',
    ],
    ['profile', profileInput, { ...profile, description: 7 }, 'description', 'must be a string'],
    ['profile', profileInput, { ...profile, providers: [7] }, 'providers[0]', 'must be a string'],
    [
      'profile',
      profileInput,
      { ...profile, providers: ['one', 'One'] },
      'providers[1]',
      'must be 1 to 63 lower-case',
    ],
    ['profile', profileInput, { ...profile, providers: ['one', 'one'] }, 'providers[1]', 'is listed twice'],
    ['profile', profileInput, { ...profile, providers: 'one' }, 'providers', 'must be a list'],
    ['profile', profileInput, { ...profile, inputModes: [] }, 'inputModes', 'must have at least 1 entries'],
    ['profile', profileInput, { ...profile, inputModes: ['text'] }, 'inputModes[0]', 'must be a media type'],
    [
      'profile',
      profileInput,
      { ...profile, outputModes: ['*/json'] },
      'outputModes[0]',
      'must be a media type',
    ],
    ['profile', profileInput, { ...profile, blockingSeconds: 29 }, 'blockingSeconds', 'must be at most 28'],
    ['profile', profileInput, { ...profile, blockingSeconds: 0 }, 'blockingSeconds', 'must be at least 1'],
    [
      'profile',
      profileInput,
      { ...profile, blockingSeconds: 1.5 },
      'blockingSeconds',
      'must be a whole number',
    ],
    ['profile', profileInput, { ...profile, attempts: 11 }, 'attempts', 'must be at most 10'],
    ['profile', profileInput, { ...profile, runSeconds: 86_401 }, 'runSeconds', 'must be at most 86400'],
    ['profile', profileInput, { ...profile, dedup: 'yes' }, 'dedup', 'must be true or false'],
    [
      'profile',
      profileInput,
      { ...profile, answerLevel: 'half' },
      'answerLevel',
      'must be one of full, redacted, metadata, none',
    ],
    [
      'profile',
      profileInput,
      { ...profile, answerLevel: null },
      'answerLevel',
      'must be one of full, redacted, metadata, none',
    ],
    ['profile', profileInput, { ...profile, published: true }, 'published', 'is not a known field'],
    [
      'profile',
      profileInput,
      { ...profile, extensions: [{ uri: 'x' }] },
      'extensions[0].uri',
      'must be an absolute URI',
    ],
    [
      'profile',
      profileInput,
      { ...profile, extensions: [{ uri: 'urn:x', need: true }] },
      'extensions[0].need',
      'is not a known field',
    ],
    ['provider', providerInput, { id: 'one' }, 'kind', 'is missing'],
    [
      'provider',
      providerInput,
      { id: 'one', kind: 'magic' },
      'kind',
      'must be one of echo, function, remote, openai, bedrock',
    ],
    ['provider', providerInput, { id: 'one', kind: 'echo', model: 'm' }, 'model', 'is not a known field'],
    ['provider', providerInput, { id: 'one', kind: 'function' }, 'functionName', 'is missing'],
    [
      'provider',
      providerInput,
      { id: 'one', kind: 'function', functionName: 'a b' },
      'functionName',
      'must be the name or ARN',
    ],
    ['provider', providerInput, { ...openai, baseUrl: undefined }, 'baseUrl', 'is missing'],
    [
      'provider',
      providerInput,
      { ...openai, baseUrl: 'http://models.example.com' },
      'baseUrl',
      'must be an https URL',
    ],
    [
      'provider',
      providerInput,
      { ...openai, baseUrl: 'https://u:p@models.example.com' },
      'baseUrl',
      'must be an https URL',
    ],
    [
      'provider',
      providerInput,
      { ...openai, baseUrl: 'https://models.example.com/?k=v' },
      'baseUrl',
      'must be an https URL',
    ],
    [
      'provider',
      providerInput,
      { ...openai, baseUrl: 'https://models.example.com/#f' },
      'baseUrl',
      'must be an https URL',
    ],
    [
      'provider',
      providerInput,
      { ...openai, baseUrl: 'file:///etc/passwd' },
      'baseUrl',
      'must be an https URL',
    ],
    [
      'provider',
      providerInput,
      { ...openai, baseUrl: 'http://127.0.0.1.example.com/' },
      'baseUrl',
      'must be an https URL',
    ],
    ['provider', providerInput, { ...openai, model: '' }, 'model', 'must have at least 1 characters'],
    ['provider', providerInput, { ...openai, apiKey: 'a\r\nb' }, 'apiKey', 'must be 1 to 4096 printable'],
    ['provider', providerInput, { ...openai, apiKey: '' }, 'apiKey', 'must be 1 to 4096 printable'],
    ['provider', providerInput, { ...openai, apiKey: 12 }, 'apiKey', 'must be a string'],
    ['provider', providerInput, { ...openai, temperature: 3 }, 'temperature', 'must be at most 2'],
    [
      'provider',
      providerInput,
      { ...openai, trustedHosts: ['https://x'] },
      'trustedHosts[0]',
      'must be a host name',
    ],
    ['provider', providerInput, { ...openai, timeoutSeconds: 841 }, 'timeoutSeconds', 'must be at most 840'],
    [
      'provider',
      providerInput,
      { id: 'one', kind: 'bedrock', model: 'm', region: 'mars' },
      'region',
      'must be a region',
    ],
    ['client', clientInput, {}, 'name', 'is missing'],
    ['client', clientInput, { name: 'A', id: 'abc' }, 'id', 'must be 4 to 32'],
    ['client', clientInput, { name: 'A', id: 'admin' }, 'id', 'is reserved'],
    ['client', clientInput, { name: 'A', id: 'gateway' }, 'id', 'is reserved'],
    [
      'client',
      clientInput,
      { name: 'A', profiles: ['a', '**'] },
      'profiles[1]',
      'must be the id of a profile, or *',
    ],
    ['settings', settingsInput, { maxParts: 'many' }, 'maxParts', 'must be a number'],
    ['settings', settingsInput, { maxBodyBytes: 2_097_153 }, 'maxBodyBytes', 'must be at most 2097152'],
    ['settings', settingsInput, { streamSeconds: 9 }, 'streamSeconds', 'must be at least 10'],
    ['settings', settingsInput, { streamSeconds: 841 }, 'streamSeconds', 'must be at most 840'],
    [
      'settings',
      settingsInput,
      { organizationUrl: 'example.com' },
      'organizationUrl',
      'must be an http or https URL',
    ],
    ['settings', settingsInput, { maxPart: 1 }, 'maxPart', 'is not a known field'],
  ];

  it.each(cases)('%#: %s', (_what, schema, input, field, message) => {
    const read = check(schema as Parameters<typeof check>[0], input);
    expect(read).toMatchObject({ kind: 'invalid', field });
    expect(read.kind === 'invalid' && read.message).toContain(field ? `${field}: ${message}` : message);
  });

  it('and says all that is wrong, up to five', () => {
    const read = check(settingsInput, Object.fromEntries(settingNames.map((name) => [name, {}])));
    expect(read.kind === 'invalid' && read.message.split('; ')).toHaveLength(6);
    expect(read.kind === 'invalid' && read.message).toMatch(/; and \d+ more$/);
  });

  it('and never repeats a value, wherever a secret was put by mistake', () => {
    const secret = 'sk-live-0123456789';
    for (const name of [
      'id',
      'kind',
      'baseUrl',
      'model',
      'trustedHosts',
      'timeoutSeconds',
      'temperature',
      'answerLevel',
    ]) {
      const read = check(providerInput, {
        ...openai,
        apiKey: `${secret} `,
        [name]: name === 'model' ? [secret] : `${secret}\n`,
      });
      expect(read.kind, name).toBe('invalid');
      expect(JSON.stringify(read), name).not.toContain(secret);
    }
  });
});
