import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CompactSign, importPKCS8 } from 'jose';
import { describe, expect, it } from 'vitest';
import { canonicalCard } from '../../shared/cards/canonical.ts';
import { gatewayCard, signCard } from '../../shared/cards/index.ts';
import { fetchAgentCard, type PinnedKey } from '../../shared/client/index.ts';
import { encodeAgentCard, type JsonObject } from '../../shared/protocol/index.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { inputOf, memorySigner, profileOf } from '../cards/samples.ts';
import { json, loopbackGuard, POLICY, startAgent } from './fake-agent.ts';

const KEY_SET = 'https://agents.example.org/.well-known/jwks.json';
const card = gatewayCard(
  inputOf({ profiles: [profileOf({ tags: [], description: 'Übersetzt 漢字 😀 \u2028' })] }),
);

async function fetched(served: unknown, pinnedKey?: PinnedKey) {
  await using agent = await startAgent(json(200, () => served));
  const options = { guard: loopbackGuard, policy: POLICY, clock: systemClock, url: agent.url };
  const outcome = await fetchAgentCard({ ...options, ...(pinnedKey && { pinnedKey }) });
  expect(agent.seen).toHaveLength(1);
  return outcome;
}

async function signed() {
  const signer = await memorySigner();
  const json = encodeAgentCard(await signCard(card, signer, KEY_SET));
  return { json, key: await signer.publicKey() };
}

/** A signature as another agent's own code makes it. */
async function signedBy(
  privateKey: KeyObject,
  payload: string,
  header: Record<string, unknown>,
): Promise<JsonObject> {
  const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const jws = await new CompactSign(Buffer.from(payload))
    .setProtectedHeader({ alg: 'ES256', ...header })
    .sign(await importPKCS8(pem, 'ES256'), { crit: { x: true } });
  const [head = '', , signature = ''] = jws.split('.');
  return { protected: head, signature };
}

function newKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { privateKey, pinned: publicKey.export({ format: 'jwk' }) as PinnedKey };
}

const refused = (why: string) => ({ kind: 'signature-refused', why });

describe('a card of an agent whose key is pinned', () => {
  it('is accepted when that key signed it', async () => {
    const { json, key } = await signed();
    expect(await fetched(json, key)).toMatchObject({ kind: 'card', isVerified: true });
    const { kty, crv, x, y } = key;
    expect(await fetched(json, { kty, crv, x, y, kid: 'renamed' })).toMatchObject({
      kind: 'card',
      isVerified: true,
    });
  });

  it.each([0, 1])('is accepted with signature %i of the two that a gateway makes', async (index) => {
    const { json, key } = await signed();
    const signatures = [(json['signatures'] as JsonObject[])[index]!];
    expect(await fetched({ ...json, signatures }, key)).toMatchObject({ kind: 'card', isVerified: true });
  });

  it('is accepted when it is served with defaults spelled out, or with fields of a newer version that were signed', async () => {
    const { json, key } = await signed();
    const interfaces = (json['supportedInterfaces'] as JsonObject[]).map((entry) => ({
      tenant: '',
      ...entry,
    }));
    const signaturesAlone = (json['signatures'] as JsonObject[]).map((signature) => [signature]);
    for (const signatures of signaturesAlone) {
      const served = { ...json, supportedInterfaces: interfaces, signatures };
      expect(await fetched(served, key)).toMatchObject({ kind: 'card', isVerified: true });
    }
    const { privateKey, pinned } = newKey();
    const newer = { ...encodeAgentCard(card), telepathy: { range: 7 } };
    const signatures = [await signedBy(privateKey, canonicalCard(newer), { kid: 'k' })];
    expect(await fetched({ ...newer, signatures }, pinned)).toMatchObject({ kind: 'card', isVerified: true });
  });

  it.each<readonly [string, (json: JsonObject) => JsonObject]>([
    ['its name', (json) => ({ ...json, name: 'Another' })],
    [
      'an interface',
      (json) => ({
        ...json,
        supportedInterfaces: [
          { url: 'https://evil.example.net/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        ],
      }),
    ],
    [
      'an interface under its other name',
      ({ supportedInterfaces: _, ...json }) => ({
        ...json,
        supported_interfaces: [
          { url: 'https://evil.example.net/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        ],
      }),
    ],
    [
      'a tenant',
      (json) => ({
        ...json,
        supportedInterfaces: (json['supportedInterfaces'] as JsonObject[]).map((entry) => ({
          ...entry,
          tenant: 'x',
        })),
      }),
    ],
    ['a capability', (json) => ({ ...json, capabilities: {} })],
  ])('is refused when %s was changed after signing', async (_, change) => {
    const { json, key } = await signed();
    expect(await fetched(change(json), key)).toEqual(refused('not-by-pinned-key'));
  });

  it('is refused when another key signed it, though the card names a key set', async () => {
    const { json } = await signed();
    expect(await fetched(json, (await signed()).key)).toEqual(refused('not-by-pinned-key'));
  });

  it('is refused without a signature', async () => {
    expect(await fetched(encodeAgentCard(card), newKey().pinned)).toEqual(refused('unsigned'));
  });

  it('is refused when the signature asks for what is not understood, or is no signature', async () => {
    const { privateKey, pinned } = newKey();
    const json = encodeAgentCard(card);
    const critical = await signedBy(privateKey, canonicalCard(json), { crit: ['x'], x: 1 });
    const none = { protected: Buffer.from('{"alg":"none"}').toString('base64url'), signature: '' };
    const header = Buffer.from('{"alg":"ES384"}').toString('base64url');
    const der = createSign('sha256')
      .update(`${header}.${Buffer.from(canonicalCard(json)).toString('base64url')}`)
      .sign({ key: privateKey, dsaEncoding: 'ieee-p1363' });
    for (const signature of [
      critical,
      none,
      { protected: header, signature: der.toString('base64url') },
      { protected: '!', signature: '?' },
    ]) {
      const kind = signature === none ? 'invalid-card' : 'signature-refused';
      expect(await fetched({ ...json, signatures: [signature] }, pinned)).toMatchObject({ kind });
    }
  });

  it('is refused behind eight signatures that do not hold, so that none can keep us busy', async () => {
    const { json, key } = await signed();
    const good = json['signatures'] as JsonObject[];
    const bad = { protected: good[0]!['protected']!, signature: 'AAAA' };
    expect(await fetched({ ...json, signatures: [...Array(7).fill(bad), ...good] }, key)).toMatchObject({
      kind: 'card',
    });
    expect(await fetched({ ...json, signatures: [...Array(8).fill(bad), ...good] }, key)).toEqual(
      refused('not-by-pinned-key'),
    );
  });

  it('is refused when the pin is no key', async () => {
    const { json } = await signed();
    expect(await fetched(json, { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' })).toEqual(
      refused('unusable-key'),
    );
  });

  it('is refused, and nothing breaks, when it nests beyond any stack', async () => {
    const { json, key } = await signed();
    await using agent = await startAgent((response) => {
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
      response.end(JSON.stringify({ ...json, name: 'x' }).replace('{', `{"deep":${deep},`));
    });
    const options = { guard: loopbackGuard, policy: POLICY, clock: systemClock, url: agent.url };
    expect(await fetchAgentCard({ ...options, pinnedKey: key })).toEqual(refused('not-by-pinned-key'));
  });
});

it('without a pinned key a signature is not looked at', async () => {
  const { json } = await signed();
  expect(await fetched({ ...json, name: 'Changed' })).toMatchObject({ kind: 'card', isVerified: false });
});
