import * as crypto from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { authenticate, type Client, hashSecret, mintToken } from '../../shared/registry/index.ts';

vi.mock('node:crypto', async (original) => {
  const real = await original<typeof crypto>();
  return { ...real, timingSafeEqual: vi.fn(real.timingSafeEqual) };
});
const comparisons = vi.mocked(crypto.timingSafeEqual);

const random = { bytes: (length: number) => new Uint8Array(crypto.randomBytes(length)) };
const first = mintToken('acme1', random);
const second = mintToken('acme1', random);
const client = (change: Partial<Client> = {}): Client => ({
  id: 'acme1',
  name: 'Acme',
  disabled: false,
  tokens: [{ hash: first.hash, createdAt: 1 }],
  profiles: ['*'],
  createdAt: 1,
  ...change,
});
const lookup = (known: Client) => async (id: string) => (id === known.id ? known : undefined);

beforeEach(() => {
  comparisons.mockClear();
});

describe('a token', () => {
  it('names its client, carries 256 random bits and is kept as a hash only', () => {
    expect(first.token).toMatch(/^sp_acme1_[A-Za-z0-9_-]{43}$/);
    expect(first.token).not.toBe(second.token);
    expect(first.hash).toBe(hashSecret(first.token.slice('sp_acme1_'.length)));
    expect(first.token).not.toContain(first.hash);
  });

  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('is accepted under the scheme %s', async (scheme) => {
    const known = client();
    expect(await authenticate(`${scheme} ${first.token}`, lookup(known))).toEqual({
      kind: 'client',
      client: known,
    });
  });

  it('is one of two while a client changes over, and each of them is accepted', async () => {
    const both = client({ tokens: [first, second].map(({ hash }) => ({ hash, createdAt: 1 })) });
    for (const { token } of [first, second])
      expect((await authenticate(`Bearer ${token}`, lookup(both))).kind).toBe('client');
    const dropped = client({ tokens: [{ hash: second.hash, createdAt: 1 }] });
    expect((await authenticate(`Bearer ${first.token}`, lookup(dropped))).kind).toBe('unauthenticated');
  });

  it('fails for a disabled client like any wrong one', async () => {
    const disabled = await authenticate(`Bearer ${first.token}`, lookup(client({ disabled: true })));
    const wrong = await authenticate(`Bearer ${second.token}`, lookup(client()));
    expect(disabled).toEqual({ kind: 'unauthenticated' });
    expect(wrong).toEqual(disabled);
  });

  it.each([
    ['an unknown client', `Bearer ${mintToken('nobody', random).token}`, client()],
    ['a wrong secret', `Bearer ${second.token}`, client()],
    ['the right secret', `Bearer ${first.token}`, client()],
    ['a disabled client', `Bearer ${first.token}`, client({ disabled: true })],
    ['a client without a token', `Bearer ${first.token}`, client({ tokens: [] })],
    [
      'a client with two',
      `Bearer ${first.token}`,
      client({ tokens: [first, second].map(({ hash }) => ({ hash, createdAt: 1 })) }),
    ],
  ])('takes two comparisons in constant time for %s', async (_name, header, known) => {
    await authenticate(header, lookup(known));
    expect(comparisons).toHaveBeenCalledTimes(2);
    for (const [left, right] of comparisons.mock.calls) expect(left.byteLength).toBe(right.byteLength);
  });

  const secret = first.token.slice('sp_acme1_'.length);
  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['the scheme alone', 'Bearer'],
    ['no scheme', first.token],
    ['another scheme', `Basic ${first.token}`],
    ['a token of another kind', 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.x'],
    ['a prefix of other case', `Bearer SP_acme1_${secret}`],
    ['an id of other case', `Bearer sp_ACME1_${secret}`],
    ['an id that is too short', `Bearer sp_ac_${secret}`],
    ['an id that would leave its partition', `Bearer sp_acme1#x_${secret}`],
    ['a secret that is too short', `Bearer sp_acme1_${secret.slice(1)}`],
    ['a secret that is too long', `Bearer sp_acme1_${secret}x`],
    ['two tokens', `Bearer ${first.token} ${first.token}`],
    ['two headers in one', `Bearer ${first.token}, Bearer ${first.token}`],
    ['a megabyte', `Bearer ${'x'.repeat(1_000_000)}`],
  ])('is refused without a look-up: %s', async (_name, header) => {
    const asked = vi.fn(lookup(client()));
    expect(await authenticate(header, asked)).toEqual({ kind: 'unauthenticated' });
    expect(asked).not.toHaveBeenCalled();
  });

  it('is refused when what is stored is no hash at all', async () => {
    const broken = client({ tokens: [{ hash: 'short', createdAt: 1 }] });
    expect((await authenticate(`Bearer ${first.token}`, lookup(broken))).kind).toBe('unauthenticated');
  });
});
