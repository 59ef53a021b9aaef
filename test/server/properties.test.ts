import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  decodeResponse,
  decodeStreamResponse,
  METHOD_NAMES,
  type Method,
} from '../../shared/protocol/index.ts';
import type { RpcHttpAnswer } from '../../shared/rpc/index.ts';
import { executing, message } from './rig.ts';
import { ask, type Scene, skippingClock, startScene, stream } from './scene.ts';

vi.setConfig({ testTimeout: 90_000 });

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ clients: ['alice'] });
});
afterAll(() => scene[Symbol.asyncDispose]());

/** Nothing of ours: no stack, no path, no table, no class of an error. */
const LEAK =
  /\n\s+at |\.[jt]s:\d|node_modules|test-(state|view|registry)|arn:|[A-Z]\w+(Error|Exception)\b|DynamoDB/;

async function textOf(answer: RpcHttpAnswer): Promise<string> {
  if (typeof answer.body === 'string') return answer.body;
  const pieces = answer.body[Symbol.asyncIterator]();
  const { value } = await pieces.next();
  await pieces.return?.();
  return value ?? '';
}

/** What holds for the answer to any request whatever. */
async function expectDecent(answer: RpcHttpAnswer): Promise<{ result?: unknown; error?: { code: number } }> {
  expect(answer.status).toBeLessThan(500);
  const text = await textOf(answer);
  const body = JSON.parse(text.startsWith('id: ') ? text.split('\ndata: ')[1]! : text);
  expect(body.jsonrpc).toBe('2.0');
  expect('result' in body).not.toBe('error' in body);
  if (body.error) {
    expect(body.error.code).not.toBe(-32603);
    expect(text).not.toMatch(LEAK);
    expect(body.error.data[0]['@type']).toBe('type.googleapis.com/google.rpc.ErrorInfo');
  }
  return body;
}

/** Any JSON, names of internals and halves of characters among it. */
const json = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  fc.constantFrom<unknown>(null, {}, [], '', ' ', 0, -1, 1.5, 1e308, true, '__proto__', '\ud800', [[[]]]),
  fc.dictionary(
    fc.constantFrom('__proto__', 'constructor', 'id', 'kind', 'parts', 'toString'),
    fc.jsonValue(),
  ),
);

const valid: Readonly<Record<string, () => object>> = {
  SendMessage: () => ({
    tenant: 'echo',
    message: message('hi', {
      contextId: 'c',
      extensions: [],
      referenceTaskIds: [],
      metadata: { a: 1 },
      parts: [
        { text: 'a' },
        { data: { b: [1] }, metadata: {} },
        { raw: 'aGk=', mediaType: 'text/plain', filename: 'f' },
      ],
    }),
    configuration: { returnImmediately: true, historyLength: 1, acceptedOutputModes: ['text/plain'] },
    metadata: {},
  }),
  GetTask: () => ({ id: 'x', historyLength: 1, tenant: 'echo' }),
  ListTasks: () => ({
    contextId: 'c',
    status: 'TASK_STATE_WORKING',
    pageSize: 5,
    pageToken: '',
    includeArtifacts: true,
  }),
  CancelTask: () => ({ id: 'x', metadata: {} }),
  SubscribeToTask: () => ({ id: 'x' }),
  CreateTaskPushNotificationConfig: () => ({
    taskId: 'x',
    url: 'https://hook.example',
    authentication: { scheme: 'Bearer' },
  }),
};
const paramsOf = (method: Method) =>
  (valid[method === 'SendStreamingMessage' ? 'SendMessage' : method] ?? (() => ({ taskId: 'x', id: 'y' })))();

type Path = readonly (string | number)[];

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, member]) => pathsOf(member, [...path, name]))];
}

/** The value with what stands at the path replaced (undefined: taken away). */
function replaced(value: unknown, [step, ...rest]: Path, by: unknown): unknown {
  if (step === undefined) return by;
  const copy = structuredClone(value) as Record<string, unknown>;
  copy[step] = replaced(copy[step], rest, by);
  return copy;
}

describe('whatever is sent', () => {
  test('random bytes give no 5xx, no stack and no task', async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.string({ unit: 'binary', maxLength: 300 }).map((text) => Buffer.from(text)),
      fc.json().map((text) => Buffer.from(text)),
      // Right JSON that is cut or has a byte turned over.
      fc.tuple(fc.nat(400), fc.nat(255)).map(([at, byte]) => {
        const body = Buffer.from(
          JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } }),
        );
        if (at < body.length) body[at] = byte;
        return at % 2 ? body : body.subarray(0, at % body.length);
      }),
    );
    await fc.assert(
      fc.asyncProperty(bytes, async (body) => {
        await expectDecent(await scene.gateway.post('alice', body));
      }),
      { numRuns: 250 },
    );
    expect(await scene.dump('state')).toEqual([]);
  });

  test('random JSON as request, id, params and headers gives no 5xx, no stack and no task', async () => {
    const header = fc.option(fc.string({ maxLength: 40 }), { nil: undefined });
    const request = fc.record(
      {
        jsonrpc: fc.oneof(fc.constant('2.0'), json),
        id: json,
        method: fc.oneof(fc.constantFrom(...METHOD_NAMES), json),
        params: json,
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(request, json), header, header, async (body, last, extensions) => {
        const headers = { 'last-event-id': last, 'a2a-extensions': extensions };
        await expectDecent(await scene.gateway.post('alice', JSON.stringify(body), headers));
      }),
      { numRuns: 300 },
    );
    expect(await scene.dump('state')).toEqual([]);
    expect(await scene.dump('view')).toEqual([]);
  });

  test('a right request with any one value replaced or taken away is answered, and stores nothing if refused', async () => {
    const changed = fc.constantFrom(...METHOD_NAMES).chain((method) => {
      const params = paramsOf(method);
      return fc.record({
        method: fc.constant(method),
        path: fc.constantFrom(...pathsOf(params)),
        by: fc.option(json, { nil: undefined, freq: 6 }),
      });
    });
    // A send that lost its returnImmediately blocks, and nothing runs here.
    const waitless = scene.instance({ clock: skippingClock() });
    let refused = 0;
    let served = 0;
    await fc.assert(
      fc.asyncProperty(changed, async ({ method, path, by }) => {
        const params = replaced(paramsOf(method), path, by);
        const transactions = scene.gateway.runQueue.messages.length;
        const answer = await waitless.post(
          'alice',
          JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        );
        const body = await expectDecent(answer);
        if (body.error) {
          refused++;
          expect(scene.gateway.runQueue.messages.length).toBe(transactions);
          return;
        }
        served++;
        const isStream = method === 'SendStreamingMessage' || method === 'SubscribeToTask';
        const decoded = isStream ? decodeStreamResponse(body.result) : decodeResponse(method, body.result);
        expect(decoded).toMatchObject({ ok: true, notices: [] });
      }),
      { numRuns: 300 },
    );
    expect(refused).toBeGreaterThan(20);
    expect(served).toBeGreaterThan(20);
    const heads = (await scene.dump('state')).filter(({ sk }) => sk === 'H');
    expect(new Set(scene.gateway.runQueue.messages.map(({ task }) => `T#${task}`))).toEqual(
      new Set(heads.map(({ pk }) => pk)),
    );
  });

  test('a random credential opens nothing', async () => {
    const token = scene.gateway.token('alice');
    const wrong = fc.oneof(
      fc.string({ maxLength: 300 }),
      fc.string({ maxLength: 60 }).map((text) => `Bearer ${text}`),
      fc
        .tuple(fc.nat(token.length - 1), fc.constantFrom('A', 'b', '_', '-', ' ', 'é'))
        .map(([at, letter]) => {
          const turned = token.slice(0, at) + letter + token.slice(at + 1);
          return `Bearer ${turned === token ? `${token}A` : turned}`;
        }),
      fc.nat(token.length - 1).map((length) => `Bearer ${token.slice(0, length)}`),
    );
    await fc.assert(
      fc.asyncProperty(wrong, async (authorization) => {
        const answer = await ask(scene.gateway, 'alice', 'ListTasks', {}, { authorization });
        expect(answer.status).toBe(401);
        expect(answer.text).not.toMatch(LEAK);
      }),
      { numRuns: 200 },
    );
  });
});

describe('whatever is said', () => {
  test('text of any Unicode, and any JSON, come back as they were, on unary and SSE', async () => {
    await using _executor = executing(scene.gateway);
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 80 }).filter((said) => said.isWellFormed()),
      fc.string({
        unit: fc.constantFrom('\r', '\n', '\u2028', '\u0085', '\0', ':', 'data: ', 'é', '👩‍👧'),
        maxLength: 20,
      }),
    );
    const data = fc.jsonValue({ maxDepth: 4, noUnicodeString: false });
    await fc.assert(
      fc.asyncProperty(text, data, async (said, value) => {
        const parts = JSON.parse(JSON.stringify([{ text: said }, { data: value, metadata: { value } }]));
        const sent = message('', { parts, metadata: { said } });
        const params = { message: sent };
        const { result } = await ask(scene.gateway, 'alice', 'SendMessage', params);
        const { result: got } = await ask(scene.gateway, 'alice', 'GetTask', { id: result.task.id });
        expect(got.artifacts[0].parts).toEqual(parts);
        expect(got.history[0]).toMatchObject({ parts, metadata: { said } });
        const watching = await stream(
          scene.gateway,
          'alice',
          'SubscribeToTask',
          { id: got.id },
          { 'last-event-id': '1.0' },
        );
        const updates = (await watching.rest()).flatMap((event) => event.result.artifactUpdate ?? []);
        expect(updates[0].artifact.parts).toEqual(parts);
      }),
      { numRuns: 30 },
    );
  });
});
