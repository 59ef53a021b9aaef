import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Binding, open, SEAL_BYTES, SealBroken, seal } from '../../shared/sealing/seal.ts';
import { joinSlices, SLICE_BYTES, sliceSealed } from '../../shared/sealing/sliced.ts';
import { deriveSubkey } from '../../shared/sealing/subkey.ts';

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const key = bytes(32);
const nonce = bytes(12);
const plaintext = fc.uint8Array({ maxLength: 300 });
const text = fc.string({ unit: 'binary', maxLength: 12 });
const binding: fc.Arbitrary<Binding> = fc.record({
  table: fc.constantFrom('state', 'view', 'outbox', 'delegation', 'registry'),
  key: fc.record({ pk: text, sk: text }),
  attribute: text,
});
const fieldsOf = (at: Binding) => [at.table, at.key.pk, at.key.sk, at.attribute];

describe('a sealed value', () => {
  it('opens to what was sealed, under its key and in its place', () => {
    fc.assert(
      fc.property(key, plaintext, binding, nonce, (k, p, b, n) => {
        const sealed = seal(k, p, b, n);
        expect(sealed).toHaveLength(p.length + SEAL_BYTES);
        expect(sealed[0]).toBe(1);
        expect(open(k, sealed, b)).toEqual(p);
      }),
    );
  });

  it('is refused when any one bit of it is flipped', () => {
    fc.assert(
      fc.property(key, fc.uint8Array({ maxLength: 20 }), binding, nonce, (k, p, b, n) => {
        const sealed = seal(k, p, b, n);
        for (let bit = 0; bit < sealed.length * 8; bit++) {
          const changed = sealed.slice();
          changed[bit >> 3]! ^= 1 << (bit & 7);
          expect(() => open(k, changed, b)).toThrow(SealBroken);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('is refused when it is cut or extended anywhere', () => {
    fc.assert(
      fc.property(
        key,
        plaintext,
        binding,
        nonce,
        fc.uint8Array({ minLength: 1, maxLength: 40 }),
        (k, p, b, n, more) => {
          const sealed = seal(k, p, b, n);
          for (const cut of [0, 1, 12, 13, 28, sealed.length - 17, sealed.length - 1]) {
            if (cut >= 0 && cut < sealed.length)
              expect(() => open(k, sealed.subarray(0, cut), b)).toThrow(SealBroken);
          }
          expect(() => open(k, sealed.subarray(1), b)).toThrow(SealBroken);
          expect(() => open(k, joinSlices([sealed, more]), b)).toThrow(SealBroken);
          expect(() => open(k, joinSlices([more, sealed]), b)).toThrow(SealBroken);
        },
      ),
    );
  });

  it('is refused in every other place', () => {
    fc.assert(
      fc.property(key, plaintext, binding, binding, nonce, (k, p, here, there, n) => {
        fc.pre(JSON.stringify(fieldsOf(here)) !== JSON.stringify(fieldsOf(there)));
        expect(() => open(k, seal(k, p, here, n), there)).toThrow(SealBroken);
        // One field at a time.
        for (const near of [
          { ...here, table: there.table },
          { ...here, key: { ...here.key, pk: there.key.pk } },
          { ...here, key: { ...here.key, sk: there.key.sk } },
          { ...here, attribute: there.attribute },
        ]) {
          if (JSON.stringify(fieldsOf(near)) === JSON.stringify(fieldsOf(here))) continue;
          expect(() => open(k, seal(k, p, here, n), near)).toThrow(SealBroken);
        }
      }),
    );
  });

  it('is refused where the same characters are divided over the fields in another way', () => {
    fc.assert(
      fc.property(key, text, text, text, nonce, (k, a, b, c, n) => {
        const at = (pk: string, sk: string, attribute: string): Binding => ({
          table: 'state',
          key: { pk, sk },
          attribute,
        });
        const here = at(a, b, c);
        for (const there of [
          at(a + b, '', c),
          at(a, '', b + c),
          at('', a + b, c),
          at(b, a, c),
          at(a, c, b),
        ]) {
          if (JSON.stringify(fieldsOf(there)) === JSON.stringify(fieldsOf(here))) continue;
          expect(() => open(k, seal(k, a ? Uint8Array.of(1) : Uint8Array.of(), here, n), there)).toThrow(
            SealBroken,
          );
        }
      }),
    );
  });

  it('tells nothing about why it was refused', () => {
    const at: Binding = { table: 'state', key: { pk: 'secret place', sk: '-' }, attribute: 'c' };
    const sealed = seal(new Uint8Array(32), Uint8Array.of(1, 2, 3), at, new Uint8Array(12));
    const refusals = [
      () => open(new Uint8Array(32).fill(1), sealed, at),
      () => open(new Uint8Array(16), sealed, at),
      () => open(new Uint8Array(32), sealed.subarray(3), at),
      () => open(new Uint8Array(32), new Uint8Array(), at),
      () => open(new Uint8Array(32), sealed, { ...at, attribute: 'd' }),
    ].map((attempt) => {
      try {
        attempt();
      } catch (error) {
        return error as SealBroken;
      }
      throw new Error('it was opened');
    });
    expect(
      new Set(refusals.map((error) => `${error.tag} ${error.message} ${Object.keys(error)} ${error.cause}`))
        .size,
    ).toBe(1);
    expect(refusals[0]?.message).not.toContain('secret');
  });

  it('needs a key of 32 bytes and a nonce of 12', () => {
    const at: Binding = { table: 'state', key: { pk: 'p', sk: '-' }, attribute: 'c' };
    expect(() => seal(new Uint8Array(16), Uint8Array.of(), at, new Uint8Array(12))).toThrow(RangeError);
    expect(() => seal(new Uint8Array(32), Uint8Array.of(), at, new Uint8Array(16))).toThrow(RangeError);
  });
});

describe('a sub-key', () => {
  const salt = fc.uint8Array({ minLength: 16, maxLength: 48 });
  const input = fc.record({ salt, purpose: text, task: text });

  it('is another one for every other salt, purpose, task and data key', () => {
    fc.assert(
      fc.property(key, key, input, input, (k, other, here, there) => {
        const mine = deriveSubkey(k, here);
        expect(mine).toHaveLength(32);
        expect(deriveSubkey(k, { ...here, salt: here.salt.slice() })).toEqual(mine);
        for (const changed of [
          { ...here, salt: there.salt },
          { ...here, purpose: there.purpose },
          { ...here, task: there.task },
          { ...here, purpose: here.purpose + here.task, task: '' },
        ]) {
          const same =
            Buffer.compare(changed.salt, here.salt) === 0 &&
            changed.purpose === here.purpose &&
            changed.task === here.task;
          expect(Buffer.compare(deriveSubkey(k, changed), mine) === 0).toBe(same);
        }
        expect(Buffer.compare(deriveSubkey(other, here), mine) === 0).toBe(Buffer.compare(k, other) === 0);
      }),
    );
  });

  it('is HKDF-SHA-256 as RFC 5869 computes it', async () => {
    const salt = Uint8Array.from({ length: 16 }, (_, n) => n);
    const info = Buffer.from('0000000a7365616c706f73742f310000000170' + '0000000174', 'hex');
    const imported = await crypto.subtle.importKey('raw', new Uint8Array(32).fill(7), 'HKDF', false, [
      'deriveBits',
    ]);
    const expected = await crypto.subtle.deriveBits(
      { name: 'HKDF', hash: 'SHA-256', salt, info },
      imported,
      256,
    );
    expect(deriveSubkey(new Uint8Array(32).fill(7), { salt, purpose: 'p', task: 't' })).toEqual(
      new Uint8Array(expected),
    );
  });

  it('needs a salt of at least 16 bytes', () => {
    const short = { salt: new Uint8Array(15), purpose: 'content', task: 't' };
    expect(() => deriveSubkey(new Uint8Array(32), short)).toThrow(RangeError);
  });
});

describe('slices', () => {
  it.each([
    [0, 1],
    [1, 1],
    [SLICE_BYTES, 1],
    [SLICE_BYTES + 1, 2],
    [2 * 1024 * 1024, 6],
  ])('%i bytes are %i slices of at most 350 KB, which join to the same bytes', (size, count) => {
    const value = Uint8Array.from({ length: size }, (_, n) => n % 251);
    const slices = sliceSealed(value);
    expect(slices).toHaveLength(count);
    for (const slice of slices) expect(slice.length).toBeLessThanOrEqual(350 * 1024);
    expect(Buffer.compare(joinSlices(slices), value)).toBe(0);
  });
});
