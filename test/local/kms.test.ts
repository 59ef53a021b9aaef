import { createPublicKey, createVerify, hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  DecryptCommand,
  DescribeKeyCommand,
  DisableKeyCommand,
  EnableKeyCommand,
  EncryptCommand,
  GenerateDataKeyCommand,
  GetPublicKeyCommand,
  KMSClient,
  SignCommand,
} from '@aws-sdk/client-kms';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Kms, startKms } from '../../infra/local/kms.ts';
import { localClient } from '../../infra/local/local-client.ts';

const specs = { data: 'SYMMETRIC_DEFAULT', card: 'ECC_NIST_P256' } as const;
let dataDir: string;
let kms: Kms<'data' | 'card'>;
let client: KMSClient;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sealpost-kms-'));
  kms = await startKms({ dataDir, keys: specs });
  client = new KMSClient({ ...localClient(kms.endpoint), maxAttempts: 1 });
});
afterEach(async () => {
  client.destroy();
  await kms.stop();
  rmSync(dataDir, { recursive: true });
});

describe('the local KMS', () => {
  it('opens a data key only under the encryption context it was made with', async () => {
    const EncryptionContext = { client: 'demo', purpose: 'content' };
    const made = await client.send(
      new GenerateDataKeyCommand({ KeyId: kms.keys.data, KeySpec: 'AES_256', EncryptionContext }),
    );
    expect(made.Plaintext).toHaveLength(32);
    const { CiphertextBlob } = made;
    const opened = await client.send(
      // Order of the pairs does not matter.
      new DecryptCommand({ CiphertextBlob, EncryptionContext: { purpose: 'content', client: 'demo' } }),
    );
    expect(opened.Plaintext).toEqual(made.Plaintext);
    for (const context of [
      undefined,
      {},
      { client: 'other', purpose: 'content' },
      { ...EncryptionContext, x: 'y' },
    ]) {
      const wrong = new DecryptCommand({ CiphertextBlob, ...(context && { EncryptionContext: context }) });
      await expect(client.send(wrong)).rejects.toMatchObject({ name: 'InvalidCiphertextException' });
    }
  });

  it('refuses a ciphertext with a flipped bit, and a key that is not the one of the ciphertext', async () => {
    const { CiphertextBlob = new Uint8Array() } = await client.send(
      new EncryptCommand({ KeyId: kms.keys.data, Plaintext: Buffer.from('secret') }),
    );
    const flipped = Uint8Array.from(CiphertextBlob);
    flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1;
    await expect(client.send(new DecryptCommand({ CiphertextBlob: flipped }))).rejects.toMatchObject({
      name: 'InvalidCiphertextException',
    });
    await expect(
      client.send(new DecryptCommand({ CiphertextBlob, KeyId: kms.keys.card })),
    ).rejects.toMatchObject({
      name: 'IncorrectKeyException',
    });
  });

  it('keeps its keys on the data folder, readable by their owner only', async () => {
    const { Plaintext, CiphertextBlob } = await client.send(
      new GenerateDataKeyCommand({ KeyId: 'alias/data', KeySpec: 'AES_256' }),
    );
    expect(statSync(join(dataDir, 'kms-keys.json')).mode & 0o777).toBe(0o600);
    const again = await startKms({ dataDir, keys: specs });
    expect(again.keys).toEqual(kms.keys);
    const second = new KMSClient(localClient(again.endpoint));
    expect((await second.send(new DecryptCommand({ CiphertextBlob }))).Plaintext).toEqual(Plaintext);
    second.destroy();
    await again.stop();
  });

  it('uses no disabled key until it is enabled again', async () => {
    const KeyId = kms.keys.data;
    const { CiphertextBlob } = await client.send(new GenerateDataKeyCommand({ KeyId, KeySpec: 'AES_256' }));
    await client.send(new DisableKeyCommand({ KeyId }));
    expect((await client.send(new DescribeKeyCommand({ KeyId }))).KeyMetadata?.KeyState).toBe('Disabled');
    const disabled = { name: 'DisabledException' };
    await expect(client.send(new DecryptCommand({ CiphertextBlob }))).rejects.toMatchObject(disabled);
    await expect(
      client.send(new GenerateDataKeyCommand({ KeyId, KeySpec: 'AES_256' })),
    ).rejects.toMatchObject(disabled);
    await client.send(new EnableKeyCommand({ KeyId }));
    await client.send(new DecryptCommand({ CiphertextBlob }));
  });

  it.each(['RAW', 'DIGEST'] as const)(
    'signs a %s message so that the public key verifies it',
    async (MessageType) => {
      const KeyId = kms.keys.card;
      const { PublicKey } = await client.send(new GetPublicKeyCommand({ KeyId }));
      const key = createPublicKey({ key: Buffer.from(PublicKey ?? []), format: 'der', type: 'spki' });
      for (let n = 0; n < 32; n += 1) {
        const message = randomBytes(100 + n);
        const { Signature } = await client.send(
          new SignCommand({
            KeyId,
            MessageType,
            SigningAlgorithm: 'ECDSA_SHA_256',
            Message: MessageType === 'RAW' ? message : hash('sha256', message, 'buffer'),
          }),
        );
        expect(
          createVerify('sha256')
            .update(message)
            .verify(key, Signature ?? new Uint8Array()),
        ).toBe(true);
      }
    },
  );

  it('answers an unknown key and a malformed request as the service does', async () => {
    const unknown = new GenerateDataKeyCommand({ KeyId: 'alias/none', KeySpec: 'AES_256' });
    await expect(client.send(unknown)).rejects.toMatchObject({ name: 'NotFoundException' });
    const signing = new GenerateDataKeyCommand({ KeyId: kms.keys.card, KeySpec: 'AES_256' });
    await expect(client.send(signing)).rejects.toMatchObject({ name: 'InvalidKeyUsageException' });
    const raw = await fetch(kms.endpoint, {
      method: 'POST',
      body: '{',
      headers: { 'x-amz-target': 'TrentService.Sign' },
    });
    expect(raw.status).toBe(400);
    expect(await raw.json()).toMatchObject({ __type: 'ValidationException' });
  });
});
