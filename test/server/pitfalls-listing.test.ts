import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { METHOD_NAMES } from '../../shared/protocol/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import { executing, type Gateway, message } from './rig.ts';
import { ask, asking, completed, errorOf, provider, type Scene, startScene, stream } from './scene.ts';

// Many calls each: on a machine that does other things as well they take their time.
vi.setConfig({ testTimeout: 90_000 });

const large = provider(() => completed('x'.repeat(900_000)));
let scene: Scene;
let executor: AsyncDisposable;
beforeAll(async () => {
  scene = await startScene({
    clients: [
      ...['alice', 'mallory', 'pager', 'filterer', 'heavy', 'unlucky', 'tenants'],
      { id: 'nothing', profiles: [] },
      { id: 'bounded', profiles: ['asks'] },
    ],
    profiles: { hidden: { public: false } },
    adapters: { asks: asking(), large, rejects: provider(() => ({ kind: 'rejected' })) },
    settings: { openTasks: 1_000 },
  });
  executor = executing(scene.gateway);
});
afterAll(async () => {
  await executor[Symbol.asyncDispose]();
  await scene[Symbol.asyncDispose]();
});

const call = (client: string, method: string, params?: unknown) => ask(scene.gateway, client, method, params);
const send = async (client: string, tenant = 'echo', more: object = {}) =>
  (await call(client, 'SendMessage', { tenant, message: message('hi', more) })).result.task;
const list = async (client: string, params: object = {}) => (await call(client, 'ListTasks', params)).result;
const idsOf = (page: { tasks: { id: string }[] }) => page.tasks.map((task) => task.id);

/** Every page of a listing; `between` runs before each further one. */
async function pages(
  client: string,
  params: object,
  between?: (ids: string[], page: number) => Promise<void>,
) {
  const all: { tasks: { id: string }[]; nextPageToken: string; totalSize: number; pageSize: number }[] = [];
  let pageToken = '';
  do {
    const page = await list(client, { ...params, ...(pageToken ? { pageToken } : {}) });
    all.push(page);
    pageToken = page.nextPageToken;
    if (pageToken) await between?.(idsOf(page), all.length);
  } while (pageToken);
  return all;
}

/** Many unfinished tasks, fast: nothing runs them. */
async function submitted(
  gateway: Gateway,
  client: string,
  count: number,
  more: (i: number) => object = () => ({}),
) {
  const ids: string[] = [];
  const sendOne = async (i: number) => {
    const params = { message: message('hi', more(i)), configuration: { returnImmediately: true } };
    const { result } = await ask(gateway, client, 'SendMessage', params);
    ids.push(result.task.id);
  };
  for (let i = 0; i < count; i += 25) {
    await Promise.all(Array.from({ length: Math.min(25, count - i) }, (_, j) => sendOne(i + j)));
  }
  return ids;
}

describe('lists (L)', () => {
  test('L06 250 tasks by 50, changing between pages: no error, no unchanged task skipped, none twice, one total', async () => {
    const resting = await startScene({ clients: ['pager'], settings: { openTasks: 1_000 } });
    try {
      const ids = await submitted(resting.gateway, 'pager', 250);
      const changed = new Set<string>();
      const change = async (id: string) => {
        changed.add(id);
        expect((await ask(resting.gateway, 'pager', 'CancelTask', { id })).error).toBeUndefined();
      };
      const seen: string[] = [];
      let pageToken = '';
      let page = 0;
      do {
        const { result } = await ask(resting.gateway, 'pager', 'ListTasks', {
          pageSize: 50,
          ...(pageToken ? { pageToken } : {}),
        });
        seen.push(...idsOf(result));
        expect(result.totalSize).toBe(250);
        pageToken = result.nextPageToken;
        // The last one of this page, which the token names, two others of it, and two of a page that is still to come.
        const ahead = ids.filter((id) => !seen.includes(id) && !changed.has(id));
        const targets = [idsOf(result).at(-1)!, idsOf(result)[3]!, idsOf(result)[20]!, ...ahead.slice(0, 2)];
        if (pageToken) for (const id of new Set(targets)) if (!changed.has(id)) await change(id);
        page++;
      } while (pageToken);
      expect(page).toBeGreaterThanOrEqual(5);
      expect(new Set(seen).size).toBe(seen.length);
      const unchanged = ids.filter((id) => !changed.has(id));
      expect(unchanged.filter((id) => !seen.includes(id))).toEqual([]);
    } finally {
      await resting[Symbol.asyncDispose]();
    }
  });

  test('L03 without a status, with the unspecified one, and with 0, all states are listed', async () => {
    const sent = [
      await send('filterer', 'echo'),
      await send('filterer', 'asks'),
      await send('filterer', 'rejects'),
    ];
    const expected = sent.map((task) => task.id).sort();
    for (const status of [undefined, null, 'TASK_STATE_UNSPECIFIED', 0]) {
      const page = await list('filterer', { status });
      expect(idsOf(page).sort()).toEqual(expected);
      expect(page.totalSize).toBe(3);
    }
  });

  test('filters narrow the list and its total, alone and together', async () => {
    const contextId = 'filtered';
    const done = await send('filterer', 'echo', { contextId });
    const open = await send('filterer', 'asks', { contextId });
    const cases: [object, string[]][] = [
      [{ contextId }, [open.id, done.id]],
      [{ contextId, status: 'TASK_STATE_INPUT_REQUIRED' }, [open.id]],
      [{ contextId, status: 3 }, [done.id]],
      [{ contextId, tenant: 'asks' }, [open.id]],
      [{ contextId, tenant: 'asks', status: 'TASK_STATE_COMPLETED' }, []],
      [{ contextId, statusTimestampAfter: open.status.timestamp }, [open.id]],
      [{ contextId: 'unknown' }, []],
    ];
    for (const [params, expected] of cases) {
      const page = await list('filterer', params);
      expect(idsOf(page), JSON.stringify(params)).toEqual(expected);
      expect(page.totalSize).toBe(expected.length);
      expect(page.nextPageToken).toBe('');
    }
  });

  test('a filter that few tasks match is paged without a gap, and its total counts the matches only', async () => {
    const resting = await startScene({ clients: ['pager'], settings: { openTasks: 1_000 } });
    try {
      const ids = await submitted(resting.gateway, 'pager', 60);
      const canceled = ids.filter((_, i) => i % 10 === 0);
      for (const id of canceled) await ask(resting.gateway, 'pager', 'CancelTask', { id });
      const seen: string[] = [];
      let pageToken = '';
      do {
        const params = { status: 'TASK_STATE_SUBMITTED', pageSize: 7, ...(pageToken ? { pageToken } : {}) };
        const { result } = await ask(resting.gateway, 'pager', 'ListTasks', params);
        expect(result.totalSize).toBe(54);
        seen.push(...idsOf(result));
        pageToken = result.nextPageToken;
      } while (pageToken);
      expect(seen.sort()).toEqual(ids.filter((id) => !canceled.includes(id)).sort());
    } finally {
      await resting[Symbol.asyncDispose]();
    }
  });

  test('L05 a token of another caller or of other filters is refused, and shows nothing', async () => {
    const contextId = 'tokens';
    for (let i = 0; i < 3; i++) await send('alice', 'echo', { contextId });
    const { nextPageToken: pageToken } = await list('alice', { contextId, pageSize: 1 });
    const refused = { code: -32602, reason: 'INVALID_PARAMS', own: 'PAGE_TOKEN_INVALID', field: 'pageToken' };
    for (const [client, params] of [
      ['mallory', { contextId, pageToken }],
      ['alice', { pageToken }],
      ['alice', { contextId: 'other', pageToken }],
      ['alice', { contextId, status: 'TASK_STATE_COMPLETED', pageToken }],
      ['alice', { contextId, tenant: 'echo', pageToken }],
      ['alice', { contextId, statusTimestampAfter: '2020-01-01T00:00:00Z', pageToken }],
      ['alice', { contextId, pageToken: `${pageToken.slice(0, -2)}AA` }],
      ['alice', { contextId, pageToken: `209901${pageToken.slice(6)}` }],
    ] as const) {
      expect(errorOf(await call(client, 'ListTasks', params)), JSON.stringify(params)).toEqual(refused);
    }
    // What is no filter may change.
    const next = await list('alice', {
      contextId,
      pageToken,
      pageSize: 50,
      historyLength: 0,
      includeArtifacts: true,
    });
    expect(next.tasks).toHaveLength(2);
    expect(next.totalSize).toBe(3);
    expect(pageToken).not.toContain(contextId);
  });

  test('L09 artifacts are left out by default, and present even when empty where they were asked for', async () => {
    const contextId = 'artifacts';
    await send('alice', 'echo', { contextId });
    await send('alice', 'asks', { contextId });
    for (const task of (await list('alice', { contextId })).tasks)
      expect(task).not.toHaveProperty('artifacts');
    const { tasks } = await list('alice', { contextId, includeArtifacts: true });
    expect(tasks.map((task: { artifacts: unknown[] }) => task.artifacts.length)).toEqual([0, 1]);
  });

  test('a page is bounded in bytes: it may be shorter than asked, and the rest follows', async () => {
    const contextId = 'wide';
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push((await send('heavy', 'large', { contextId })).id);
    const all = await pages('heavy', { contextId, includeArtifacts: true });
    expect(all.length).toBeGreaterThan(1);
    expect(all.flatMap(idsOf)).toEqual(ids.reverse());
    for (const page of all) expect(JSON.stringify(page).length).toBeLessThan(5_000_000);
    expect(await pages('heavy', { contextId })).toHaveLength(1);
  });
});

describe('one unreadable row (R10)', () => {
  const spoil = async (
    table: 'state' | 'view',
    key: { pk: string; sk: string },
    changes: Record<string, string | number | Uint8Array>,
  ) => {
    const when = [{ attribute: 'pk', is: 'present' }] as const;
    const outcome = await scene.rig.store.write({
      kind: 'update',
      table,
      key,
      changes: { set: changes },
      when,
    });
    expect(outcome.kind).toBe('done');
  };

  const messageKey = async (task: string) => {
    const { pk, sk } = (await scene.dump('state')).find((item) => item.pk.startsWith(`M#${task}`))!;
    return { pk, sk };
  };

  test('R09 R10 hides no other task of a list, is counted as a metric, and stays in the total', async () => {
    const contextId = 'unlucky';
    const ids: string[] = [];
    for (let i = 0; i < 9; i++) ids.push((await send('unlucky', 'echo', { contextId })).id);
    const before = scene.gateway.metrics.total('TaskUnreadable');
    await spoil('view', keys.view(ids[0]!), { v: 99 });
    await spoil('view', keys.view(ids[2]!), { at: 'never' });
    await spoil('state', keys.head(ids[4]!), { v: 99 });
    await spoil('state', await messageKey(ids[6]!), { content: new Uint8Array(60) });
    await spoil('state', keys.head(ids[8]!), { salt: new Uint8Array(32) });
    const readable = ids.filter((_, i) => i % 2 === 1).reverse();
    const whole = await list('unlucky', { contextId });
    expect(idsOf(whole)).toEqual(readable);
    expect(whole.totalSize).toBe(9);
    expect(scene.gateway.metrics.total('TaskUnreadable') - before).toBe(5);
    for (const pageSize of [1, 2, 3]) {
      expect((await pages('unlucky', { contextId, pageSize })).flatMap(idsOf)).toEqual(readable);
    }
    const logged = JSON.stringify(scene.gateway.log.lines);
    expect(logged).toContain(ids[0]);
  });

  test('R10 is an internal error to GetTask, with a correlation id and nothing of the row', async () => {
    const { id } = await send('unlucky', 'echo');
    await spoil('state', await messageKey(id), { content: new Uint8Array(60) });
    const answer = await call('unlucky', 'GetTask', { id });
    expect(errorOf(answer)).toEqual({ code: -32603, reason: 'INTERNAL_ERROR' });
    expect(answer.text).not.toMatch(/M#|test-state|SealBroken/);
  });
});

describe('callers and tenants (T, L11)', () => {
  test('T01 L11 no method shows another caller anything of a task, and foreign looks like unknown', async () => {
    const task = await send('alice', 'asks', { contextId: 'private' });
    const before = (await call('alice', 'GetTask', { id: task.id })).result;
    for (const method of METHOD_NAMES) {
      if (['ListTasks', 'GetExtendedAgentCard'].includes(method)) continue;
      const paramsFor = (id: string) => {
        if (method.startsWith('Send')) return { message: message('hi', { taskId: id, messageId: 'fixed' }) };
        return method.includes('Push') ? { taskId: id, id: 'a', url: 'https://hook.example' } : { id };
      };
      const foreign = await call('mallory', method, paramsFor(task.id));
      const unknown = await call('mallory', method, paramsFor('nope'));
      expect(foreign.error, method).toBeDefined();
      expect(foreign.error, method).toEqual(unknown.error);
      expect(foreign.status).toBe(unknown.status);
    }
    const referring = await call('mallory', 'SendMessage', {
      message: message('hi', { referenceTaskIds: [task.id] }),
    });
    expect(errorOf(referring).code).toBe(-32001);
    expect((await list('mallory', { contextId: 'private' })).tasks).toEqual([]);
    expect((await list('mallory')).tasks.map((each: { id: string }) => each.id)).not.toContain(task.id);
    expect((await call('alice', 'GetTask', { id: task.id })).result).toEqual(before);
  });

  test('T01 the event number of a stream gives another caller nothing', async () => {
    const task = await send('alice', 'asks');
    const answer = await ask(
      scene.gateway,
      'mallory',
      'SubscribeToTask',
      { id: task.id },
      { 'last-event-id': '1.0' },
    );
    expect(errorOf(answer).code).toBe(-32001);
  });

  test('T03 a tenant filters what a caller sees of its own, and is never taken as proof of who it is', async () => {
    const [echo, asks] = [await send('tenants', 'echo'), await send('tenants', 'asks')];
    expect(idsOf(await list('tenants', { tenant: 'echo' }))).toEqual([echo.id]);
    expect(idsOf(await list('tenants', { tenant: 'asks' }))).toEqual([asks.id]);
    expect(idsOf(await list('mallory', { tenant: 'asks' }))).not.toContain(asks.id);
    expect(errorOf(await call('tenants', 'GetTask', { id: asks.id, tenant: 'echo' })).code).toBe(-32001);
    expect((await call('tenants', 'GetTask', { id: asks.id, tenant: 'asks' })).result.id).toBe(asks.id);
  });

  test('T03 a tenant that is unknown, unpublished or not granted is the same -32602 on every method that has one', async () => {
    for (const method of [
      'SendMessage',
      'GetTask',
      'ListTasks',
      'CancelTask',
      'SubscribeToTask',
      'GetExtendedAgentCard',
    ]) {
      const paramsFor = (tenant: string) => ({
        tenant,
        id: 'x',
        message: { ...message('hi'), messageId: 'fixed' },
      });
      const unknown = await call('bounded', method, paramsFor('nope'));
      const notGranted = await call('bounded', method, paramsFor('echo'));
      expect(errorOf(unknown), method).toEqual({ code: -32602, reason: 'INVALID_PARAMS', field: 'tenant' });
      expect(notGranted.error, method).toEqual(unknown.error);
    }
  });

  test('T04 every method asks for a credential first, with a challenge and a JSON-RPC body', async () => {
    const items = (await scene.dump('state')).length;
    for (const method of METHOD_NAMES) {
      const body = { jsonrpc: '2.0', id: 'mine', method, params: { message: message('hi'), id: 'x' } };
      const answer = await scene.gateway.post('alice', body, { authorization: undefined });
      expect(answer.status, method).toBe(401);
      expect(answer.headers['WWW-Authenticate']).toMatch(/^Bearer/);
      expect(JSON.parse(String(answer.body))).toMatchObject({
        jsonrpc: '2.0',
        id: 'mine',
        error: { code: -32090 },
      });
    }
    expect((await scene.dump('state')).length).toBe(items);
  });

  test('T04 a token is tried under any case of the scheme, and works while its client is enabled', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const headers = { authorization: `${scheme} ${scene.gateway.token('alice')}` };
      expect((await ask(scene.gateway, 'alice', 'ListTasks', {}, headers)).status, scheme).toBe(200);
    }
    const client = (await scene.rig.store.get('registry', keys.client('alice')))!;
    const put = (data: object) =>
      scene.rig.store.write({ kind: 'put', table: 'registry', item: { ...client, data: data as never } });
    await put({ ...(client['data'] as object), disabled: true });
    expect((await call('alice', 'ListTasks')).status).toBe(401);
    await put(client['data'] as object);
    expect((await call('alice', 'ListTasks')).status).toBe(200);
  });

  test('T04 both tokens of a client are good while it changes over, and none that is gone', async () => {
    const client = (await scene.rig.store.get('registry', keys.client('tenants')))!;
    const data = client['data'] as { tokens: unknown[] };
    const put = (tokens: unknown[]) =>
      scene.rig.store.write({
        kind: 'put',
        table: 'registry',
        item: { ...client, data: { ...data, tokens } as never },
      });
    const other = { hash: 'A'.repeat(43), createdAt: 0 };
    await put([other, ...data.tokens]);
    expect((await call('tenants', 'ListTasks')).status).toBe(200);
    await put([other]);
    expect((await call('tenants', 'ListTasks')).status).toBe(401);
    await put(data.tokens);
  });
});

describe('the extended card (A06)', () => {
  test('A06 lists what the caller is granted, also what is not public, and nothing else', async () => {
    const skills = async (client: string, params?: object) =>
      (await call(client, 'GetExtendedAgentCard', params)).result.skills.map(
        (skill: { id: string }) => skill.id,
      );
    expect(await skills('alice')).toContain('hidden');
    expect(await skills('bounded')).toEqual(['asks']);
    expect(await skills('alice', { tenant: 'hidden' })).toEqual(['hidden']);
    const { result } = await call('alice', 'GetExtendedAgentCard', { tenant: 'hidden' });
    expect(result.supportedInterfaces[0].tenant).toBe('hidden');
  });

  test('A06 is -32007 for a caller that is granted nothing, 401 without a credential, and -32004 where it is off', async () => {
    expect(errorOf(await call('nothing', 'GetExtendedAgentCard')).code).toBe(-32007);
    const anonymous = await ask(
      scene.gateway,
      'alice',
      'GetExtendedAgentCard',
      {},
      { authorization: undefined },
    );
    expect(anonymous.status).toBe(401);
    expect(anonymous.text).not.toContain('skills');
    await using off = await startScene({ clients: ['nocard'], settings: { extendedCard: false } });
    expect(errorOf(await ask(off.gateway, 'nocard', 'GetExtendedAgentCard'))).toEqual({
      code: -32004,
      reason: 'UNSUPPORTED_OPERATION',
      own: 'EXTENDED_CARD_DISABLED',
    });
  });
});

describe('an id that was handed out', () => {
  test('is never unknown, and never older than what was seen, while the view is behind', async () => {
    const late = scene.instance({
      store: {
        ...scene.rig.store,
        transact: async (actions, ...rest) => {
          if (actions.some((action) => action.table === 'view')) throw new Error('no projection');
          return scene.rig.store.transact(actions, ...rest);
        },
      },
    });
    const params = { tenant: 'asks', message: message('hi') };
    // The task is stored, its view is not, and the answer is lost.
    await ask(late, 'alice', 'SendMessage', { ...params, configuration: { returnImmediately: true } });
    const again = await call('alice', 'SendMessage', params);
    const { id } = again.result.task;
    expect((await call('alice', 'GetTask', { id })).result.id).toBe(id);
    const watching = await stream(scene.gateway, 'alice', 'SubscribeToTask', { id });
    expect((await watching.next())!.result.task.id).toBe(id);
    await watching.drop();
  });
});
