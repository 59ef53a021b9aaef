import {
  DecryptCommand,
  GenerateDataKeyCommand,
  IncorrectKeyException,
  InvalidCiphertextException,
  KMSClient,
} from '@aws-sdk/client-kms';
import type { Environment } from '../runtime/environment.ts';
import type { KeyContext, KeyService } from '../runtime/ports.ts';
import { KeyUnavailable } from './keyring.ts';
import { SealBroken } from './seal.ts';

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

/**
 * Data keys from one KMS key. Decrypt names the key, so that what any other key wrapped is refused. Throws `SealBroken`
 * if a wrapped key is not one of this KMS key in this context, `KeyUnavailable` for everything else (no answer,
 * throttled, disabled, not permitted), which may pass.
 */
export function createKmsKeyService(client: KMSClient, keyId: string): KeyService {
  return {
    async generate(context) {
      const command = new GenerateDataKeyCommand({
        KeyId: keyId,
        KeySpec: 'AES_256',
        EncryptionContext: encryptionContext(context),
      });
      const answer = await client.send(command).catch(refuse);
      if (answer.Plaintext === undefined || answer.CiphertextBlob === undefined) throw noKey();
      return { plaintext: answer.Plaintext, wrapped: answer.CiphertextBlob };
    },
    async unwrap(wrapped, context) {
      const command = new DecryptCommand({
        KeyId: keyId,
        CiphertextBlob: wrapped,
        EncryptionContext: encryptionContext(context),
      });
      const answer = await client.send(command).catch(refuse);
      if (answer.Plaintext === undefined) throw noKey();
      return answer.Plaintext;
    },
  };
}

function refuse(error: unknown): never {
  if (error instanceof InvalidCiphertextException || error instanceof IncorrectKeyException) {
    throw new SealBroken();
  }
  throw new KeyUnavailable(error instanceof Error ? error.name : 'unknown');
}

const noKey = () => new KeyUnavailable('answered without a key');

function encryptionContext(context: KeyContext): Record<string, string> {
  return { client: context.client, purpose: context.purpose, epoch: context.epoch };
}
