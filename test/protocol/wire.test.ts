import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  decodeAgentCard,
  decodeParams,
  decodeResponse,
  decodeStreamResponse,
  encodeParams,
  isMethod,
  isStreaming,
  type Method,
  negotiateVersion,
  parseAnswer,
  parseRequest,
} from '../../shared/protocol/index.ts';

interface Exchange {
  case?: string;
  request: { method: string; path: string; headers?: Record<string, string>; body: unknown };
  response: { status: number; body?: unknown; sse?: { data: unknown }[] };
}

interface Recording {
  exchanges: Exchange[];
  webhookRequests?: { body: unknown }[];
}

const FOLDER = new URL('../../fixtures/wire/', import.meta.url);

function readRecording(file: string): Recording {
  return JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Recording;
}

const exchanges = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.json'))
  .sort()
  .flatMap((file) =>
    readRecording(file).exchanges.map((exchange, n) => ({
      id: `${file.slice(0, 3)} ${exchange.case ?? n}`,
      exchange,
    })),
  );

interface Call {
  id: string;
  method: Method;
  params: unknown;
  rpcId: number;
  response: Exchange['response'];
}

const calls: Call[] = exchanges.flatMap(({ id, exchange: { request, response } }) => {
  const body = request.body as { method?: string; params?: unknown; id?: number } | null;
  if (typeof body !== 'object' || body === null || !isMethod(body.method ?? '')) return [];
  return [{ id, method: body.method as Method, params: body.params, rpcId: body.id ?? 0, response }];
});

/** Where the recorded server let pass what is refused here, or refused what is served here: field, or undefined. */
const OUR_PARAMS_ANSWER: Record<string, string | undefined> = {
  '20- params array': 'params',
  '22- SendMessage {}': 'message',
  '22- no messageId': 'message.messageId',
  '22- no parts': 'message.parts',
  '22- empty parts': 'message.parts',
  '22- empty part': 'message.parts[0]',
  '22- two oneof members': 'message.parts[0]',
  '22- no role': 'message.role',
  '22- role agent': 'message.role',
  '22- bogus role': 'message.role',
  '22- bad base64': 'message.parts[0].raw',
  '22- text number': 'message.parts[0].text',
  '22- message string': 'message',
  '22- negative historyLength': 'configuration.historyLength',
  '22- GetTask {}': 'id',
  '22- GetTask numeric id': 'id',
  '22- ListTasks pageSize 0': 'pageSize',
  '22- ListTasks pageSize 101': 'pageSize',
  '22- ListTasks bad status': 'status',
  '22- ListTasks bad timestamp': 'statusTimestampAfter',
  '22- CreatePush no url': 'url',
  '23- SendStreamingMessage {}': 'message',
};

/** Answers of the recorded server that no reader of 1.0 can take: field of the first fault. */
const UNREADABLE: Record<string, string> = {
  '22- no parts': 'task.history[0].parts',
  '22- empty parts': 'task.history[0].parts',
  '22- empty part': 'task.history[0].parts[0]',
  '22- data null part': 'task.history[0].parts[0]', // it loses `data: null`
};

/** Answers that read, but not without a notice. */
const NOTICED: Record<string, string> = {
  '22- no role': 'unknown-role',
  '22- bogus role': 'unknown-role',
};

describe('recorded traffic of another SDK', () => {
  test('is all here', () => {
    expect(exchanges.length).toBeGreaterThan(80);
    expect(calls.length).toBeGreaterThan(65);
  });

  test.each(calls)('params of "$id" read as decided', ({ id, method, params }) => {
    const decoded = decodeParams(method, params);
    const field = OUR_PARAMS_ANSWER[id];
    if (field === undefined) expect(decoded).toMatchObject({ ok: true, notices: [] });
    else expect(decoded).toMatchObject({ ok: false, error: { violations: [{ field }] } });
  });

  test.each(calls.filter(({ id, params }) => /^0/.test(id) && params !== undefined))(
    'params of "$id" are written again as they were sent',
    ({ method, params }) => {
      const decoded = decodeParams(method, params);
      expect(decoded.ok && encodeParams(method, decoded.value)).toEqual(params);
    },
  );

  // The object that one request had for an id is echoed by the recorded server; no reader has asked with one.
  const readable = calls.filter(({ id }) => id !== '20- object id');

  test.each(readable.flatMap((call) => answersOf(call).map((answer) => ({ ...call, answer }))))(
    'an answer of "$id" reads',
    ({ id, method, rpcId, answer }) => {
      const parsed = parseAnswer(JSON.stringify(answer), rpcId);
      if (!parsed.ok) throw new Error(parsed.error.kind);
      if (parsed.value.kind === 'error') {
        expect(parsed.value.error.code).toBeLessThan(-32000);
        return;
      }
      const decoded = decodeResponse(method, parsed.value.result);
      const field = UNREADABLE[id];
      if (field !== undefined)
        expect(decoded).toMatchObject({ ok: false, error: { violations: [{ field }] } });
      else expect(decoded.ok && decoded.notices.map(({ kind }) => kind)).toEqual([NOTICED[id] ?? []].flat());
    },
  );

  test('holds every deviation that is named here', () => {
    const ids = new Set(calls.map(({ id }) => id));
    const named = [OUR_PARAMS_ANSWER, UNREADABLE, NOTICED].flatMap(Object.keys);
    expect(named.filter((id) => !ids.has(id))).toEqual([]);
  });

  test('ends streams and webhook series with a status of COMPLETED', () => {
    const streams = calls.filter(({ id, method }) => /^0/.test(id) && isStreaming(method));
    const last = streams.flatMap((call) => answersOf(call).slice(-1)) as { result?: unknown }[];
    const bodies = readRecording('10-push-delivery.json').webhookRequests!.map(({ body }) => body);
    const ends = [...last.flatMap(({ result }) => result ?? []), bodies.at(-1)];
    expect(ends).toHaveLength(3);
    for (const end of ends) {
      expect(decodeStreamResponse(end)).toMatchObject({
        value: { kind: 'statusUpdate', statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } },
      });
    }
    for (const body of bodies) expect(decodeStreamResponse(body)).toMatchObject({ ok: true, notices: [] });
  });

  test('holds cards that read, with a security scheme in the SDK’s own shape read as an unknown one', () => {
    const cards = exchanges.filter(({ exchange }) => exchange.request.path.endsWith('agent-card.json'));
    expect(cards).toHaveLength(2);
    const [plain, secured] = cards.map(({ exchange }) => decodeAgentCard(exchange.response.body));
    expect(plain).toMatchObject({
      ok: true,
      value: { name: 'wire', supportedInterfaces: [{ protocolVersion: '1.0' }] },
    });
    expect(secured).toMatchObject({ ok: true, value: { securitySchemes: { bearer: {} } } });
  });
});

describe('where the recorded server’s envelope deviates, ours decides', () => {
  const cases = Object.fromEntries(
    readRecording('20-errors-jsonrpc-envelope.json').exchanges.map((exchange) => [
      exchange.case,
      exchange.request.body,
    ]),
  );
  const bodyOf = (name: string): string => {
    const body = cases[name] as { $raw?: string } | null;
    return body === null ? '' : (body.$raw ?? JSON.stringify(body));
  };

  test.each([
    ['bad JSON', 'parse-error'],
    ['empty body', 'parse-error'],
    ['batch (array)', 'invalid-request'],
    ['empty array', 'invalid-request'],
    ['scalar body', 'invalid-request'],
    ['jsonrpc 1.0', 'invalid-request'],
    ['missing method', 'invalid-request'],
    ['fractional id', 'invalid-request'],
    ['object id', 'invalid-request'],
    ['notification (no id)', 'invalid-request'],
  ])('%s: %s', (name, kind) => {
    expect(parseRequest(bodyOf(name))).toMatchObject({ ok: false, error: { failure: { kind } } });
  });

  test.each(['unknown method', '0.3 method name', 'id null', 'id 0', 'params array', 'params absent'])(
    '%s: a request whose envelope is right',
    (name) => {
      expect(parseRequest(bodyOf(name)).ok).toBe(true);
    },
  );

  test('a patch version and the query parameter are served, the rest is not', () => {
    const served = readRecording('21-errors-version.json').exchanges.filter(({ request }) => {
      const query = new URLSearchParams(request.path.split('?')[1]).get('A2A-Version') ?? undefined;
      return negotiateVersion(request.headers?.['a2a-version'], query).ok;
    });
    expect(served.map((exchange) => exchange.case)).toEqual(['1.0.0 (patch)', 'query parameter']);
  });
});

function answersOf({ response }: Call): unknown[] {
  return response.sse ? response.sse.map(({ data }) => data) : [response.body];
}
