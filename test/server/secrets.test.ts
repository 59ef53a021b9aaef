import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tables } from '../../shared/storage/index.ts';
import type { TableName } from '../../shared/storage/tables.ts';
import { executing, type Gateway, message } from './rig.ts';
import { ask, provider, read, type Scene, startScene, stream } from './scene.ts';

const SECRET = 'correct-horse-battery-staple';
const RAW = Buffer.from(SECRET).toString('base64');

const talks = provider(async ({ progress, history }) => {
  if (history.length > 1) throw new Error(`threw ${SECRET}`);
  await progress(`progress ${SECRET}`);
  return { kind: 'input-required', message: [{ text: `question ${SECRET}` }] };
});
const answers = provider(() => ({
  kind: 'completed',
  artifacts: [
    {
      name: `name ${SECRET}`,
      description: SECRET,
      parts: [{ text: SECRET }, { raw: RAW }],
      metadata: { [SECRET]: SECRET },
    },
  ],
  message: [{ text: `ending ${SECRET}` }],
}));
const fails = provider(() => ({
  kind: 'failed',
  retryable: false,
  reason: 'declared',
  message: [{ text: SECRET }],
}));

let scene: Scene;
/** Instances whose store fails and quotes what it was given, as stores do. */
const failures: Gateway[] = [];
beforeAll(async () => {
  scene = await startScene({
    clients: ['alice', 'mallory'],
    adapters: { talks, answers, fails },
    profiles: { prose: { inputModes: ['text/plain'] } },
  });
  await using _executor = executing(scene.gateway);
  const planted = {
    parts: [
      { text: `text ${SECRET}`, filename: SECRET, metadata: { [SECRET]: SECRET } },
      { raw: RAW },
      { url: `https://example.com/${SECRET}` },
      { data: { [SECRET]: [SECRET] } },
    ],
    metadata: { a: SECRET },
    extensions: [`urn:${SECRET}`],
    messageId: SECRET,
  };
  const send = (tenant: string, more: object) =>
    ask(scene.gateway, 'alice', 'SendMessage', {
      tenant,
      message: message('', more),
      metadata: { b: SECRET },
    });
  await send('answers', planted);
  await send('echo', { ...planted, messageId: `${SECRET}-2` });
  await send('fails', { ...planted, messageId: `${SECRET}-3` });
  const { result } = await send('talks', { ...planted, messageId: `${SECRET}-4` });
  await send('talks', { ...planted, messageId: `${SECRET}-5`, taskId: result.task.id });
  const params = { tenant: 'answers', message: message(SECRET) };
  await (await stream(scene.gateway, 'alice', 'SendStreamingMessage', params)).rest();
  await ask(scene.gateway, 'alice', 'ListTasks', { includeArtifacts: true });

  const open = (await send('talks', { ...planted, messageId: `${SECRET}-6` })).result.task.id;
  for (const method of ['transact', 'getMany', 'query'] as const) {
    const quoting = () => Promise.reject(new Error(`rejected: ${SECRET}`, { cause: new Error(SECRET) }));
    const broken = scene.instance({ store: { ...scene.rig.store, [method]: quoting } });
    await ask(broken, 'alice', 'SendMessage', {
      tenant: 'echo',
      message: message(SECRET),
      configuration: { returnImmediately: true },
    });
    await ask(broken, 'alice', 'GetTask', { id: open });
    await ask(broken, 'alice', 'ListTasks', {});
    await ask(broken, 'alice', 'CancelTask', { id: open });
    await broken.execute(open).catch(() => {});
    await broken.follow(open);
    failures.push(broken);
  }
});
afterAll(() => scene[Symbol.asyncDispose]());

/** Every string and every run of bytes that stands anywhere in the value. */
function* leaves(value: unknown): Generator<string> {
  if (value instanceof Uint8Array) yield Buffer.from(value).toString('latin1');
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      yield name;
      yield* leaves(member);
    }
  } else yield String(value);
}

const inClear = (value: unknown, secrets: readonly string[]) =>
  [...leaves(value)].filter((leaf) => secrets.some((secret) => leaf.includes(secret)));

describe('what clients say is nowhere in clear (P10)', () => {
  const content = [
    SECRET,
    RAW,
    Buffer.from(SECRET).toString('hex'),
    Buffer.from(SECRET).toString('base64url'),
  ];

  test('the plant took: callers read it back', async () => {
    const { text } = await ask(scene.gateway, 'alice', 'ListTasks', { includeArtifacts: true });
    for (const said of ['text', 'question', 'progress', 'ending', 'name'])
      expect(text).toContain(`${said} ${SECRET}`);
    expect(text).toContain(RAW);
  });

  test('in no table: what is stored of a message or a result is sealed', async () => {
    for (const table of Object.keys(tables) as TableName[]) {
      const items = await scene.dump(table);
      if (table === 'state' || table === 'view') expect(items.length).toBeGreaterThan(10);
      expect(inClear(items, content), table).toEqual([]);
    }
  });

  test('in no log line, no metric and no queue message', () => {
    const { metrics, runQueue, projectionQueue } = scene.gateway;
    expect(metrics.measurements.length).toBeGreaterThan(10);
    for (const { log } of failures) expect(log.lines.length).toBeGreaterThan(0);
    const lines = [scene.gateway, ...failures].map((one) => [one.log.lines, one.metrics.measurements]);
    expect(inClear([lines, runQueue.messages, projectionQueue.messages], content)).toEqual([]);
  });

  test('in no error, whatever field of a wrong request it stood in', async () => {
    const wrong: unknown[] = [
      { message: { ...message('hi'), role: SECRET } },
      { message: { ...message('hi'), messageId: { [SECRET]: SECRET } } },
      { message: message('', { parts: [{ raw: `!${SECRET}` }] }) },
      { message: message('', { parts: [{ text: SECRET, data: SECRET }] }) },
      { message: message('', { parts: [{ [SECRET]: SECRET }] }) },
      { message: message('hi', { taskId: SECRET }) },
      { message: message('hi', { referenceTaskIds: [SECRET] }) },
      { tenant: SECRET, message: message(SECRET) },
      { message: message('hi', { metadata: { 'sealpost/skill': SECRET } }) },
      { tenant: 'prose', message: message('', { parts: [{ data: SECRET, mediaType: `a/${SECRET}` }] }) },
      { message: message('hi', { messageId: SECRET, parts: [{ text: `other ${SECRET}` }] }) },
      { [SECRET]: SECRET },
      SECRET,
    ];
    const before = scene.gateway.log.lines.length;
    for (const params of wrong) {
      for (const method of ['SendMessage', 'SendStreamingMessage']) {
        const answer = await ask(scene.gateway, 'alice', method, params);
        expect(answer.error, JSON.stringify(params)).toBeDefined();
        expect(answer.text).not.toContain(SECRET);
      }
    }
    for (const [method, params] of [
      ['ListTasks', { pageToken: SECRET }],
      ['ListTasks', { status: SECRET }],
      ['ListTasks', { statusTimestampAfter: SECRET }],
      ['GetTask', { id: SECRET }],
      ['SubscribeToTask', { id: SECRET }],
      [SECRET, {}],
    ] as const) {
      const answer = await ask(scene.gateway, 'alice', method, params, { 'last-event-id': SECRET });
      expect(answer.text, method).not.toContain(SECRET);
    }
    const bodies = [`{"${SECRET}`, `"${SECRET}"`, JSON.stringify({ jsonrpc: SECRET, id: 1, method: 'x' })];
    for (const body of bodies) {
      const answer = await read(await scene.gateway.post('alice', body));
      expect(answer.text).not.toContain(SECRET);
    }
    // Of a part of an unknown kind its name is told to operators, and nothing else of it.
    const lines = scene.gateway.log.lines
      .slice(before)
      .filter(({ fields }) => fields['kind'] !== 'unknown-part');
    expect(inClear(lines, content)).toEqual([]);
  });
});

describe('credentials are nowhere in clear (P10)', () => {
  test('a bearer token is in no table, log line, metric, error or answer, right or wrong', async () => {
    const token = scene.gateway.token('alice');
    const secret = token.slice('sp_alice_'.length);
    const wrong = `sp_alice_${'Q'.repeat(43)}`;
    const texts: string[] = [];
    for (const authorization of [
      `Bearer ${token}`,
      `Bearer ${wrong}`,
      `Basic ${token}`,
      token,
      `Bearer ${token}x`,
    ]) {
      texts.push((await ask(scene.gateway, 'alice', 'GetTask', { id: 'x' }, { authorization })).text);
    }
    const tablesInClear = await Promise.all(
      (Object.keys(tables) as TableName[]).map((table) => scene.dump(table)),
    );
    const everywhere = [texts, tablesInClear, scene.gateway.log.lines, scene.gateway.metrics.measurements];
    expect(inClear(everywhere, [secret, 'Q'.repeat(43)])).toEqual([]);
  });

  test('a plaintext data key is in no table', async () => {
    const { keyring } = scene.gateway.services;
    for (const purpose of ['content', 'dedup'] as const) {
      const { key } = await keyring.current('alice', purpose);
      const bytes = Buffer.from(key);
      const forms = [bytes.toString('latin1'), bytes.toString('base64'), bytes.toString('hex')];
      for (const table of Object.keys(tables) as TableName[]) {
        expect(inClear(await scene.dump(table), forms), table).toEqual([]);
      }
    }
  });

  test('a page token and an event number tell nothing of a task', async () => {
    const { result } = await ask(scene.gateway, 'alice', 'ListTasks', { pageSize: 1 });
    const opened = Buffer.from(result.nextPageToken.split('.')[1], 'base64url').toString('latin1');
    expect(opened).not.toContain(result.tasks[0].id);
  });
});
