import type { Sealer } from '../sealing/index.ts';
import { keys } from '../storage/keys.ts';
import type { SealedSecret } from './types.ts';

/** What stands for a stored secret wherever a provider is shown, and, in a file, for "keep the stored one". */
export const MASK = '***';

/** The key ring's name for what belongs to the installation; no registered client may have it as its id. */
export const GATEWAY = 'gateway';

/**
 * Seals what providers or remote agents are called with (design §4, P10). The record's id is bound to the value: it opens
 * for no other. Throws what the sealer throws, `SealBroken` or `KeyUnavailable`; neither holds the secret.
 */
export interface SecretBox {
  seal(id: string, secret: string): Promise<SealedSecret>;
  open(id: string, secret: SealedSecret): Promise<string>;
}

/** Which record's secret it is, and under which attribute it stands there. */
const attributes = { provider: 'apiKey', agent: 'credential' } as const;

export function createSecretBox(sealer: Sealer, kind: keyof typeof attributes = 'provider'): SecretBox {
  // A provider and an agent of one id have keys of their own.
  const owner = (id: string) => ({
    client: GATEWAY,
    task: kind === 'provider' ? id : `${kind}#${id}`,
    purpose: 'secret' as const,
  });
  const binding = (id: string) => ({
    table: 'registry' as const,
    key: keys[kind](id),
    attribute: attributes[kind],
  });
  return {
    async seal(id, secret) {
      const own = await sealer.begin(owner(id));
      const slices = await own.seal(binding(id), secret);
      // A key has at most 4 KB, a slice 350.
      return { sealed: slices[0]!, salt: own.owner.salt, epoch: own.owner.epoch };
    },
    async open(id, { sealed, salt, epoch }) {
      const own = sealer.forTask({ ...owner(id), salt, epoch });
      return String(await own.open(binding(id), [sealed]));
    },
  };
}
