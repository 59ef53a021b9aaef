import { createSign, generateKeyPairSync, verify } from 'node:crypto';
import { verifyAgentCardSignature } from '@a2a-js/sdk';
import fc from 'fast-check';
import { decodeProtectedHeader, type FlattenedJWS, flattenedVerify, importJWK } from 'jose';
import { describe, expect, it, vi } from 'vitest';
import { canonicalCard, collapsedCard } from '../../shared/cards/canonical.ts';
import { derToRaw, MalformedSignature } from '../../shared/cards/ecdsa.ts';
import { type CardSigner, gatewayCard, signCard } from '../../shared/cards/index.ts';
import { type AgentCard, encodeAgentCard, type JsonObject } from '../../shared/protocol/index.ts';
import { inputOf, memorySigner, profileOf } from './samples.ts';

const KEY_SET = 'https://agents.example.org/.well-known/jwks.json';

/** A card of which the two canonical forms differ in REQUIRED fields too, with text beyond ASCII. */
const card = gatewayCard(
  inputOf({ profiles: [profileOf({ tags: [], description: 'Übersetzt <alles> 漢字 😀 \u2028' })] }),
);

async function served(content: AgentCard, signer: CardSigner): Promise<JsonObject> {
  return JSON.parse(JSON.stringify(encodeAgentCard(await signCard(content, signer, KEY_SET))));
}

function signaturesOf(json: JsonObject): { protected: string; signature: string }[] {
  return json['signatures'] as { protected: string; signature: string }[];
}

async function verifies(json: JsonObject, payload: string, signer: CardSigner): Promise<boolean[]> {
  const key = await importJWK({ ...(await signer.publicKey()) });
  return Promise.all(
    signaturesOf(json).map(async (entry) => {
      const jws: FlattenedJWS = { ...entry, payload: Buffer.from(payload).toString('base64url') };
      return flattenedVerify(jws, key, { algorithms: ['ES256'] }).then(
        () => true,
        () => false,
      );
    }),
  );
}

async function stockVerify(json: JsonObject, signer: CardSigner): Promise<void> {
  const debug = vi.spyOn(console, 'debug').mockImplementation(() => {});
  try {
    const verifyStock = verifyAgentCardSignature(async (kid, jku) => {
      const key = { ...(await signer.publicKey()) };
      if (kid !== key.kid || jku !== KEY_SET) throw new Error('another key was asked for');
      return key;
    });
    await verifyStock(json as unknown as Parameters<typeof verifyStock>[0]);
  } finally {
    debug.mockRestore();
  }
}

describe('a signed card', () => {
  it('verifies over its canonical form, the payload being detached', async () => {
    const signer = await memorySigner();
    const json = await served(card, signer);
    expect(await verifies(json, canonicalCard(json), signer)).toEqual([true, false]);
    for (const entry of signaturesOf(json)) expect(Object.keys(entry)).toEqual(['protected', 'signature']);
  });

  it('verifies with a stock client', async () => {
    const signer = await memorySigner();
    await expect(stockVerify(await served(card, signer), signer)).resolves.toBeUndefined();
  });

  it('names algorithm, type, key and key set in each protected header', async () => {
    const signer = await memorySigner();
    const { kid } = await signer.publicKey();
    for (const entry of signaturesOf(await served(card, signer))) {
      expect(decodeProtectedHeader(entry)).toEqual({ alg: 'ES256', typ: 'JOSE', kid, jku: KEY_SET });
      expect(Buffer.from(entry.signature, 'base64url')).toHaveLength(64);
    }
  });

  it.each([
    ['the name', (json: JsonObject) => Object.assign(json, { name: 'Another' })],
    ['the URL', (json: JsonObject) => Object.assign(json, { supportedInterfaces: [] })],
    ['a capability', (json: JsonObject) => Object.assign(json, { capabilities: { streaming: false } })],
  ])('does not verify once %s was changed', async (_, change) => {
    const signer = await memorySigner();
    const json = change(await served(card, signer));
    expect(await verifies(json, canonicalCard(json), signer)).toEqual([false, false]);
    await expect(stockVerify(json, signer)).rejects.toThrow('No valid signatures');
  });

  it('does not verify with another key', async () => {
    const json = await served(card, await memorySigner());
    expect(await verifies(json, canonicalCard(json), await memorySigner())).toEqual([false, false]);
  });

  it('replaces signatures that it brought along', async () => {
    const signer = await memorySigner();
    const again = await signCard(await signCard(card, await memorySigner(), KEY_SET), signer, KEY_SET);
    expect(again.signatures).toHaveLength(2);
    expect(await verifies(encodeAgentCard(again), canonicalCard(encodeAgentCard(card)), signer)).toContain(
      true,
    );
  });

  it('has one signature when both canonical forms are the same', async () => {
    const { securityRequirements: _, ...plain } = gatewayCard(inputOf());
    const signer = await memorySigner();
    const json = await served(plain, signer);
    expect(await verifies(json, canonicalCard(json), signer)).toEqual([true]);
  });
});

describe('the canonical form of a card', () => {
  it('keeps REQUIRED and set optional fields, sorts names and leaves the signatures out', () => {
    const json: JsonObject = {
      name: 'Example Agent',
      description: '',
      capabilities: { streaming: false, pushNotifications: false },
      skills: [],
      signatures: [{ protected: 'x', signature: 'y' }],
    };
    expect(canonicalCard(json)).toBe(
      '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}',
    );
    expect(collapsedCard(json)).toBe(
      '{"capabilities":{"pushNotifications":false,"streaming":false},"name":"Example Agent"}',
    );
  });
});

describe('the conversion of a signature from DER', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  it('gives what a verifier of the raw form accepts, whatever the integers look like', () => {
    // Of 400 signatures some have integers shorter than 32 bytes and most have one with a leading zero byte.
    for (let round = 0; round < 400; round += 1) {
      const message = Buffer.from(`message ${round}`);
      const raw = derToRaw(createSign('sha256').update(message).sign(privateKey));
      expect(verify('sha256', message, { key: publicKey, dsaEncoding: 'ieee-p1363' }, raw)).toBe(true);
    }
  });

  it('is exact for every pair of integers', () => {
    const half = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(half, half, fc.nat(31), (r, s, zeros) => {
        const raw = Uint8Array.from([...r.fill(0, 0, zeros), ...s]);
        expect(derToRaw(derOf(raw))).toEqual(raw);
      }),
    );
  });

  it('refuses what is not such a signature', () => {
    const der = createSign('sha256').update('x').sign(privateKey);
    const wrong = [
      new Uint8Array(),
      der.subarray(0, der.length - 1),
      Buffer.concat([der, Buffer.from([0])]),
      Buffer.from([0x30, 0x02, 0x02, 0x00]),
      Buffer.from([0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x02, 0x01]),
      Buffer.from([0x30, 0x07, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01, 0x00]),
      Buffer.from([0x31, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01]),
      Buffer.from([0x30, 0x26, 0x02, 0x21, ...new Array(33).fill(1), 0x02, 0x01, 0x01]),
    ];
    for (const bytes of wrong) expect(() => derToRaw(bytes)).toThrow(MalformedSignature);
  });
});

/** The reverse of `derToRaw`, written from X.690 for the tests. */
function derOf(raw: Uint8Array): Buffer {
  const integer = (bytes: Uint8Array) => {
    const first = bytes.findIndex((byte) => byte !== 0);
    const short = first === -1 ? [0] : [...bytes.subarray(first)];
    const digits = (short[0] ?? 0) > 127 ? [0, ...short] : short;
    return [0x02, digits.length, ...digits];
  };
  const body = [...integer(raw.subarray(0, 32)), ...integer(raw.subarray(32))];
  return Buffer.from([0x30, body.length, ...body]);
}
