import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REFUSAL_MESSAGE } from '../../shared/guard/index.ts';
import { configOf } from '../../shared/push/formats.ts';
import { prepareConfig } from '../../shared/push/manage.ts';
import { openSecret } from '../../shared/push/secret.ts';
import { echoProfile, message, register } from '../server/rig.ts';
import { asking } from '../server/scene.ts';
import { outline, type Push, startPush, type Wanted } from './rig.ts';

const METHODS = ['Create', 'Get', 'List', 'Delete'] as const;
const method = (verb: (typeof METHODS)[number]) =>
  `${verb}TaskPushNotificationConfig${verb === 'List' ? 's' : ''}`;

describe('push configs', () => {
  let push: Push;
  let url: string;
  beforeAll(async () => {
    push = await startPush({ adapters: { asking: asking() } });
    url = push.webhooks.url('/hook');
  });
  afterAll(() => push[Symbol.asyncDispose]());

  const call = (verb: (typeof METHODS)[number], params: object, client = 'alice') =>
    push.gateway.call(client, method(verb), params);
  const names = async (taskId: string) =>
    ((await call('List', { taskId })).result.configs ?? []).map(({ id }: { id: string }) => id);

  test('are created, shown, listed and deleted', async () => {
    const taskId = await push.send('crud');
    const wanted = { url, token: 'a-token', authentication: { scheme: 'Bearer', credentials: 'a-secret' } };
    const created = await call('Create', { taskId, id: 'mine', ...wanted });
    const shown = { taskId, id: 'mine', url, token: 'a-token', authentication: { scheme: 'Bearer' } };
    expect(created.result).toEqual(shown);
    expect((await call('Get', { taskId, id: 'mine' })).result).toEqual(shown);
    expect((await call('List', { taskId })).result).toEqual({ configs: [shown] });
    expect((await call('Delete', { taskId, id: 'mine' })).result).toEqual({});
    expect((await call('Get', { taskId, id: 'mine' })).error?.code).toBe(-32001);
    expect((await call('Delete', { taskId, id: 'mine' })).result).toEqual({});
    expect((await call('List', { taskId })).result.configs ?? []).toEqual([]);
  });

  test('without an id are given different ones, and each gets the events (P01)', async () => {
    const taskId = await push.send('two webhooks');
    const ids = [await push.create(taskId, { url })];
    push.clock.advance(1);
    ids.push(await push.create(taskId, { url }));
    expect(new Set(ids).size).toBe(2);
    expect(await names(taskId)).toEqual(ids);
    const before = push.webhooks.receiver.seen.length;
    await push.finish(taskId);
    await push.outbox.drain();
    const bodies = push.webhooks.receiver.seen.slice(before).map(({ body }) => body);
    expect(outline(bodies)).toEqual(['INPUT_REQUIRED', 'INPUT_REQUIRED']);
  });

  test('of the same id are one if they are the same, and refused if not', async () => {
    const taskId = await push.send('same id');
    const wanted = { taskId, id: 'one', url, token: 't' };
    const first = await call('Create', wanted);
    expect((await call('Create', wanted)).result).toEqual(first.result);
    expect(await names(taskId)).toEqual(['one']);
    for (const other of [{ url: `${url}2` }, { token: 'u' }, { authentication: { scheme: 'Bearer' } }]) {
      const { error } = await call('Create', { ...wanted, ...other });
      expect(error).toMatchObject({ code: -32602 });
    }
  });

  test('are never more than five a task, however many are created at once', async () => {
    const taskId = await push.send('twenty at once');
    const answers = await Promise.all(Array.from({ length: 20 }, () => call('Create', { taskId, url })));
    const made = answers.filter(({ result }) => result);
    const refused = answers.flatMap(({ error }) => (error ? [error] : []));
    expect(made).toHaveLength(5);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set([-32602]));
    expect(JSON.stringify(refused[0]?.data)).toContain('TOO_MANY_PUSH_CONFIGS');
    expect((await names(taskId)).sort()).toEqual(made.map(({ result }) => result.id).sort());
    await call('Delete', { taskId, id: made[0]?.result.id });
    expect((await call('Create', { taskId, url })).error).toBeUndefined();
  });

  test('of another client are as unknown as those of no task (P04)', async () => {
    const taskId = await push.send('mine alone');
    await push.create(taskId, { id: 'one', url });
    const answers = METHODS.map(async (verb) => {
      const more = verb === 'Create' ? { id: 'two', url } : { id: 'one' };
      const foreign = await call(verb, { taskId, ...more }, 'mallory');
      const unknown = await call(verb, { taskId: 'no-such-task', ...more }, 'mallory');
      expect(foreign.error).toEqual(unknown.error);
      return foreign.error?.code;
    });
    expect(await Promise.all(answers)).toEqual([-32001, -32001, -32001, -32001]);
    expect(await names(taskId)).toEqual(['one']);
  });

  test('of a finished task cannot be created, and are still shown and deleted', async () => {
    const taskId = await push.send('to be canceled', { url });
    await push.gateway.call('alice', 'CancelTask', { id: taskId });
    const { error } = await call('Create', { taskId, url });
    expect(error).toMatchObject({ code: -32004, data: [{}, { reason: 'TASK_TERMINAL' }] });
    const [id] = await names(taskId);
    expect((await call('Delete', { taskId, id })).result).toEqual({});
  });

  test.each([
    ['token', { token: 'a\r\nX: y' }],
    ['token', { token: 'nul\0' }],
    ['token', { token: 'schön' }],
    ['authentication.scheme', { authentication: { scheme: 'Bearer\r\nX: y', credentials: 'c' } }],
    ['authentication.scheme', { authentication: { scheme: 'Basic', credentials: 'c' } }],
    ['authentication.credentials', { authentication: { scheme: 'Bearer', credentials: 'a\nb' } }],
    ['authentication.credentials', { authentication: { scheme: 'Bearer', credentials: 'a\u007f' } }],
    ['authentication.credentials', { authentication: { scheme: 'Bearer', credentials: '\u2028' } }],
  ])('with a %s like %j are refused at creation and in a message (P06)', async (field, more) => {
    const taskId = await push.send('header injection');
    const { error } = await call('Create', { taskId, url, ...more });
    expect(error).toMatchObject({ code: -32602 });
    expect(JSON.stringify(error)).toContain(`"${field}"`);
    const embedded = await push.gateway.call('alice', 'SendMessage', {
      message: message('embedded'),
      configuration: { taskPushNotificationConfig: { url, ...more } },
    });
    expect(embedded.error).toMatchObject({ code: -32602 });
    expect(await names(taskId)).toEqual([]);
  });

  test.each(['bearer', 'BEARER', 'Bearer'])('may spell the scheme %s', async (scheme) => {
    const taskId = await push.send('scheme');
    const { result } = await call('Create', { taskId, url, authentication: { scheme, credentials: 'c' } });
    expect(result.authentication).toEqual({ scheme });
  });

  test.each([
    'http://hooks.example.com/',
    'http://169.254.169.254/latest/meta-data/',
    'https://u:p@10.0.0.1/',
    'ftp://10.0.0.1/',
    'https://127.0.0.1/',
    'https://gateway.example/rpc',
    'https://user@hooks.example.com/',
    'https://hooks.example.com:22/',
    'https://intranet/',
    'https://hooks.internal/',
    'not a url',
    `https://hooks.example.com/${'x'.repeat(2_048)}`,
  ])('for %s are refused without a hint at why, at creation and in a message', async (bad) => {
    const taskId = await push.send('bad url');
    const { error } = await call('Create', { taskId, url: bad });
    expect(error).toMatchObject({ code: -32602 });
    // One sentence for all, and for operators which rule it was.
    const [, { fieldViolations }] = error?.data ?? [];
    expect(fieldViolations[0].description).toBe(REFUSAL_MESSAGE);
    const refusals = push.gateway.metrics.measurements.filter(({ name }) => name === 'GuardRefused');
    expect(refusals.at(-1)?.dimensions).toEqual({ rule: expect.any(String) });
    const embedded = await push.gateway.call('alice', 'SendMessage', {
      message: message('embedded'),
      configuration: { taskPushNotificationConfig: { url: bad } },
    });
    expect(embedded.error).toMatchObject({ code: -32602 });
    expect(await names(taskId)).toEqual([]);
  });

  test('in a message name no task', async () => {
    const { error } = await push.gateway.call('alice', 'SendMessage', {
      message: message('names a task'),
      configuration: { taskPushNotificationConfig: { url, taskId: 'some-task' } },
    });
    expect(error).toMatchObject({ code: -32602 });
    expect(JSON.stringify(error)).toContain('configuration.taskPushNotificationConfig.taskId');
  });

  test('need an id that can be one', async () => {
    const taskId = await push.send('ids');
    for (const id of ['x'.repeat(257), ' ', '\n']) {
      const { error, result } = await call('Create', { taskId, id, url });
      // A blank one counts as none was given or is refused; it never becomes an id.
      expect(error?.code === -32602 || result?.id !== id).toBe(true);
    }
    const longest = 'x'.repeat(256);
    expect((await call('Create', { taskId, id: longest, url })).result.id).toBe(longest);
    expect((await call('Get', { taskId, id: longest })).result.id).toBe(longest);
    for (const id of ['a/b', 'C#x', '%2e', 'ünïcode', '<b>']) {
      const made = await call('Create', { taskId, id, url });
      if (made.error) expect(made.error.code).toBe(-32602);
      else {
        expect((await call('Get', { taskId, id })).result.id).toBe(id);
        expect((await call('Delete', { taskId, id })).result).toEqual({});
      }
    }
  });

  test('are listed page by page, also while they change (P12)', async () => {
    const taskId = await push.send('pages');
    expect((await call('List', { taskId })).result).toEqual({});
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      push.clock.advance(1);
      ids.push(await push.create(taskId, { id: `c${i}`, url }));
    }
    const seen: string[] = [];
    let pageToken = '';
    for (let i = 0; i < 10 && (i === 0 || pageToken); i++) {
      const { result } = await call('List', { taskId, pageSize: 2, ...(pageToken ? { pageToken } : {}) });
      seen.push(...result.configs.map(({ id }: { id: string }) => id));
      pageToken = result.nextPageToken ?? '';
    }
    expect(seen).toEqual(ids);
    expect((await call('List', { taskId, pageSize: 0 })).result.configs).toHaveLength(5);

    const first = await call('List', { taskId, pageSize: 1 });
    const token = first.result.nextPageToken;
    await call('Delete', { taskId, id: 'c0' });
    const rest = await call('List', { taskId, pageToken: token });
    expect(rest.result.configs.map(({ id }: { id: string }) => id)).toEqual(['c1', 'c2', 'c3', 'c4']);

    // Also where several went, the one that the page ended with among them.
    const second = await call('List', { taskId, pageSize: 2 });
    for (const id of ['c1', 'c2']) await call('Delete', { taskId, id });
    const behind = await call('List', { taskId, pageToken: second.result.nextPageToken });
    expect(behind.result.configs.map(({ id }: { id: string }) => id)).toEqual(['c3', 'c4']);

    const other = await push.send('another task');
    await push.create(other, { url });
    for (const params of [
      { taskId, pageToken: 'zzz' },
      { taskId: other, pageToken: token },
    ]) {
      expect((await call('List', params)).error).toMatchObject({ code: -32602 });
    }
  });

  test('keep what they were given when the giver changes it later (P13)', async () => {
    const wanted = {
      taskId: 't',
      url,
      token: 'before',
      authentication: { scheme: 'Bearer', credentials: 'c' },
    };
    const prepared = await prepareConfig(push.services, 't', 'alice', 0, wanted);
    Object.assign(wanted, { url: 'https://changed.example.com/', token: 'after' });
    wanted.authentication.credentials = 'changed';
    if (prepared.action.kind !== 'put') throw new Error('a config is put');
    const secret = await openSecret(push.services.sealer, configOf(prepared.action.item));
    expect(secret).toMatchObject({ url, token: 'before', credentials: 'c' });
    expect(prepared.shown).toMatchObject({ url, token: 'before' });
  });

  test('that are made again under an old name inherit nothing of it', async () => {
    const taskId = await push.send('again', { id: 'name', url });
    await push.gateway.follow(taskId);
    push.outbox.waiting.splice(0);
    push.gateway.outboxQueue.messages.splice(0);
    const [old] = await push.configs(taskId);
    await call('Delete', { taskId, id: 'name' });
    await push.create(taskId, { id: 'name', url: `${url}/again` });
    const [made] = await push.configs(taskId);
    expect(made).not.toBe(old);
    const before = push.webhooks.receiver.seen.length;
    await push.finish(taskId);
    await push.outbox.send({ task: taskId, config: old! });
    await push.outbox.drain();
    const seen = push.webhooks.receiver.seen.slice(before);
    // Not the event from before it was made, which waited for the old one.
    expect(outline(seen.map(({ body }) => body))).toEqual(['INPUT_REQUIRED']);
    expect(seen.map(({ path }) => path)).toEqual(['/hook/again']);
    expect((await push.show(taskId, made)).jobs.map(({ revision }) => revision)).toEqual([2]);
  });

  describe('in a follow-up message', () => {
    const ask = async () => {
      const taskId = await push.send('which one?');
      await push.finish(taskId);
      return taskId;
    };
    const reply = (taskId: string, wanted: Wanted) =>
      push.gateway.call('alice', 'SendMessage', {
        message: message('that one', { taskId }),
        configuration: { returnImmediately: true, taskPushNotificationConfig: wanted },
      });

    test('get what comes from that message on', async () => {
      const taskId = await ask();
      const before = push.webhooks.receiver.seen.length;
      expect((await reply(taskId, { id: 'late', url })).error).toBeUndefined();
      await push.finish(taskId);
      await push.outbox.drain();
      const bodies = push.webhooks.receiver.seen.slice(before).map(({ body }) => body);
      expect(outline(bodies)).toEqual(['WORKING', 'artifact that one', 'COMPLETED']);
      expect(await names(taskId)).toEqual(['late']);
    });

    test('count towards the five, and may not take a name', async () => {
      const taskId = await ask();
      for (let i = 0; i < 5; i++) await push.create(taskId, { id: `c${i}`, url });
      expect((await reply(taskId, { url })).error).toMatchObject({
        code: -32602,
        data: [
          {},
          { reason: 'TOO_MANY_PUSH_CONFIGS' },
          { fieldViolations: [{ field: 'configuration.taskPushNotificationConfig' }] },
        ],
      });
      await call('Delete', { taskId, id: 'c4' });
      expect((await reply(taskId, { id: 'c0', url: `${url}/other` })).error).toMatchObject({ code: -32602 });
      expect((await reply(taskId, { id: 'c9', url })).error).toBeUndefined();
      expect(await names(taskId)).toHaveLength(5);
    });

    test('that stand already are no second ones', async () => {
      const taskId = await ask();
      await push.create(taskId, { id: 'c0', url });
      expect((await reply(taskId, { id: 'c0', url })).error).toBeUndefined();
      expect(await names(taskId)).toHaveLength(1);
    });

    test('take nothing away from those that are created in the same moment', async () => {
      for (let round = 0; round < 10; round++) {
        const taskId = await ask();
        const answers = await Promise.all([
          reply(taskId, { id: 'embedded', url }),
          ...Array.from({ length: 3 }, (_, i) => call('Create', { taskId, id: `c${i}`, url })),
        ]);
        expect(answers.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
        await push.finish(taskId);
        for (const config of await push.configs(taskId)) {
          // The last revision has a job for each of them (P3).
          expect((await push.show(taskId, config)).jobs.at(-1)).toMatchObject({ revision: 4 });
        }
        expect(await names(taskId)).toHaveLength(4);
      }
    });
  });
});

describe('where push is switched off', () => {
  test('every method and every message with a webhook is told so, and the card says it (P09)', async () => {
    const push = await startPush({ settings: { pushNotifications: false } });
    const { gateway } = push;
    const taskId = await push.send('no push');
    const url = push.webhooks.url();
    for (const verb of METHODS) {
      const { error } = await gateway.call('alice', method(verb), { taskId, id: 'x', url });
      expect(error?.code, verb).toBe(-32003);
    }
    const before = await push.store.scan('state');
    const sent = await gateway.call('alice', 'SendMessage', {
      message: message('with a webhook'),
      configuration: { taskPushNotificationConfig: { url } },
    });
    expect(sent.error?.code).toBe(-32003);
    expect((await push.store.scan('state')).items).toHaveLength(before.items.length);
    const card = async () =>
      (await gateway.call('alice', 'GetExtendedAgentCard', {})).result.capabilities.pushNotifications;
    expect(await card()).toBe(false);
    await register(push.store, { profiles: [echoProfile], settings: { pushNotifications: true } });
    push.clock.advance(60_000);
    expect(await card()).toBe(true);
    await push[Symbol.asyncDispose]();
  });
});
