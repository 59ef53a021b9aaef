import { beforeEach, expect, it, vi } from 'vitest';

const compared = vi.hoisted(() => [] as (readonly [Buffer, Buffer])[]);
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>();
  const timingSafeEqual: typeof crypto.timingSafeEqual = (a, b) => {
    compared.push([Buffer.from(a as Buffer), Buffer.from(b as Buffer)]);
    return crypto.timingSafeEqual(a, b);
  };
  return { ...crypto, timingSafeEqual };
});

const { acceptCallback } = await import('../../shared/delegation/callback.ts');
const { registrationItem } = await import('../../shared/delegation/formats.ts');
const { hashCredential } = await import('../../shared/delegation/suspend.ts');

const ID = 'r'.repeat(24);
const CREDENTIAL = 'c'.repeat(43);
const registration = {
  id: ID,
  task: 't',
  dependency: '0001.0000',
  hash: hashCredential(CREDENTIAL),
  state: 'ended',
  signals: 0,
} as const;
/** Knows one registration; nothing is written to one that ended. */
const services = {
  store: { get: async (_: string, { pk }: { pk: string }) => knows(pk) },
} as unknown as Parameters<typeof acceptCallback>[0];
const knows = (pk: string) => (pk === `R#${ID}` ? registrationItem(registration) : undefined);

beforeEach(() => {
  compared.length = 0;
});

it.each([
  ['the right credential', ID, `Bearer ${CREDENTIAL}`, 200],
  ['a wrong one of the same length', ID, `Bearer ${'d'.repeat(43)}`, 401],
  ['a short one', ID, 'Bearer d', 401],
  ['one that begins as the right one', ID, `Bearer ${CREDENTIAL.slice(0, 42)}`, 401],
  ['a long one', ID, `Bearer ${'d'.repeat(5_000)}`, 401],
  ['none', ID, undefined, 401],
  ['the right one for an unknown registration', 'u'.repeat(24), `Bearer ${CREDENTIAL}`, 401],
  ['the right one for what can be no registration', 'u', `Bearer ${CREDENTIAL}`, 401],
])('%s is compared once, in constant time, hash with hash', async (_, id, authorization, status) => {
  expect((await acceptCallback(services, id, authorization, Buffer.from('{}'))).status).toBe(status);
  expect(compared).toHaveLength(1);
  const [presented, expected] = compared[0]!;
  // Of equal length whatever was sent and whatever is there, so neither the length nor the lack of one shows.
  expect([presented.length, expected.length]).toEqual([43, 43]);
  expect(presented.toString()).not.toContain(CREDENTIAL.slice(0, 20));
  expect(presented.equals(expected)).toBe(status === 200);
});
