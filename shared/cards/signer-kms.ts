import { createHash, createPublicKey } from 'node:crypto';
import { GetPublicKeyCommand, type KMSClient, SignCommand } from '@aws-sdk/client-kms';
import { calculateJwkThumbprint } from 'jose';
import { derToRaw } from './ecdsa.ts';
import { type CardKey, type CardSigner, SigningUnavailable } from './sign.ts';

/**
 * Signs with a KMS key (`ECC_NIST_P256`, `SIGN_VERIFY`). The public key is read once per instance and signing goes to
 * the very key that was read: when an alias is pointed elsewhere, an instance goes on with the key whose `kid` it
 * states until it ends.
 */
export function createKmsCardSigner(kms: Pick<KMSClient, 'send'>, key: string): CardSigner {
  let known: Promise<{ readonly arn: string; readonly publicKey: CardKey }> | undefined;
  const load = async () => {
    known ??= readKey(kms, key);
    try {
      return await known;
    } catch (error) {
      known = undefined;
      throw unavailable('give its public part', error);
    }
  };
  return {
    publicKey: async () => (await load()).publicKey,
    async sign(bytes) {
      const { arn } = await load();
      try {
        const { Signature } = await kms.send(
          new SignCommand({
            KeyId: arn,
            // The digest: a raw message may have 4,096 bytes at most, and a card may have more.
            MessageType: 'DIGEST',
            Message: createHash('sha256').update(bytes).digest(),
            SigningAlgorithm: 'ECDSA_SHA_256',
          }),
        );
        return derToRaw(Signature ?? new Uint8Array());
      } catch (error) {
        throw unavailable('sign', error);
      }
    },
  };
}

async function readKey(kms: Pick<KMSClient, 'send'>, key: string) {
  const { KeyId, KeyUsage, PublicKey } = await kms.send(new GetPublicKeyCommand({ KeyId: key }));
  if (KeyUsage !== 'SIGN_VERIFY') throw new TypeError('the card key is not a key for signing');
  const spki = createPublicKey({ key: Buffer.from(PublicKey ?? []), format: 'der', type: 'spki' });
  const { kty, crv, x, y } = spki.export({ format: 'jwk' });
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined) {
    throw new TypeError('the card key is not on the curve P-256');
  }
  const kid = await calculateJwkThumbprint({ kty, crv, x, y });
  const publicKey: CardKey = { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' };
  return { arn: KeyId ?? key, publicKey };
}

function unavailable(operation: string, cause: unknown): SigningUnavailable {
  return cause instanceof SigningUnavailable ? cause : new SigningUnavailable(operation, { cause });
}
