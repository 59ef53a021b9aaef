import { beforeEach, describe, expect, it } from 'vitest';
import { createHandler } from '../../functions/admin/app.ts';
import type { AdminEvent } from '../../functions/admin/routes.ts';
import { recordingLog } from '../../shared/telemetry/index.ts';
import { testClock, testRandom } from '../registry/fixed-surroundings.ts';
import { createMemoryStore, type MemoryStore } from '../registry/memory-store.ts';
import { ADA } from './installation.ts';

const names = ['STATE', 'VIEW', 'OUTBOX', 'DELEGATION', 'REGISTRY'].map((table) => [
  `SEALPOST_${table}_TABLE`,
  table,
]);
const environment = Object.fromEntries(names) as Record<string, string>;
const keyService = {
  generate: async () => ({ plaintext: new Uint8Array(32).fill(7), wrapped: new Uint8Array([1, 2, 3]) }),
  unwrap: async () => new Uint8Array(32).fill(7),
};

let store: MemoryStore;
let log: ReturnType<typeof recordingLog>;
let handler: ReturnType<typeof createHandler>;

beforeEach(() => {
  store = createMemoryStore();
  log = recordingLog();
  handler = createHandler(environment, {
    store,
    log,
    keyService,
    clock: testClock(),
    random: testRandom(),
    runQueue: { send: async () => {} },
  });
});

const event = (body: string | null, change: Partial<AdminEvent> = {}): AdminEvent => ({
  body,
  isBase64Encoded: false,
  requestContext: { requestId: 'request-1', identity: { userArn: ADA } },
  ...change,
});
const context = {} as Parameters<typeof handler>[1];
const send = async (body: unknown, change: Partial<AdminEvent> = {}) => {
  const answer = await handler(
    event(typeof body === 'string' ? body : JSON.stringify(body), change),
    context,
  );
  expect(answer.headers).toEqual({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  return {
    status: answer.statusCode,
    body: JSON.parse(answer.body) as Record<string, unknown>,
    text: answer.body,
  };
};
const openai = {
  id: 'm',
  kind: 'openai',
  baseUrl: 'https://models.example.com',
  model: 'm',
  apiKey: 'sk-live-0123',
};

describe('the administrator’s route', () => {
  it('carries out a command and answers its result, with the IAM caller as the actor of the audit', async () => {
    const answer = await send({ operation: 'provider.put', arguments: { provider: openai } });
    expect(answer).toMatchObject({
      status: 200,
      body: { ok: true, result: { provider: { id: 'm', apiKey: '***' } } },
    });
    const audit = store.items().find((item) => item.pk.startsWith('audit#'));
    expect(audit).toMatchObject({ actor: ADA, operation: 'provider.put' });
  });

  it('takes a command without arguments, and a body in base64', async () => {
    const body = Buffer.from('{"operation":"client.list"}').toString('base64');
    expect(await send(body, { isBase64Encoded: true })).toMatchObject({
      status: 200,
      body: { ok: true, result: { clients: [] } },
    });
  });

  it.each([
    ['an unknown operation', { operation: 'client.drop' }, 400, 'UNKNOWN_OPERATION', 'operation'],
    ['a wrong field', { operation: 'client.add', arguments: { name: 7 } }, 400, 'INVALID', 'name'],
    ['an unknown client', { operation: 'client.disable', arguments: { id: 'gone' } }, 404, 'NOT_FOUND', 'id'],
    [
      'a lost race',
      { operation: 'provider.put', arguments: { provider: openai, ifEdition: 4 } },
      409,
      'CONFLICT',
      undefined,
    ],
    [
      'no key to keep',
      { operation: 'provider.put', arguments: { provider: { ...openai, apiKey: '***' } } },
      422,
      'REFUSED',
      'apiKey',
    ],
    ['no operation', {}, 400, 'INVALID', 'operation'],
    ['a list', [], 400, 'INVALID', undefined],
    ['another member', { operation: 'client.list', actor: 'me' }, 400, 'INVALID', 'actor'],
    ['no JSON', '{"operation":"client.add","arguments":{"apiKey":"sk-live-0123"', 400, 'INVALID', undefined],
    ['nothing', '', 400, 'INVALID', undefined],
  ])('answers %s with a status, a code and the field', async (_what, body, status, code, field) => {
    const answer = await send(body);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({
      ok: false,
      error: { code, message: expect.any(String), ...(field && { field }) },
    });
    expect(answer.text).not.toContain('sk-live');
  });

  it.each([null, ''])('does nothing for who is not authenticated (%j)', async (userArn) => {
    const answer = await send(
      { operation: 'client.add', arguments: { name: 'A' } },
      { requestContext: { requestId: 'r', identity: { userArn } } },
    );
    expect(answer).toMatchObject({ status: 403, body: { ok: false, error: { code: 'UNAUTHENTICATED' } } });
    expect(store.items()).toEqual([]);
  });

  it('answers a fault without its text, which goes neither to the caller nor to the log', async () => {
    store.transact = async () => {
      throw new TypeError('sk-live-0123 is broken');
    };
    const answer = await send({ operation: 'provider.put', arguments: { provider: openai } });
    expect(answer).toMatchObject({ status: 500, body: { ok: false, error: { code: 'INTERNAL' } } });
    expect(answer.text).toContain('request-1');
    expect(log.lines).toMatchObject([
      { level: 'error', fields: { request: 'request-1', error: 'TypeError' } },
    ]);
    expect(answer.text + JSON.stringify(log.lines)).not.toContain('sk-live');
  });

  it('cannot be built without its tables or its key', () => {
    expect(() => createHandler({})).toThrow('SEALPOST_REGISTRY_TABLE');
    expect(() => createHandler(environment)).toThrow('SEALPOST_DATA_KEY');
  });
});
