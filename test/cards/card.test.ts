import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  extendedCard,
  extendedProfileCard,
  GATEWAY_VERSION,
  gatewayCard,
  IncompleteCard,
  profileCard,
} from '../../shared/cards/index.ts';
import { decodeAgentCard, encodeAgentCard } from '../../shared/protocol/index.ts';
import type { Profile } from '../../shared/registry/index.ts';
import { clientOf, inputOf, profileOf, settingsOf } from './samples.ts';

const draft = profileOf({ id: 'draft', published: false });
const hidden = profileOf({ id: 'hidden', name: 'Hidden', public: false });
const open = profileOf();

const skillIds = (card: { skills: { id: string }[] } | undefined) => card?.skills.map(({ id }) => id);

describe('the card of the gateway', () => {
  it('lists the published public profiles as skills, and no other', () => {
    expect(skillIds(gatewayCard(inputOf({ profiles: [draft, hidden, open] })))).toEqual(['translate']);
  });

  it('says in ProtoJSON exactly what is configured', () => {
    expect(encodeAgentCard(gatewayCard(inputOf()))).toEqual({
      name: 'Example gateway',
      description: 'Agents of Example Org.',
      supportedInterfaces: [
        { url: 'https://agents.example.org/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ],
      provider: { organization: 'Example Org', url: 'https://www.example.org' },
      version: '0.1.0',
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
      securitySchemes: {
        bearer: {
          httpAuthSecurityScheme: { scheme: 'Bearer', description: 'A token issued by the administrator.' },
        },
      },
      // An empty `list` is a default, and the proto does not call it REQUIRED.
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain', 'application/json'],
      skills: [
        {
          id: 'translate',
          name: 'Translator',
          description: 'Translates texts.',
          tags: ['text', 'language'],
          examples: ['Translate "bonjour".'],
          inputModes: ['text/plain'],
          outputModes: ['text/plain', 'application/json'],
        },
      ],
    });
  });

  it.each([
    { streaming: true, extendedCard: false, push: true },
    { streaming: false, extendedCard: true, push: false },
  ])(
    'states each capability as it is, switched off ones as false: %o',
    ({ streaming, extendedCard, push }) => {
      const card = encodeAgentCard(
        gatewayCard(inputOf({ settings: settingsOf({ streaming, extendedCard }), push })),
      );
      expect(card['capabilities']).toEqual({
        streaming,
        pushNotifications: push,
        extendedAgentCard: extendedCard,
      });
    },
  );

  it('has every REQUIRED field, also when there is nothing to list, and no null', () => {
    const text = JSON.stringify(encodeAgentCard(gatewayCard(inputOf({ profiles: [] }))));
    expect(JSON.parse(text)).toMatchObject({ skills: [], defaultInputModes: [], defaultOutputModes: [] });
    expect(text).not.toContain('null');
    const bare = profileOf({ tags: [], examples: [], inputModes: [], outputModes: [] });
    const card = encodeAgentCard(gatewayCard(inputOf({ profiles: [bare] })));
    expect(card['skills']).toEqual([
      { id: 'translate', name: 'Translator', description: 'Translates texts.', tags: ['translate'] },
    ]);
  });

  it('is read without loss by the codec', () => {
    const card = gatewayCard(inputOf({ profiles: [open, profileOf({ id: 'other' })] }));
    const read = decodeAgentCard(encodeAgentCard(card));
    expect(read.ok && encodeAgentCard(read.value)).toEqual(encodeAgentCard(card));
    expect(read).toMatchObject({ notices: [] });
  });

  it('names each default mode of its skills once, in the order of the profiles', () => {
    const other = profileOf({
      id: 'other',
      inputModes: ['image/*', 'text/plain'],
      outputModes: ['text/html'],
    });
    const card = gatewayCard(inputOf({ profiles: [open, other] }));
    expect(card.defaultInputModes).toEqual(['text/plain', 'image/*']);
    expect(card.defaultOutputModes).toEqual(['text/plain', 'application/json', 'text/html']);
  });

  it('declares each extension once, and as required only when every listed profile requires it', () => {
    const uri = 'https://example.org/ext/a/v1';
    const requiring = profileOf({ extensions: [{ uri, required: true, description: 'A' }] });
    const using = profileOf({ id: 'other', extensions: [{ uri, required: false }] });
    const extensionsOf = (profiles: Profile[]) => gatewayCard(inputOf({ profiles })).capabilities.extensions;
    expect(extensionsOf([requiring])).toEqual([{ uri, description: 'A', required: true }]);
    expect(extensionsOf([using, requiring])).toEqual([{ uri, description: 'A' }]);
    expect(extensionsOf([requiring, profileOf({ id: 'plain' })])).toEqual([{ uri, description: 'A' }]);
    // One that is not listed has no say.
    expect(extensionsOf([requiring, { ...using, public: false }])).toEqual([
      { uri, description: 'A', required: true },
    ]);
  });

  it('leaves the provider out when no organization is configured', () => {
    const card = gatewayCard(inputOf({ settings: settingsOf({ organization: '', organizationUrl: '' }) }));
    expect(encodeAgentCard(card)).not.toHaveProperty('provider');
  });

  it('states the version of the package', () => {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(GATEWAY_VERSION).toBe(manifest.version);
  });
});

describe('a card that would lack required content', () => {
  it.each([
    { field: 'name', input: inputOf({ settings: settingsOf({ gatewayName: '' }) }) },
    { field: 'description', input: inputOf({ settings: settingsOf({ gatewayDescription: ' ' }) }) },
    { field: 'version', input: inputOf({ version: '' }) },
    { field: 'supportedInterfaces[0].url', input: inputOf({ baseUrl: '' }) },
    { field: 'provider.organization', input: inputOf({ settings: settingsOf({ organization: '' }) }) },
    { field: 'provider.url', input: inputOf({ settings: settingsOf({ organizationUrl: '' }) }) },
    { field: 'skills[0].name', input: inputOf({ profiles: [profileOf({ name: '' })] }) },
    { field: 'skills[1].description', input: inputOf({ profiles: [open, profileOf({ description: '' })] }) },
    {
      field: 'capabilities.extensions[0].uri',
      input: inputOf({ profiles: [profileOf({ extensions: [{ uri: '', required: false }] })] }),
    },
  ])('is refused by an error that names $field', ({ field, input }) => {
    expect(() => gatewayCard(input)).toThrow(IncompleteCard);
    expect(() => gatewayCard(input)).toThrow(expect.objectContaining({ tag: 'IncompleteCard', field }));
  });

  it('is refused for one profile as well', () => {
    const profiles = [profileOf({ version: '' })];
    expect(() => profileCard({ ...inputOf({ profiles }), profile: 'translate' })).toThrow(
      expect.objectContaining({ field: 'version' }),
    );
  });
});

describe('the card of one profile', () => {
  it('speaks of that profile alone and carries it as the tenant of its interface', () => {
    const uri = 'https://example.org/ext/a/v1';
    const profiles = [open, profileOf({ id: 'other', extensions: [{ uri, required: true }] })];
    const card = profileCard({ ...inputOf({ profiles }), profile: 'translate' });
    expect(card).toMatchObject({ name: 'Translator', description: 'Translates texts.', version: '2.1.0' });
    expect(card?.supportedInterfaces).toEqual([
      {
        url: 'https://agents.example.org/rpc',
        protocolBinding: 'JSONRPC',
        tenant: 'translate',
        protocolVersion: '1.0',
      },
    ]);
    expect(skillIds(card)).toEqual(['translate']);
    expect(card?.capabilities.extensions).toBeUndefined();
  });

  it.each(['unknown', 'draft', 'hidden'])('does not exist for a profile that is %s', (profile) => {
    expect(profileCard({ ...inputOf({ profiles: [draft, hidden, open] }), profile })).toBeUndefined();
  });
});

describe('the extended card', () => {
  const profiles = [draft, hidden, open];

  it.each([
    { granted: ['*'], skills: ['hidden', 'translate'] },
    { granted: ['hidden'], skills: ['hidden'] },
    { granted: ['translate', 'draft', 'gone'], skills: ['translate'] },
    { granted: [], skills: [] },
  ])('lists the published profiles granted by $granted', ({ granted, skills }) => {
    expect(skillIds(extendedCard({ ...inputOf({ profiles }), client: clientOf(granted) }))).toEqual(skills);
  });

  it('keeps the tenant when it is asked for with one', () => {
    const card = extendedProfileCard({
      ...inputOf({ profiles }),
      client: clientOf(['*']),
      profile: 'hidden',
    });
    expect(card?.supportedInterfaces[0]?.tenant).toBe('hidden');
    expect(skillIds(card)).toEqual(['hidden']);
  });

  it.each([
    { profile: 'unknown', granted: ['*'] },
    { profile: 'draft', granted: ['*'] },
    { profile: 'hidden', granted: ['translate'] },
    { profile: 'translate', granted: [] },
  ])('does not exist for $profile with the grants $granted', ({ profile, granted }) => {
    const input = { ...inputOf({ profiles }), client: clientOf(granted), profile };
    expect(extendedProfileCard(input)).toBeUndefined();
  });
});
