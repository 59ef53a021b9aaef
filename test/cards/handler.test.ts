import { verifyAgentCardSignature } from '@a2a-js/sdk';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CardSeams, createHandler } from '../../functions/card/app.ts';
import type { CardEvent } from '../../functions/card/routes.ts';
import type { Profile, Settings } from '../../shared/registry/index.ts';
import { StoreUnavailable } from '../../shared/storage/index.ts';
import { recordingLog } from '../../shared/telemetry/index.ts';
import { installAwslambda, invokeStreamed, type StreamedAnswer } from './lambda-stream.ts';
import { memorySigner, profileOf, settingsOf } from './samples.ts';

const CARD = '/.well-known/agent-card.json';
const PROFILE_CARD = '/agents/{profile}/.well-known/agent-card.json';
const JWKS = '/.well-known/jwks.json';
const DOMAIN = 'agents.example.org';
const ENVIRONMENT = {
  SEALPOST_STATE_TABLE: 'state',
  SEALPOST_VIEW_TABLE: 'view',
  SEALPOST_OUTBOX_TABLE: 'outbox',
  SEALPOST_DELEGATION_TABLE: 'delegation',
  SEALPOST_REGISTRY_TABLE: 'registry',
};

let uninstall = () => {};
beforeAll(() => {
  uninstall = installAwslambda();
});
afterAll(() => uninstall());

function registryOf(settings: Settings = settingsOf(), profiles: readonly Profile[] = [profileOf()]) {
  return { settings: async () => settings, profiles: async () => profiles };
}

function gatewayWith(seams: CardSeams = {}, variables: Record<string, string> = {}) {
  const log = recordingLog();
  const handler = createHandler({ ...ENVIRONMENT, ...variables }, { registry: registryOf(), log, ...seams });
  return { log, get: (event: CardEvent) => invokeStreamed(handler, event) };
}

/** The event of a GET behind a custom domain. */
function eventOf(resource: string, more: Partial<CardEvent> = {}): CardEvent {
  const path = resource.replace('{profile}', more.pathParameters?.['profile'] ?? '');
  return {
    resource,
    requestContext: { domainName: DOMAIN, path },
    headers: {},
    pathParameters: null,
    ...more,
  };
}

const profileEvent = (profile: string) => eventOf(PROFILE_CARD, { pathParameters: { profile } });
const json = (answer: StreamedAnswer) => JSON.parse(answer.body);

describe('the open card', () => {
  it('is answered as JSON that may be kept for a minute', async () => {
    const answer = await gatewayWith().get(eventOf(CARD));
    expect(answer).toMatchObject({
      statusCode: 200,
      headers: {
        'Content-Type': 'application/json',
        'Cache-Control': 'public, max-age=60',
        ETag: expect.stringMatching(/^W\/".+"$/),
      },
    });
    expect(json(answer)).toMatchObject({ name: 'Example gateway', skills: [{ id: 'translate' }] });
    expect(json(answer)).not.toHaveProperty('signatures');
  });

  it('needs no credential and says nothing else to one who sends a wrong one', async () => {
    const { get } = gatewayWith();
    const plain = await get(eventOf(CARD));
    expect(await get(eventOf(CARD, { headers: { Authorization: 'Bearer wrong' } }))).toEqual(plain);
  });

  it('names the address behind which it was asked for, not the one in a header', async () => {
    const { get } = gatewayWith();
    const headers = { Host: 'evil.example.net', 'X-Forwarded-Host': 'evil.example.net' };
    const staged = { domainName: 'abc.execute-api.eu-west-1.amazonaws.com', path: `/prod${CARD}` };
    expect(json(await get(eventOf(CARD, { headers }))).supportedInterfaces[0].url).toBe(
      `https://${DOMAIN}/rpc`,
    );
    expect(
      json(await get(eventOf(CARD, { headers, requestContext: staged }))).supportedInterfaces[0].url,
    ).toBe('https://abc.execute-api.eu-west-1.amazonaws.com/prod/rpc');
  });

  it('names the configured address where one is set', async () => {
    const { get } = gatewayWith({}, { SEALPOST_PUBLIC_URL: 'http://127.0.0.1:4000' });
    expect(json(await get(eventOf(CARD))).supportedInterfaces[0].url).toBe('http://127.0.0.1:4000/rpc');
  });

  it('says whether push is served', async () => {
    expect(json(await gatewayWith().get(eventOf(CARD))).capabilities.pushNotifications).toBe(true);
  });

  it.each([
    ['its own tag', (etag: string) => ({ 'If-None-Match': etag })],
    ['its own tag in lower case letters of the header', (etag: string) => ({ 'if-none-match': etag })],
    ['its own tag in a list', (etag: string) => ({ 'If-None-Match': `"other", ${etag}` })],
    ['its own tag as a strong one', (etag: string) => ({ 'If-None-Match': etag.slice(2) })],
    ['any tag', () => ({ 'If-None-Match': '*' })],
  ])('is not sent again to one who has %s', async (_, headersFor) => {
    const { get } = gatewayWith();
    const { headers } = await get(eventOf(CARD));
    const again = await get(eventOf(CARD, { headers: headersFor(headers['ETag'] ?? '') }));
    expect(again).toEqual({
      statusCode: 304,
      headers: { 'Cache-Control': 'public, max-age=60', ETag: headers['ETag'] },
      body: '',
    });
  });

  it('looks at every line of a header that was sent twice', async () => {
    const { get } = gatewayWith();
    const etag = (await get(eventOf(CARD))).headers['ETag'] ?? '';
    const multiValueHeaders = { 'If-None-Match': [etag, '"other"'] };
    const event = eventOf(CARD, { headers: { 'If-None-Match': '"other"' }, multiValueHeaders });
    expect((await get(event)).statusCode).toBe(304);
  });

  it('is sent again once it says something else', async () => {
    const etag = (await gatewayWith().get(eventOf(CARD))).headers['ETag'] ?? '';
    const changed = gatewayWith({ registry: registryOf(settingsOf({ streaming: false })) });
    expect((await changed.get(eventOf(CARD, { headers: { 'If-None-Match': etag } }))).statusCode).toBe(200);
  });
});

describe('the card of one profile', () => {
  it('carries the profile as tenant', async () => {
    const answer = await gatewayWith().get(profileEvent('translate'));
    expect(json(answer).supportedInterfaces).toEqual([
      {
        url: `https://${DOMAIN}/rpc`,
        protocolBinding: 'JSONRPC',
        tenant: 'translate',
        protocolVersion: '1.0',
      },
    ]);
  });

  it('is answered alike, as JSON, for every profile that is not open', async () => {
    const profiles = [
      profileOf({ id: 'draft', published: false }),
      profileOf({ id: 'hidden', public: false }),
    ];
    const { get, log } = gatewayWith({ registry: registryOf(settingsOf(), profiles) });
    const names = ['draft', 'hidden', 'unknown', '', 'a/b', '../x', '__proto__', 'x'.repeat(5_000)];
    for (const name of names) {
      expect(await get(profileEvent(name))).toEqual({
        statusCode: 404,
        headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
        body: '{"error":{"code":404,"status":"NOT_FOUND","message":"There is nothing at this address."}}',
      });
    }
    expect(log.lines).toEqual([]);
  });
});

describe('the key set', () => {
  it('holds the key that verifies the card, found by the card itself', async () => {
    const { get } = gatewayWith({ signer: await memorySigner() });
    const card = json(await get(eventOf(CARD)));
    const keySet = json(await get(eventOf(JWKS))) as JSONWebKeySet;
    expect(Object.keys(keySet)).toEqual(['keys']);
    const debug = vi.spyOn(console, 'debug').mockImplementation(() => {});
    const verify = verifyAgentCardSignature(async (kid, jku) => {
      expect(jku).toBe(`https://${DOMAIN}${JWKS}`);
      return createLocalJWKSet(keySet)({ alg: 'ES256', kid }, { payload: '', signature: '' });
    });
    await expect(verify(card)).resolves.toBeUndefined();
    debug.mockRestore();
  });

  it('may be kept for a minute and is not sent twice', async () => {
    const { get } = gatewayWith({ signer: await memorySigner() });
    const { headers, statusCode } = await get(eventOf(JWKS));
    expect({ statusCode, cache: headers['Cache-Control'], type: headers['Content-Type'] }).toEqual({
      statusCode: 200,
      cache: 'public, max-age=60',
      type: 'application/json',
    });
    const again = await get(eventOf(JWKS, { headers: { 'If-None-Match': headers['ETag'] ?? '' } }));
    expect(again.statusCode).toBe(304);
  });

  it('does not exist without a key, and neither do signatures', async () => {
    const { get } = gatewayWith();
    expect((await get(eventOf(JWKS))).statusCode).toBe(404);
    expect(json(await get(profileEvent('translate')))).not.toHaveProperty('signatures');
  });
});

describe('a card that cannot be served', () => {
  const dsn = 'secret-dsn arn:aws:dynamodb:eu-west-1:111122223333:table/registry';
  const failing = (error: unknown) => ({ ...registryOf(), settings: () => Promise.reject(error) });

  it.each([
    { what: 'an outage of the store', error: new StoreUnavailable(dsn), code: 503, status: 'UNAVAILABLE' },
    { what: 'an unforeseen fault', error: new Error(dsn), code: 500, status: 'INTERNAL' },
    { what: 'a fault that is no error', error: dsn, code: 500, status: 'INTERNAL' },
    { what: 'a fault that is nothing', error: undefined, code: 500, status: 'INTERNAL' },
  ])('because of $what is answered as JSON without internals', async ({ error, code, status }) => {
    const { get, log } = gatewayWith({ registry: failing(error) });
    const answer = await get(eventOf(CARD));
    expect(answer.statusCode).toBe(code);
    expect(answer.headers).toEqual({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
    expect(json(answer).error).toMatchObject({ code, status });
    expect(answer.body + JSON.stringify(log.lines)).not.toMatch(/secret|arn:/);
    // The caller's text and the log line are found by each other.
    expect(answer.body).toContain(String(log.lines[0]?.fields['correlation']));
  });

  it('because its key is out of reach is not sent unsigned', async () => {
    const signer = await memorySigner();
    signer.failing = true;
    const { get } = gatewayWith({ signer });
    expect((await get(eventOf(CARD))).statusCode).toBe(503);
    signer.failing = false;
    expect(json(await get(eventOf(CARD)))).toHaveProperty('signatures');
  });

  it('because it is incomplete tells the operator the field', async () => {
    const { get, log } = gatewayWith({ registry: registryOf(settingsOf({ gatewayName: '' })) });
    expect((await get(eventOf(CARD))).statusCode).toBe(500);
    expect(log.lines[0]?.fields).toMatchObject({ error: 'IncompleteCard', field: 'name' });
  });

  it('is a route that it does not know', async () => {
    expect((await gatewayWith().get(eventOf('/elsewhere'))).statusCode).toBe(404);
  });
});

describe('the function', () => {
  it('is built from its environment alone', () => {
    expect(createHandler({ ...ENVIRONMENT, SEALPOST_CARD_KEY: 'alias/cards' })).toBeTypeOf('function');
  });

  it('refuses to start without its tables, and names what is missing', () => {
    expect(() => createHandler({})).toThrow('SEALPOST_REGISTRY_TABLE');
  });
});
