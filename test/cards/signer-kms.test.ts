import { generateKeyPairSync } from 'node:crypto';
import { DisableKeyCommand, GetPublicKeyCommand, type KMSClient, SignCommand } from '@aws-sdk/client-kms';
import { calculateJwkThumbprint, flattenedVerify, importJWK } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startKms } from '../../infra/local/kms.ts';
import { localRegion } from '../../infra/local/local-client.ts';
import { canonicalCard } from '../../shared/cards/canonical.ts';
import { type CardSigner, gatewayCard, SigningUnavailable, signCard } from '../../shared/cards/index.ts';
import { createKmsCardSigner } from '../../shared/cards/signer-kms.ts';
import { encodeAgentCard } from '../../shared/protocol/index.ts';
import { createKmsClient } from '../../shared/sealing/keys-kms.ts';
import { inputOf, profileOf } from './samples.ts';

const KEY_SET = 'https://agents.example.org/.well-known/jwks.json';

async function localKms() {
  const kms = await startKms({ keys: { cards: 'ECC_NIST_P256', data: 'SYMMETRIC_DEFAULT' } });
  process.env['AWS_ACCESS_KEY_ID'] ??= 'local';
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'local';
  const client = createKmsClient({ AWS_REGION: localRegion, AWS_ENDPOINT_URL_KMS: kms.endpoint });
  onTestFinished(async () => {
    client.destroy();
    await kms.stop();
  });
  return { client, keys: kms.keys };
}

/** What the client was asked for, and a switch for the answer to each request. */
function watched(client: KMSClient) {
  const seen = { requests: [] as (GetPublicKeyCommand | SignCommand)[], failing: false };
  const send = (command: GetPublicKeyCommand | SignCommand) => {
    seen.requests.push(command);
    return seen.failing
      ? Promise.reject(new Error('KMSInternalException'))
      : client.send(command as SignCommand);
  };
  return Object.assign(seen, { send: send as unknown as KMSClient['send'] });
}

async function verifySigned(signer: CardSigner, card = gatewayCard(inputOf())): Promise<void> {
  const signed = await signCard(card, signer, KEY_SET);
  const payload = Buffer.from(canonicalCard(encodeAgentCard(card))).toString('base64url');
  const { protected: header = '', signature = '' } = signed.signatures?.[0] ?? {};
  const key = await importJWK({ ...(await signer.publicKey()) });
  await flattenedVerify({ protected: header, signature, payload }, key, { algorithms: ['ES256'] });
}

describe('a signer with a KMS key', () => {
  it('signs what its public key verifies, also a card longer than KMS takes as a message', async () => {
    const { client, keys } = await localKms();
    const signer = createKmsCardSigner(client, keys.cards);
    await verifySigned(signer);
    const description = 'long '.repeat(2_000);
    await verifySigned(signer, gatewayCard(inputOf({ profiles: [profileOf({ description })] })));
  });

  it('is named by the thumbprint of its public key and shows no ARN', async () => {
    const { client, keys } = await localKms();
    const key = await createKmsCardSigner(client, keys.cards).publicKey();
    expect(key).toEqual({
      kty: 'EC',
      crv: 'P-256',
      x: expect.any(String),
      y: expect.any(String),
      kid: await calculateJwkThumbprint({ ...key }),
      alg: 'ES256',
      use: 'sig',
    });
    expect(
      JSON.stringify(
        await signCard(gatewayCard(inputOf()), createKmsCardSigner(client, keys.cards), KEY_SET),
      ),
    ).not.toContain('arn:');
  });

  it('reads the public key once, and signs with the key that it read when an alias has moved', async () => {
    const { client, keys } = await localKms();
    const kms = watched(client);
    const signer = createKmsCardSigner(kms, 'alias/cards');
    await Promise.all([signer.publicKey(), signer.sign(Buffer.from('a')), signer.sign(Buffer.from('b'))]);
    const reads = kms.requests.filter((request) => request instanceof GetPublicKeyCommand);
    const signs = kms.requests.filter((request) => request instanceof SignCommand);
    expect(reads.map(({ input }) => input.KeyId)).toEqual(['alias/cards']);
    expect(signs.map(({ input }) => input.KeyId)).toEqual([keys.cards, keys.cards]);
  });

  it('reports an outage as such, without details in the message, and recovers from it', async () => {
    const { client, keys } = await localKms();
    const kms = watched(client);
    const signer = createKmsCardSigner(kms, keys.cards);
    kms.failing = true;
    await expect(signer.publicKey()).rejects.toThrow(SigningUnavailable);
    kms.failing = false;
    await verifySigned(signer);
    kms.failing = true;
    const failure = await signer.sign(Buffer.from('x')).catch((error: unknown) => error);
    expect(failure).toMatchObject({ tag: 'SigningUnavailable', message: 'the card key did not sign' });
    kms.failing = false;
    await verifySigned(signer);
  });

  it('reports a disabled key and a key that cannot sign', async () => {
    const { client, keys } = await localKms();
    await expect(createKmsCardSigner(client, keys.data).publicKey()).rejects.toThrow(SigningUnavailable);
    await client.send(new DisableKeyCommand({ KeyId: keys.cards }));
    await expect(createKmsCardSigner(client, keys.cards).publicKey()).rejects.toThrow(SigningUnavailable);
  });

  it.each([
    { KeyUsage: 'SIGN_VERIFY', curve: 'P-384' },
    { KeyUsage: 'KEY_AGREEMENT', curve: 'P-256' },
  ])('refuses a key for $KeyUsage on $curve', async ({ KeyUsage, curve }) => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: curve });
    const PublicKey = publicKey.export({ format: 'der', type: 'spki' });
    const send = (async () => ({ KeyUsage, PublicKey })) as unknown as KMSClient['send'];
    await expect(createKmsCardSigner({ send }, 'key').publicKey()).rejects.toThrow(SigningUnavailable);
  });
});
