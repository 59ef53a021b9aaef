import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DisableKeyCommand, type KMSClient } from '@aws-sdk/client-kms';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Kms, startKms } from '../../infra/local/kms.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { createKeyring } from '../../shared/sealing/index.ts';
import { createKmsClient, createKmsKeyService } from '../../shared/sealing/keys-kms.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';

const context = { client: 'acme', purpose: 'content', epoch: '202610' };
let rig: StoreRig;
let kms: Kms<'data' | 'other'>;
let client: KMSClient;
let dataDir: string;
beforeAll(async () => {
  rig = await startStore();
  dataDir = mkdtempSync(join(tmpdir(), 'sealpost-keys-'));
  kms = await startKms({ dataDir, keys: { data: 'SYMMETRIC_DEFAULT', other: 'SYMMETRIC_DEFAULT' } });
  client = createKmsClient({ AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_KMS: kms.endpoint });
});
afterAll(async () => {
  client.destroy();
  await kms.stop();
  await rig[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true });
});

describe('data keys of KMS', () => {
  it('are unwrapped under their own context and key, and under no other', async () => {
    const service = createKmsKeyService(client, kms.keys.data);
    const { plaintext, wrapped } = await service.generate(context);
    expect(plaintext).toHaveLength(32);
    expect(await service.unwrap(wrapped, context)).toEqual(plaintext);
    for (const other of [{ client: 'bolt' }, { purpose: 'push' }, { epoch: '202611' }]) {
      await expect(service.unwrap(wrapped, { ...context, ...other })).rejects.toMatchObject({
        tag: 'SealBroken',
      });
    }
    await expect(createKmsKeyService(client, kms.keys.other).unwrap(wrapped, context)).rejects.toMatchObject({
      tag: 'SealBroken',
    });
    const changed = wrapped.slice();
    changed[wrapped.length - 1]! ^= 1;
    await expect(service.unwrap(changed, context)).rejects.toMatchObject({ tag: 'SealBroken' });
  });

  it('end as one key in the store when two functions make it at the same time', async () => {
    const keyService = createKmsKeyService(client, kms.keys.data);
    const rings = Array.from({ length: 5 }, () =>
      createKeyring({ store: rig.another().store, keyService, clock: systemClock }),
    );
    const made = await Promise.all(rings.map((ring) => ring.current('acme', 'content')));
    const reader = createKeyring({ store: rig.store, keyService, clock: systemClock });
    const stored = await reader.get('acme', 'content', made[0]?.epoch ?? '');
    for (const { key } of made) expect(key).toEqual(stored);
  });

  it('of a disabled key, or of a service that does not answer, are not lost but not to be had', async () => {
    const service = createKmsKeyService(client, kms.keys.other);
    const { wrapped } = await service.generate(context);
    await client.send(new DisableKeyCommand({ KeyId: kms.keys.other }));
    await expect(service.unwrap(wrapped, context)).rejects.toMatchObject({
      tag: 'KeyUnavailable',
      retryable: true,
    });
    const nowhere = createKmsClient({ AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_KMS: 'http://127.0.0.1:1' });
    await expect(createKmsKeyService(nowhere, kms.keys.other).generate(context)).rejects.toMatchObject({
      tag: 'KeyUnavailable',
    });
    nowhere.destroy();
  });
});
