import { createPublicKey, randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { signDigest, signMessage } from './ecdsa.ts';
import {
  decrypt,
  encrypt,
  KeyShelf,
  type KeySpec,
  keyArn,
  keyIdOf,
  type StoredKey,
  signingKey,
} from './kms-keys.ts';
import { localAccount } from './local-client.ts';
import { listenOnLoopback, readBody } from './loopback-server.ts';

export interface Kms<Alias extends string = string> {
  readonly endpoint: string;
  /** ARNs by alias. */
  readonly keys: Readonly<Record<Alias, string>>;
  stop(): Promise<void>;
}

export interface KmsOptions<Alias extends string> {
  /** Folder that keeps the master keys; without it they live in memory and what they sealed is lost with them. */
  readonly dataDir?: string;
  readonly keys: Readonly<Record<Alias, KeySpec>>;
}

/**
 * The part of KMS that a gateway calls, on 127.0.0.1: GenerateDataKey, Encrypt and Decrypt with the encryption context
 * as additional data, DescribeKey, EnableKey, DisableKey, GetPublicKey and Sign.
 */
export async function startKms<Alias extends string>(options: KmsOptions<Alias>): Promise<Kms<Alias>> {
  const shelf = new KeyShelf(
    options.dataDir === undefined ? undefined : join(options.dataDir, 'kms-keys.json'),
  );
  const keys = Object.entries<KeySpec>(options.keys).map(([alias, spec]) => [
    alias,
    keyArn(shelf.ensure(alias, spec)),
  ]);
  const server = await listenOnLoopback(async (request, response) => {
    const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': randomUUID() };
    try {
      const body = await readBody(request, 128 * 1024);
      const operation = String(request.headers['x-amz-target'] ?? '').replace(/^TrentService\./, '');
      const input = JSON.parse(body?.toString() || '{}') as Input;
      const output = JSON.stringify(answer(shelf, operation, input));
      response.writeHead(200, headers).end(output);
    } catch (error) {
      const refusal =
        error instanceof Refusal ? error : new Refusal('ValidationException', 'The request is malformed.');
      response.writeHead(400, headers);
      response.end(JSON.stringify({ __type: refusal.type, message: refusal.message }));
    }
  });
  return {
    endpoint: server.url,
    keys: Object.fromEntries(keys) as Record<Alias, string>,
    stop: () => server.close(),
  };
}

interface Input {
  readonly KeyId?: string;
  readonly EncryptionContext?: Readonly<Record<string, string>>;
  readonly Plaintext?: string;
  readonly CiphertextBlob?: string;
  readonly KeySpec?: string;
  readonly NumberOfBytes?: number;
  readonly Message?: string;
  readonly MessageType?: string;
  readonly SigningAlgorithm?: string;
}

/** An error answer of the service; `type` is the name that the SDK gives the exception. */
class Refusal extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

function answer(shelf: KeyShelf, operation: string, input: Input): object {
  switch (operation) {
    case 'GenerateDataKey': {
      const key = usable(shelf, input.KeyId, 'SYMMETRIC_DEFAULT');
      const length = input.NumberOfBytes ?? (input.KeySpec === 'AES_128' ? 16 : 32);
      if (!Number.isInteger(length) || length < 1 || length > 1_024) {
        throw new Refusal('ValidationException', 'NumberOfBytes must be between 1 and 1024.');
      }
      const plaintext = randomBytes(length);
      const blob = encrypt(key, plaintext, input.EncryptionContext ?? {});
      return {
        KeyId: keyArn(key),
        Plaintext: plaintext.toString('base64'),
        CiphertextBlob: blob.toString('base64'),
      };
    }
    case 'Encrypt': {
      const key = usable(shelf, input.KeyId, 'SYMMETRIC_DEFAULT');
      const plaintext = bytes(input.Plaintext, 4_096);
      const blob = encrypt(key, plaintext, input.EncryptionContext ?? {});
      return {
        KeyId: keyArn(key),
        CiphertextBlob: blob.toString('base64'),
        EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
      };
    }
    case 'Decrypt': {
      const blob = bytes(input.CiphertextBlob, 6_144);
      const key = shelf.find(keyIdOf(blob) ?? '');
      if (!key) throw new Refusal('InvalidCiphertextException', 'The ciphertext is invalid.');
      if (input.KeyId !== undefined && known(shelf, input.KeyId) !== key) {
        throw new Refusal(
          'IncorrectKeyException',
          'The key in the request is not the key of the ciphertext.',
        );
      }
      enabled(key);
      const plaintext = decrypt(key, blob, input.EncryptionContext ?? {});
      if (!plaintext) throw new Refusal('InvalidCiphertextException', 'The ciphertext is invalid.');
      return {
        KeyId: keyArn(key),
        Plaintext: plaintext.toString('base64'),
        EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
      };
    }
    case 'Sign': {
      const key = usable(shelf, input.KeyId, 'ECC_NIST_P256');
      if (input.SigningAlgorithm !== 'ECDSA_SHA_256') {
        throw new Refusal('InvalidKeyUsageException', 'The key signs with ECDSA_SHA_256.');
      }
      const digest = input.MessageType === 'DIGEST';
      const message = bytes(input.Message, 4_096);
      if (digest && message.length !== 32)
        throw new Refusal('ValidationException', 'Digest is invalid length.');
      const signature = digest ? signDigest(signingKey(key), message) : signMessage(signingKey(key), message);
      return {
        KeyId: keyArn(key),
        Signature: signature.toString('base64'),
        SigningAlgorithm: 'ECDSA_SHA_256',
      };
    }
    case 'GetPublicKey': {
      const key = usable(shelf, input.KeyId, 'ECC_NIST_P256');
      const der = createPublicKey(signingKey(key)).export({ format: 'der', type: 'spki' });
      return {
        KeyId: keyArn(key),
        PublicKey: der.toString('base64'),
        KeySpec: key.spec,
        CustomerMasterKeySpec: key.spec,
        KeyUsage: 'SIGN_VERIFY',
        SigningAlgorithms: ['ECDSA_SHA_256'],
      };
    }
    case 'DescribeKey':
      return { KeyMetadata: describe(known(shelf, input.KeyId)) };
    case 'EnableKey':
    case 'DisableKey':
      shelf.setEnabled(known(shelf, input.KeyId), operation === 'EnableKey');
      return {};
    default:
      throw new Refusal(
        'UnsupportedOperationException',
        `The local KMS knows no ${operation || 'such operation'}.`,
      );
  }
}

function describe(key: StoredKey): object {
  const signs = key.spec === 'ECC_NIST_P256';
  return {
    AWSAccountId: localAccount,
    KeyId: key.id,
    Arn: keyArn(key),
    CreationDate: key.createdAt / 1_000,
    Enabled: key.enabled,
    KeyState: key.enabled ? 'Enabled' : 'Disabled',
    KeyUsage: signs ? 'SIGN_VERIFY' : 'ENCRYPT_DECRYPT',
    KeySpec: key.spec,
    CustomerMasterKeySpec: key.spec,
    KeyManager: 'CUSTOMER',
    Origin: 'AWS_KMS',
    MultiRegion: false,
    ...(signs ? { SigningAlgorithms: ['ECDSA_SHA_256'] } : { EncryptionAlgorithms: ['SYMMETRIC_DEFAULT'] }),
  };
}

function known(shelf: KeyShelf, identifier: string | undefined): StoredKey {
  const key = shelf.find(identifier ?? '');
  if (!key) throw new Refusal('NotFoundException', `Key '${identifier ?? ''}' does not exist`);
  return key;
}

function usable(shelf: KeyShelf, identifier: string | undefined, spec: KeySpec): StoredKey {
  const key = enabled(known(shelf, identifier));
  if (key.spec !== spec)
    throw new Refusal('InvalidKeyUsageException', `${keyArn(key)} is not valid for this use.`);
  return key;
}

function enabled(key: StoredKey): StoredKey {
  if (!key.enabled) throw new Refusal('DisabledException', `${keyArn(key)} is disabled.`);
  return key;
}

function bytes(base64: string | undefined, maxBytes: number): Buffer {
  const value = Buffer.from(base64 ?? '', 'base64');
  if (value.length === 0 || value.length > maxBytes) {
    throw new Refusal('ValidationException', `A value must have between 1 and ${maxBytes} bytes.`);
  }
  return value;
}
