import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  type A2AClient,
  type CallOutcome,
  createA2AClient,
  UnusableClientOptions,
} from '../../shared/client/index.ts';
import { createGuard } from '../../shared/guard/index.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import { createAuthority } from '../guard/certificates.ts';
import { scriptedResolver } from '../guard/receiver.ts';
import {
  clientOf,
  collect,
  error,
  flood,
  json,
  MESSAGE,
  never,
  POLICY,
  type Reply,
  raw,
  result,
  startAgent,
  status,
  stream,
  task,
} from './fake-agent.ts';

const PUSH = { taskId: 't-1', url: 'https://hooks.example.com/a2a' };

/** All eleven, each with the params it needs and an answer that fits. */
const METHODS: ReadonlyArray<readonly [string, (client: A2AClient) => Promise<unknown>, Reply]> = [
  ['SendMessage', (c) => c.sendMessage({ message: MESSAGE }), result({ task: task('TASK_STATE_WORKING') })],
  [
    'SendStreamingMessage',
    (c) => collect(c.sendStreamingMessage({ message: MESSAGE })),
    stream([{ result: status('TASK_STATE_COMPLETED') }]),
  ],
  ['GetTask', (c) => c.getTask({ id: 't-1' }), result(task('TASK_STATE_WORKING'))],
  ['ListTasks', (c) => c.listTasks({}), result({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })],
  ['CancelTask', (c) => c.cancelTask({ id: 't-1' }), result(task('TASK_STATE_CANCELED'))],
  [
    'SubscribeToTask',
    (c) => collect(c.subscribeToTask({ id: 't-1' })),
    stream([{ result: status('TASK_STATE_COMPLETED') }]),
  ],
  ['CreateTaskPushNotificationConfig', (c) => c.createPushConfig(PUSH), result({ ...PUSH, id: 'p-1' })],
  [
    'GetTaskPushNotificationConfig',
    (c) => c.getPushConfig({ taskId: 't-1', id: 'p-1' }),
    result({ ...PUSH, id: 'p-1' }),
  ],
  ['ListTaskPushNotificationConfigs', (c) => c.listPushConfigs({ taskId: 't-1' }), result({ configs: [] })],
  ['DeleteTaskPushNotificationConfig', (c) => c.deletePushConfig({ taskId: 't-1', id: 'p-1' }), result({})],
  [
    'GetExtendedAgentCard',
    (c) => c.getExtendedAgentCard({}),
    result({
      name: 'A',
      capabilities: {},
      supportedInterfaces: [
        { url: 'https://a.example.com/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ],
    }),
  ],
];

function failure(outcome: CallOutcome<unknown>) {
  if (outcome.kind === 'ok') throw new Error('the call succeeded');
  return outcome;
}

describe('every method', () => {
  it.each(METHODS)(
    '%s is a POST that names the version, the method and no tenant where the interface has none (V02, T03)',
    async (name, call, reply) => {
      await using agent = await startAgent(reply);
      const outcome = await call(clientOf(agent));
      expect(JSON.stringify(outcome)).toMatch(/"kind":"(ok|finished)"/);
      expect(agent.seen).toHaveLength(1);
      expect(agent.seen[0]).toMatchObject({
        method: 'POST',
        headers: { 'a2a-version': '1.0', 'content-type': 'application/json', 'accept-encoding': 'identity' },
        rpc: { jsonrpc: '2.0', method: name },
      });
      expect(agent.seen[0]?.rpc.params).not.toHaveProperty('tenant');
    },
  );

  it.each(METHODS)(
    '%s carries the tenant of the chosen interface, whatever the caller says (T03)',
    async (_, call, reply) => {
      await using agent = await startAgent(reply);
      const client = clientOf(agent, { tenant: 'translate' });
      await call(client);
      expect(agent.seen[0]?.rpc.params).toMatchObject({ tenant: 'translate' });
      const params = { id: 't-1', tenant: 'another' };
      await client.getTask(params);
      await clientOf(agent).getTask(params);
      expect(agent.seen.slice(1).map(({ rpc }) => rpc.params?.['tenant'])).toEqual(['translate', undefined]);
    },
  );

  it.each(METHODS)(
    '%s sends the version header also when a header map of the caller would drop or change it (V02)',
    async (_, call, reply) => {
      await using agent = await startAgent(reply);
      const headers = {
        'A2A-VERSION': '0.3',
        'a2a-version': '',
        'A2A-Extensions': 'urn:x',
        'Content-Type': 'text/plain',
      };
      await call(clientOf(agent, { headers }));
      const names = agent.seen[0]?.rawHeaders
        .filter((_, index) => index % 2 === 0)
        .map((name) => name.toLowerCase());
      expect(names?.filter((name) => name === 'a2a-version')).toHaveLength(1);
      expect(agent.seen[0]?.headers).toMatchObject({
        'a2a-version': '1.0',
        'a2a-extensions': 'urn:x',
        'content-type': 'application/json',
      });
    },
  );
});

describe('a credential', () => {
  it.each(['sp_acme_x'.padEnd(60, 'y'), 'a b~!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}', 'Bearer twice', '=='])(
    'arrives byte for byte (T06): %s',
    async (credential) => {
      await using agent = await startAgent(result(task('TASK_STATE_WORKING')));
      await clientOf(agent, { credential, headers: { Authorization: 'Basic eA==' } }).getTask({ id: 't-1' });
      const { rawHeaders } = agent.seen[0]!;
      const values = rawHeaders.filter(
        (_, at) => rawHeaders[at - 1]?.toLowerCase() === 'authorization' && at % 2 === 1,
      );
      expect(values).toEqual([`Bearer ${credential}`]);
    },
  );

  it('is not sent where there is none', async () => {
    await using agent = await startAgent(result(task('TASK_STATE_WORKING')));
    await clientOf(agent, { headers: { authorization: 'Basic eA==' } }).getTask({ id: 't-1' });
    expect(agent.seen[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each(['', ' x', 'x ', 'x\r\ny', 'ü', 'x\0'])(
    'that could not arrive as it is builds no client, and shows in no error: %j',
    (credential) => {
      const build = () => clientOf({ url: 'http://127.0.0.1:1/' }, { credential });
      expect(build).toThrow(UnusableClientOptions);
      expect(build).toThrow('credential: visible ASCII only, and no space at its ends');
    },
  );
});

it.each([
  ['a binding', { protocolBinding: 'GRPC' }],
  ['a version', { protocolVersion: '0.3' }],
  ['a scheme', { url: 'urn:x' }],
])('no client is built for an interface of %s that it does not speak', (_, change) => {
  const target = {
    url: 'https://a.example.com/',
    protocolBinding: 'JSONRPC',
    protocolVersion: '1.0',
    ...change,
  };
  expect(() => clientOf({ url: '' }, { interface: target })).toThrow(UnusableClientOptions);
});

it('headers that may not be sent build no client', () => {
  expect(() => clientOf({ url: 'http://127.0.0.1:1/' }, { headers: { host: 'x' } })).toThrow(
    UnusableClientOptions,
  );
});

describe('a request', () => {
  it('is the same bytes each time that the same message is handed in, and the message stays as it was', async () => {
    await using agent = await startAgent(result({ task: task('TASK_STATE_WORKING') }));
    const request = { message: MESSAGE, configuration: { returnImmediately: true } };
    const before = structuredClone(request);
    await clientOf(agent).sendMessage(request);
    const second = clientOf(agent);
    await second.getTask({ id: 't-1' });
    await second.sendMessage(request);
    expect(agent.seen[2]?.text).toBe(agent.seen[0]?.text);
    expect(agent.seen[0]?.rpc.params).toEqual(before);
    expect(request).toEqual(before);
  });

  it('goes over TLS to a name, through the guard', async () => {
    const authority = await createAuthority();
    await using agent = await startAgent(
      result(task('TASK_STATE_WORKING')),
      await authority.issue(['agent.example.com']),
    );
    const guard = createGuard({
      ownHosts: [],
      ca: [authority.ca],
      resolver: scriptedResolver({ 'agent.example.com': [['127.0.0.1']] }),
      loopbackNames: ['agent.example.com'],
    });
    const client = clientOf(
      { url: `https://agent.example.com:${agent.port}/` },
      { guard, policy: { ...POLICY, allowedPorts: [agent.port] } },
    );
    expect(await client.getTask({ id: 't-1' })).toMatchObject({ kind: 'ok', value: { id: 't-1' } });
  });

  it('is not sent where the guard refuses', async () => {
    await using agent = await startAgent(never());
    const client = clientOf(agent, { guard: createGuard({ ownHosts: [] }) });
    expect(await client.sendMessage({ message: MESSAGE })).toEqual({
      kind: 'transport-error',
      failure: { kind: 'refused', rule: 'scheme' },
      retryable: false,
      mayHaveActed: false,
    });
    expect(agent.seen).toEqual([]);
  });
});

describe('an answer', () => {
  it('with another id is refused, naming both ids (B04)', async () => {
    await using agent = await startAgent(result(task('TASK_STATE_COMPLETED'), { id: 'other' }));
    const client = clientOf(agent);
    expect(await client.getTask({ id: 't-1' })).toEqual({
      kind: 'protocol-error',
      fault: { kind: 'id-mismatch', expected: '1', received: 'other' },
      status: 200,
      mayHaveActed: false,
    });
    expect(await client.sendMessage({ message: MESSAGE })).toMatchObject({
      kind: 'protocol-error',
      fault: { kind: 'id-mismatch', expected: 'm-1', received: 'other' },
      mayHaveActed: true,
    });
  });

  it.each([
    ['a number as a string', '1'],
    ['null', null],
    ['none', undefined],
  ])('with %s for an id is not taken for the answer (B04)', async (_, id) => {
    await using agent = await startAgent(result(task('TASK_STATE_COMPLETED'), { id }));
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({ fault: { kind: 'id-mismatch' } });
  });

  it.each([{}, null])('%j to Delete is a success (B16)', async (value) => {
    await using agent = await startAgent(result(value));
    const outcome = await clientOf(agent).deletePushConfig({ taskId: 't-1', id: 'p-1' });
    expect(outcome).toEqual({ kind: 'ok', value: {}, notices: [] });
  });

  it.each([
    ['a missing result (K08)', '{"jsonrpc":"2.0","id":1}', { kind: 'missing-result' }],
    ['no JSON', '{"jsonrpc":"2.0",', { kind: 'not-json', excerpt: '{"jsonrpc":"2.0",' }],
    ['an empty body', '', { kind: 'not-json', excerpt: '' }],
    ['no envelope', '[{"jsonrpc":"2.0","id":1,"result":{}}]', { kind: 'not-json-rpc' }],
    ['a page of HTML', '<html>\n<b>hi</b>', { kind: 'not-json', excerpt: '<html> <b>hi</b>' }],
    [
      'a task without id',
      '{"jsonrpc":"2.0","id":1,"result":{"status":{"state":3}}}',
      { kind: 'wrong-shape', violations: [{ field: 'id', description: 'is required' }] },
    ],
    ['null for a task', '{"jsonrpc":"2.0","id":1,"result":null}', { kind: 'wrong-shape' }],
    [
      'another task',
      '{"jsonrpc":"2.0","id":1,"result":{"id":"t-2","status":{"state":3}}}',
      { kind: 'task-mismatch', expected: 't-1', received: 't-2' },
    ],
  ])('with %s is a protocol error', async (_, body, fault) => {
    await using agent = await startAgent(raw(200, body, { 'content-type': 'application/json' }));
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({
      kind: 'protocol-error',
      status: 200,
      fault,
    });
  });

  it.each(['application/json; charset=utf-8', 'application/a2a+json;v=1', 'text/plain', ''])(
    'is read whatever its content type says: %j (D05)',
    async (type) => {
      await using agent = await startAgent(
        json(200, (seen) => ({ jsonrpc: '2.0', id: seen.rpc.id, result: task('TASK_STATE_WORKING') }), {
          'content-type': type,
        }),
      );
      expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({ kind: 'ok' });
    },
  );

  it('may have fields that nobody knows, anywhere (E01)', async () => {
    const part = { text: 'x', foo: 1 };
    await using agent = await startAgent(
      result(
        task('TASK_STATE_COMPLETED', {
          foo: 1,
          status: {
            state: 'TASK_STATE_COMPLETED',
            progressHint: 0.5,
            message: { messageId: 'a', role: 'ROLE_AGENT', parts: [part], foo: {} },
          },
          artifacts: [{ artifactId: 'r', parts: [part], foo: [] }],
        }),
        { meta: true },
      ),
    );
    const outcome = await clientOf(agent).getTask({ id: 't-1' });
    expect(outcome).toMatchObject({
      kind: 'ok',
      notices: [],
      value: { artifacts: [{ parts: [{ text: 'x' }] }] },
    });
    expect(JSON.stringify(outcome)).not.toMatch(/foo|progressHint/);
  });

  it('with an unknown state is typed as such, and no end (E03)', async () => {
    await using agent = await startAgent(result(task('TASK_STATE_PAUSED')));
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({
      kind: 'ok',
      value: { status: { state: 'TASK_STATE_UNKNOWN', unknownState: 'TASK_STATE_PAUSED' } },
      notices: [{ kind: 'unknown-state', name: 'TASK_STATE_PAUSED' }],
    });
  });
});

describe('an error', () => {
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'TASK_NOT_FOUND',
    domain: 'a2a-protocol.org',
  };

  it.each([200, 400, 401, 404, 500])(
    'in a JSON-RPC body is typed with HTTP status %i too (K07)',
    async (code) => {
      await using agent = await startAgent(error(-32001, { data: [info] }, code));
      expect(await clientOf(agent).getTask({ id: 't-1' })).toEqual({
        kind: 'remote-error',
        code: -32001,
        reason: 'TASK_NOT_FOUND',
        message: 'no',
        data: [info],
        status: code,
        retryable: code === 500,
      });
    },
  );

  it('keeps neither a long message nor long data', async () => {
    await using agent = await startAgent(
      error(-32001, { message: 'x'.repeat(10_000), data: ['y'.repeat(20_000)] }),
    );
    const outcome = failure(await clientOf(agent).getTask({ id: 't-1' }));
    expect(outcome).not.toHaveProperty('data');
    expect(outcome).toMatchObject({ kind: 'remote-error', message: 'x'.repeat(500) });
  });

  it.each([-32601, -32003, -32004])('%i of a method is "not supported" (L12)', async (code) => {
    await using agent = await startAgent(error(code));
    expect(await clientOf(agent).listTasks({})).toEqual({
      kind: 'unsupported',
      code,
      message: 'no',
      status: 200,
      retryable: false,
    });
  });

  it('with id null answers a request that the peer could not read', async () => {
    await using agent = await startAgent(
      json(400, () => ({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'x' } })),
    );
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({
      kind: 'remote-error',
      code: -32700,
    });
  });

  it('says when the peer wants to be asked again, an hour away at most', async () => {
    const busy = (after: string) =>
      json(429, (seen) => ({ jsonrpc: '2.0', id: seen.rpc.id, error: { code: -32092, message: '' } }), {
        'retry-after': after,
      });
    await using agent = await startAgent([
      busy('7'),
      busy('999999999'),
      busy('soon'),
      busy(new Date(Date.now() + 60_000).toUTCString()),
    ]);
    const client = clientOf(agent);
    const waits = [];
    for (let call = 0; call < 4; call++) waits.push(failure(await client.getTask({ id: 't-1' })));
    expect(waits).toMatchObject([
      { retryable: true, retryAfterMs: 7000 },
      { retryAfterMs: 3_600_000 },
      {},
      {},
    ]);
    expect(waits[2]).not.toHaveProperty('retryAfterMs');
    expect((waits[3] as { retryAfterMs: number }).retryAfterMs).toSatisfy(
      (ms: number) => ms > 50_000 && ms <= 60_000,
    );
  });

  it('as one event of a stream answers a call that is not streamed too (S03)', async () => {
    await using agent = await startAgent((response, seen) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      response.end(
        `event: error\ndata: {"jsonrpc":"2.0","id":${seen.rpc.id},"error":{"code":-32001,"message":""}}\n\n`,
      );
    });
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({
      kind: 'remote-error',
      code: -32001,
    });
  });
});

describe('a status without a JSON-RPC body', () => {
  it('is a transport error with the status and a cut body (K07)', async () => {
    const page = `<html>${'bad gateway \u0007'.repeat(100_000)}`;
    await using agent = await startAgent(raw(502, page, { 'content-type': 'text/html' }));
    const client = clientOf(agent, { limits: { bodyBytes: 1024 } });
    const outcome = failure(await client.getTask({ id: 't-1' }));
    expect(outcome).toMatchObject({
      kind: 'transport-error',
      status: 502,
      retryable: true,
      mayHaveActed: false,
    });
    const { excerpt } = (outcome as unknown as { failure: { excerpt: string } }).failure;
    expect(excerpt).toMatch(/^<html>bad gateway [\x20-\x7e]*$/);
    expect(excerpt.length).toBeLessThanOrEqual(200);
    expect(await client.sendMessage({ message: MESSAGE })).toMatchObject({
      kind: 'transport-error',
      mayHaveActed: true,
    });
    await expect.poll(agent.open).toBe(0);
  });

  it.each([
    [404, false],
    [403, false],
    [429, true],
    [503, true],
  ])('%i may be tried again: %s', async (code, retryable) => {
    await using agent = await startAgent(raw(code, 'no'));
    expect(await clientOf(agent).sendMessage({ message: MESSAGE })).toMatchObject({
      kind: 'transport-error',
      status: code,
      retryable,
      mayHaveActed: code >= 500,
    });
  });

  it('is that also when its body breaks off, or goes on in silence', async () => {
    const page = 'x'.repeat(70_000);
    await using agent = await startAgent([
      (response) => {
        response.writeHead(503, { 'content-length': '10' });
        response.write('half', () => response.destroy());
      },
      (response) => void response.writeHead(503).write(page),
    ]);
    const client = clientOf(agent, { timeouts: { totalMs: 20_000, idleMs: 20_000 } });
    const startedAt = performance.now();
    for (let call = 0; call < 2; call++) {
      const outcome = await client.getTask({ id: 't-1' });
      expect(outcome).toMatchObject({ kind: 'transport-error', status: 503, failure: { kind: 'status' } });
    }
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    await expect.poll(agent.open).toBe(0);
  });

  it('and a result in a body that says it failed is no result', async () => {
    await using agent = await startAgent(
      json(500, (seen) => ({ jsonrpc: '2.0', id: seen.rpc.id, result: task('TASK_STATE_COMPLETED') })),
    );
    expect(await clientOf(agent).getTask({ id: 't-1' })).toMatchObject({
      kind: 'transport-error',
      status: 500,
    });
  });
});

it.each([301, 302, 303, 307, 308])('a redirect (%i) is refused and not followed', async (code) => {
  await using other = await startAgent(result(task('TASK_STATE_COMPLETED')));
  await using agent = await startAgent(raw(code, '', { location: other.url }));
  const redirected = {
    kind: 'transport-error',
    failure: { kind: 'redirect', status: code },
    status: code,
    retryable: false,
    mayHaveActed: false,
  };
  expect(await clientOf(agent).sendMessage({ message: MESSAGE })).toEqual(redirected);
  const items = await collect(clientOf(agent).subscribeToTask({ id: 't-1' }));
  expect(items).toEqual([{ kind: 'end', end: redirected }]);
  expect(other.seen).toEqual([]);
});

describe('a call that gets no answer', () => {
  const EFFECTS = METHODS.filter(([name]) => /^(SendMessage|Cancel|Create|Delete)/.test(name));
  const READS = METHODS.filter(([name]) => /^(Get|List)/.test(name));

  it.each(EFFECTS)('%s: a timeout is an unknown outcome (K05)', async (_, call) => {
    await using agent = await startAgent(never());
    expect(await call(clientOf(agent, { timeouts: { totalMs: 150 } }))).toEqual({
      kind: 'outcome-unknown',
      failure: { kind: 'timeout', phase: 'exchange' },
      retryable: true,
    });
    await expect.poll(agent.open).toBe(0);
  });

  it.each(EFFECTS)('%s: a lost connection is an unknown outcome', async (_, call) => {
    await using agent = await startAgent((response) => void response.destroy());
    expect(await call(clientOf(agent))).toMatchObject({
      kind: 'outcome-unknown',
      failure: { kind: 'reset' },
      retryable: true,
    });
  });

  it.each(READS)('%s: nothing can have happened, so it failed and may be repeated', async (_, call) => {
    await using agent = await startAgent((response) => void response.destroy());
    expect(await call(clientOf(agent))).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'reset' },
      retryable: true,
      mayHaveActed: false,
    });
  });

  it('is known to have had no effect when the connection was refused', async () => {
    const agent = await startAgent(never());
    await agent[Symbol.asyncDispose]();
    expect(await clientOf(agent).sendMessage({ message: MESSAGE })).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'connect-failure' },
      retryable: true,
      mayHaveActed: false,
    });
  });

  it('is known to have had no effect when the handshake did not end, and ends after the time to connect, not the total (K05)', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const client = clientOf({ url: `https://127.0.0.1:${port}/` }, { timeouts: { totalMs: 20_000 } });
    const startedAt = performance.now();
    expect(await client.sendMessage({ message: MESSAGE })).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'timeout', phase: 'tls' },
      mayHaveActed: false,
    });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    silent.close();
  });

  it('ends after silence in the answer, long before its total time (K05)', async () => {
    await using agent = await startAgent((response) => void response.writeHead(200).write('{"jsonrpc":'));
    const client = clientOf(agent, { timeouts: { totalMs: 20_000, idleMs: 100 } });
    const startedAt = performance.now();
    expect(await client.getTask({ id: 't-1' })).toMatchObject({
      kind: 'transport-error',
      failure: { kind: 'timeout', phase: 'answer' },
    });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('ends after its total time, however busy the answer is (K05)', async () => {
    await using agent = await startAgent((response) => {
      const drip = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(drip));
    });
    const client = clientOf(agent, { timeouts: { totalMs: 300, idleMs: 20_000 } });
    expect(await client.sendMessage({ message: MESSAGE })).toEqual({
      kind: 'outcome-unknown',
      failure: { kind: 'timeout', phase: 'answer' },
      retryable: true,
    });
    expect(await clientOf(agent).getTask({ id: 't-1' }, { withinMs: 200 })).toMatchObject({
      failure: { kind: 'timeout', phase: 'answer' },
    });
    await expect.poll(agent.open).toBe(0);
  });

  it('was never sent when the caller had given up before', async () => {
    await using agent = await startAgent(never());
    expect(await clientOf(agent).sendMessage({ message: MESSAGE }, { signal: AbortSignal.abort() })).toEqual({
      kind: 'transport-error',
      failure: { kind: 'aborted' },
      retryable: false,
      mayHaveActed: false,
    });
    expect(agent.seen).toEqual([]);
  });

  it('is an unknown outcome when the caller gives up while it runs', async () => {
    const stop = new AbortController();
    await using agent = await startAgent(() => stop.abort());
    expect(await clientOf(agent).sendMessage({ message: MESSAGE }, { signal: stop.signal })).toMatchObject({
      kind: 'outcome-unknown',
      failure: { kind: 'aborted' },
    });
  });
});

describe('a body beyond its bound', () => {
  /** 200 MB, made as it is read. */
  const endless: Reply = async (response) => {
    const block = Buffer.alloc(64 * 1024, 'x');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"jsonrpc":"2.0","id":1,"result":"');
    await flood(response, block, 200 * 1024 * 1024);
    response.end('"}');
  };

  it('ends the call, is not held, and is not tried again (T07)', async () => {
    await using agent = await startAgent(endless);
    const client = clientOf(agent, { limits: { bodyBytes: 1024 * 1024 } });
    const before = process.memoryUsage().rss;
    expect(await client.getTask({ id: 't-1' })).toEqual({
      kind: 'transport-error',
      failure: { kind: 'response-too-large', part: 'body' },
      retryable: false,
      mayHaveActed: false,
    });
    expect(await client.sendMessage({ message: MESSAGE })).toEqual({
      kind: 'outcome-unknown',
      failure: { kind: 'response-too-large', part: 'body' },
      retryable: false,
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    await expect.poll(agent.open).toBe(0);
  });

  it('is held to that bound exactly, also where it is small', async () => {
    await using agent = await startAgent(result(task('TASK_STATE_WORKING')));
    const { length } = JSON.stringify({ jsonrpc: '2.0', id: 1, result: task('TASK_STATE_WORKING') });
    const ask = (bodyBytes: number) => clientOf(agent, { limits: { bodyBytes } }).getTask({ id: 't-1' });
    expect(await ask(length)).toMatchObject({ kind: 'ok' });
    expect(await ask(length - 1)).toMatchObject({ failure: { kind: 'response-too-large', part: 'body' } });
  });

  it('is 8 MiB unless said otherwise', async () => {
    await using agent = await startAgent(endless);
    const client = createA2AClient({
      guard: createGuard({ ownHosts: [], allowLoopback: true }),
      policy: POLICY,
      interface: { url: agent.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      clock: systemClock,
      random: { fraction: () => 0 },
    });
    expect(await client.getTask({ id: 't-1' })).toMatchObject({ failure: { kind: 'response-too-large' } });
  });
});
