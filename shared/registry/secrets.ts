import type { Sealer } from '../sealing/index.ts';
import { keys } from '../storage/keys.ts';
import type { SealedSecret } from './types.ts';

/** What stands for a stored secret wherever a provider is shown, and, in a file, for "keep the stored one". */
export const MASK = '***';

/** The key ring's name for what belongs to the installation; no registered client may have it as its id. */
export const GATEWAY = 'gateway';

/**
 * Seals what providers are called with (design §4, P10). The provider's id is bound to the value: it opens for no
 * other. Throws what the sealer throws, `SealBroken` or `KeyUnavailable`; neither holds the secret.
 */
export interface SecretBox {
  seal(provider: string, secret: string): Promise<SealedSecret>;
  open(provider: string, secret: SealedSecret): Promise<string>;
}

export function createSecretBox(sealer: Sealer): SecretBox {
  const owner = (provider: string) => ({ client: GATEWAY, task: provider, purpose: 'secret' as const });
  const binding = (provider: string) => ({
    table: 'registry' as const,
    key: keys.provider(provider),
    attribute: 'apiKey',
  });
  return {
    async seal(provider, secret) {
      const own = await sealer.begin(owner(provider));
      const slices = await own.seal(binding(provider), secret);
      // A key has at most 4 KB, a slice 350.
      return { sealed: slices[0]!, salt: own.owner.salt, epoch: own.owner.epoch };
    },
    async open(provider, { sealed, salt, epoch }) {
      const own = sealer.forTask({ ...owner(provider), salt, epoch });
      return String(await own.open(binding(provider), [sealed]));
    },
  };
}
