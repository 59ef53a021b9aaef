/** Sealing of content and secrets (design §4, P10, P12). The KMS adapter is `keys-kms.ts`, for composition roots. */
export type { Sealer, SealOwner, TaskSealer } from './content.ts';
export { createSealer } from './content.ts';
export type { DataKey, Keyring, KeyringParts, Purpose } from './keyring.ts';
export { createKeyring, KeyUnavailable } from './keyring.ts';
export type { Binding } from './seal.ts';
export { SEAL_BYTES, SealBroken } from './seal.ts';
export { joinSlices, SLICE_BYTES, sliceSealed } from './sliced.ts';
export { deriveSubkey, SALT_BYTES } from './subkey.ts';
