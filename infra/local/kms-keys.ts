import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  randomUUID,
} from 'node:crypto';
import { localAccount, localRegion } from './local-client.ts';
import { readJsonFile, writePrivateJson } from './private-file.ts';

export type KeySpec = 'SYMMETRIC_DEFAULT' | 'ECC_NIST_P256';

export interface StoredKey {
  readonly id: string;
  readonly alias: string;
  readonly spec: KeySpec;
  readonly createdAt: number;
  /** Base64: 32 bytes, or a private key in PKCS #8. */
  readonly material: string;
  enabled: boolean;
}

/** The master keys of the local KMS, in a file only this user can read, or in memory. */
export class KeyShelf {
  readonly #keys: StoredKey[];
  readonly #file: string | undefined;

  constructor(file?: string) {
    this.#file = file;
    this.#keys = file === undefined ? [] : (readJsonFile<StoredKey[]>(file) ?? []);
  }

  /** The key under this alias, made when there is none. */
  ensure(alias: string, spec: KeySpec): StoredKey {
    const known = this.#keys.find((key) => key.alias === alias);
    if (known) return known;
    const key: StoredKey = {
      id: randomUUID(),
      alias,
      spec,
      createdAt: Date.now(),
      material: generate(spec),
      enabled: true,
    };
    this.#keys.push(key);
    this.#save();
    return key;
  }

  /** By id, ARN of the key, alias name (`alias/…`) or ARN of the alias. */
  find(identifier: string): StoredKey | undefined {
    const name = identifier.replace(/^arn:aws:kms:[^:]*:[^:]*:(?:key\/)?/, '');
    return this.#keys.find((key) => key.id === name || `alias/${key.alias}` === name);
  }

  setEnabled(key: StoredKey, enabled: boolean): void {
    key.enabled = enabled;
    this.#save();
  }

  #save(): void {
    if (this.#file !== undefined) writePrivateJson(this.#file, this.#keys);
  }
}

export const keyArn = (key: StoredKey): string => `arn:aws:kms:${localRegion}:${localAccount}:key/${key.id}`;

export const signingKey = (key: StoredKey) =>
  createPrivateKey({ key: Buffer.from(key.material, 'base64'), format: 'der', type: 'pkcs8' });

const version = 1;
const ivBytes = 12;
const tagBytes = 16;

/** Version, id of the key, IV, tag, ciphertext; the encryption context is additional data, as with the real service. */
export function encrypt(
  key: StoredKey,
  plaintext: Uint8Array,
  context: Readonly<Record<string, string>>,
): Buffer {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key.material, 'base64'), iv);
  cipher.setAAD(contextBytes(context));
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([Buffer.from([version]), Buffer.from(key.id), iv, cipher.getAuthTag(), ciphertext]);
}

/** The id of the key that a blob names, undefined for what is no blob of this service. */
export function keyIdOf(blob: Uint8Array): string | undefined {
  return blob.length > 1 + 36 + ivBytes + tagBytes && blob[0] === version
    ? Buffer.from(blob.subarray(1, 37)).toString()
    : undefined;
}

/** Undefined when blob, key and context do not belong together. */
export function decrypt(
  key: StoredKey,
  blob: Uint8Array,
  context: Readonly<Record<string, string>>,
): Buffer | undefined {
  const [iv, tag] = [blob.subarray(37, 37 + ivBytes), blob.subarray(37 + ivBytes, 37 + ivBytes + tagBytes)];
  const decipher = createDecipheriv('aes-256-gcm', Buffer.from(key.material, 'base64'), iv);
  decipher.setAAD(contextBytes(context));
  decipher.setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(blob.subarray(37 + ivBytes + tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}

function contextBytes(context: Readonly<Record<string, string>>): Buffer {
  const pairs = Object.entries(context).sort(([left], [right]) => (left < right ? -1 : 1));
  return Buffer.from(JSON.stringify(pairs));
}

function generate(spec: KeySpec): string {
  if (spec === 'SYMMETRIC_DEFAULT') return randomBytes(32).toString('base64');
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return pair.privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
}
