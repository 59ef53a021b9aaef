import { describe, expect, it } from 'vitest';
import { createSecretBox } from '../../shared/registry/index.ts';
import { createSealer } from '../../shared/sealing/index.ts';
import { testKeyring, testRandom } from './fixed-surroundings.ts';

const box = createSecretBox(createSealer({ keyring: testKeyring(), random: testRandom() }));
const secret = 'sk-live-0123456789';

describe("a provider's secret", () => {
  it('opens again, byte for byte', async () => {
    const odd = `${secret}"\\~!`;
    expect(await box.open('one', await box.seal('one', odd))).toBe(odd);
  });

  it('stands nowhere in what is stored', async () => {
    const sealed = await box.seal('one', secret);
    expect(Buffer.from(sealed.sealed).toString('latin1')).not.toContain(secret);
    expect(Buffer.from(sealed.sealed)).not.toEqual(Buffer.from((await box.seal('one', secret)).sealed));
  });

  it('opens for its own provider only, and not once it was changed', async () => {
    const sealed = await box.seal('one', secret);
    await expect(box.open('two', sealed)).rejects.toMatchObject({ tag: 'SealBroken' });
    const flipped = Uint8Array.from(sealed.sealed);
    flipped[20]! ^= 1;
    await expect(box.open('one', { ...sealed, sealed: flipped })).rejects.toMatchObject({
      tag: 'SealBroken',
    });
  });
});
