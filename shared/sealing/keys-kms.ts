import { DecryptCommand, GenerateDataKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import type { Environment } from '../runtime/environment.ts';
import type { KeyContext, KeyService } from '../runtime/ports.ts';

/** Credentials come from the SDK's default chain. Three attempts of at most 2 s: a first use must not stall a caller. */
export function createKmsClient(
  environment: Pick<Environment, 'AWS_REGION' | 'AWS_ENDPOINT_URL_KMS'>,
): KMSClient {
  const endpoint = environment.AWS_ENDPOINT_URL_KMS;
  return new KMSClient({
    region: environment.AWS_REGION,
    ...(endpoint === undefined ? {} : { endpoint }),
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
  });
}

/** Data keys from one KMS key. Decrypt names the key, so that a blob wrapped by any other key is refused. */
export function createKmsKeyService(client: KMSClient, keyId: string): KeyService {
  return {
    async generate(context) {
      const answer = await client.send(
        new GenerateDataKeyCommand({
          KeyId: keyId,
          KeySpec: 'AES_256',
          EncryptionContext: encryptionContext(context),
        }),
      );
      if (answer.Plaintext === undefined || answer.CiphertextBlob === undefined) {
        throw new Error('the key service answered without a key');
      }
      return { plaintext: answer.Plaintext, wrapped: answer.CiphertextBlob };
    },
    async unwrap(wrapped, context) {
      const answer = await client.send(
        new DecryptCommand({
          KeyId: keyId,
          CiphertextBlob: wrapped,
          EncryptionContext: encryptionContext(context),
        }),
      );
      if (answer.Plaintext === undefined) throw new Error('the key service answered without a key');
      return answer.Plaintext;
    },
  };
}

function encryptionContext(context: KeyContext): Record<string, string> {
  return { client: context.client, purpose: context.purpose, epoch: context.epoch };
}
