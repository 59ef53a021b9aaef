import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import type { CardInput } from '../../shared/cards/card.ts';
import { derToRaw } from '../../shared/cards/ecdsa.ts';
import { type CardKey, type CardSigner, SigningUnavailable } from '../../shared/cards/sign.ts';
import { type Client, effectiveSettings, type Profile, type Settings } from '../../shared/registry/index.ts';

export function profileOf(over: Partial<Profile> = {}): Profile {
  return {
    id: 'translate',
    name: 'Translator',
    description: 'Translates texts.',
    version: '2.1.0',
    tags: ['text', 'language'],
    examples: ['Translate "bonjour".'],
    inputModes: ['text/plain'],
    outputModes: ['text/plain', 'application/json'],
    providers: ['echo'],
    published: true,
    public: true,
    blockingSeconds: 25,
    runSeconds: 300,
    inputSeconds: 604_800,
    attempts: 3,
    dedup: true,
    extensions: [],
    approval: 'none',
    approvalSeconds: 604_800,
    retentionDays: 30,
    ...over,
  };
}

export function settingsOf(over: Partial<Settings> = {}): Settings {
  return {
    ...effectiveSettings({}),
    gatewayName: 'Example gateway',
    gatewayDescription: 'Agents of Example Org.',
    organization: 'Example Org',
    organizationUrl: 'https://www.example.org',
    ...over,
  };
}

export function inputOf(over: Partial<CardInput> = {}): CardInput {
  return {
    settings: settingsOf(),
    profiles: [profileOf()],
    baseUrl: 'https://agents.example.org',
    push: false,
    version: '0.1.0',
    ...over,
  };
}

export function clientOf(profiles: readonly string[]): Client {
  return { id: 'acme', name: 'Acme', disabled: false, tokens: [], profiles, createdAt: 0 };
}

/** A signer with a key of its own in memory, that counts how often it signed. */
export async function memorySigner(): Promise<CardSigner & { signed: number; failing: boolean }> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = await cardKeyOf(publicKey);
  const signer = {
    signed: 0,
    failing: false,
    publicKey: async () => key,
    async sign(bytes: Uint8Array) {
      signer.signed += 1;
      if (signer.failing) throw new SigningUnavailable('sign');
      return derToRaw(createSign('sha256').update(bytes).sign(privateKey));
    },
  };
  return signer;
}

export async function cardKeyOf(publicKey: KeyObject): Promise<CardKey> {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const kid = await calculateJwkThumbprint({ kty: 'EC', crv: 'P-256', x, y });
  return { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
}
