import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Host, startHost } from '../../infra/local/host.ts';
import type { StreamResponse, Task } from '../../shared/protocol/index.ts';
import { administer, liftQuotas } from '../e2e/administer.ts';
import {
  asksForAColour,
  type Folder,
  makeFolder,
  reportsProgress,
  waitsForAFile,
} from '../e2e/function-provider.ts';
import { type Python, type PythonError, startPython } from './python.ts';
import { collect, connectPython, type PythonClient, textsOf } from './python-client.ts';

let folder: Folder;
let host: Host;
let python: Python;

beforeAll(async () => {
  folder = makeFolder();
  host = await startHost({
    functionModules: {
      order: folder.handler('order', asksForAColour),
      report: folder.handler('report', reportsProgress),
      wait: folder.handler('wait', waitsForAFile),
    },
    allowLoopback: true,
    graceMs: 500,
  });
  await liftQuotas(host.url, host.adminToken);
  await publish({ id: 'hidden', name: 'Hidden', description: 'Not public.' });
  const extensions = [{ uri: receipt, required: true }];
  await publish({ id: 'strict', name: 'Strict', description: 'Requires it.', public: true, extensions });
  python = startPython('client');
});
afterAll(async () => {
  await python?.[Symbol.asyncDispose]();
  await host?.stop();
  folder?.[Symbol.dispose]();
});

async function publish(profile: Readonly<Record<string, unknown>>): Promise<void> {
  const put = { profile: { ...profile, providers: ['echo'] } };
  await administer(host.url, host.adminToken, 'profile.put', put);
  await administer(host.url, host.adminToken, 'profile.publish', { id: profile['id'] });
}
const receipt = 'https://example.com/extensions/receipt';
/** One for each card: the SDK takes a third of a second to make a client. */
const clients = new Map<string | undefined, Promise<PythonClient>>();
function connect(profile?: string): Promise<PythonClient> {
  const made = clients.get(profile) ?? connectPython(python, host, profile === undefined ? {} : { profile });
  clients.set(profile, made);
  return made;
}
const file = (name: string) => join(folder.path, name);
const now = { configuration: { returnImmediately: true } } as const;
const raised = (type: string) => expect.objectContaining({ name: type });

describe('the card', () => {
  it('is read by its URL alone, and each profile has one of its own', async () => {
    const { card } = await connect();
    expect(card.skills.map(({ id }) => id).sort()).toEqual(['echo', 'order', 'report', 'strict', 'wait']);
    expect(card.capabilities).toMatchObject({ streaming: true, pushNotifications: true });
    expect(card.supportedInterfaces).toMatchObject([{ protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]);
    const own = (await connect('order')).card;
    expect(own.supportedInterfaces).toMatchObject([{ tenant: 'order' }]);
    expect(own.skills).toHaveLength(1);
  });

  it('is signed by the key that it names, and so is the extended one; an altered one is refused', async () => {
    const { card, call } = await connectPython(python, host, { verify: true });
    const extended = await call('GetExtendedAgentCard', {});
    await python.ask('verify', { card: extended });
    const verdict = python.ask('verify', { card: { ...card, name: 'Another' } });
    await expect(verdict).rejects.toEqual(raised('InvalidSignaturesError'));
  });

  it('as extended lists what the caller is granted, a profile that is not public too', async () => {
    const { card, call } = await connect();
    const ids = (skills: readonly { readonly id: string }[]) => skills.map(({ id }) => id);
    expect(ids(card.skills)).not.toContain('hidden');
    const { skills } = await call('GetExtendedAgentCard', {});
    // A REQUIRED list is not empty, also where a profile has no tags.
    expect(skills.find(({ id }) => id === 'hidden')).toMatchObject({ tags: ['hidden'] });
  });
});

describe('a message', () => {
  it('is answered with the completed task, equal to what Get shows', async () => {
    const { send, call } = await connect();
    const task = await send('Hello!');
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textsOf(task)).toEqual(['Hello!']);
    expect(await call('GetTask', { id: task.id })).toEqual(task);
  });

  it('may have parts of every kind, which come back as they were', async () => {
    const { send } = await connect();
    const parts = [
      { text: '<a & b> é 漢 \u2028 \u{1F600}' },
      { raw: Buffer.from([0, 1, 250, 255]).toString('base64'), filename: 'x.bin' },
      { url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
      { data: { a: 0, b: false, c: '', d: [], e: null, f: { n: 3, x: 0.5 } } },
      { data: [1, 'two', null] },
    ];
    const task = await send('', { message: { parts } });
    expect(task.artifacts?.flatMap((artifact) => artifact.parts)).toEqual(parts);
    expect(task.history?.[0]?.parts).toEqual(parts);
  });

  it('is answered at once where the client polls, and its task is completed all the same', async () => {
    const { send, call } = await connect('wait');
    const task = await send(file('at-once'), now);
    expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(task.status.state);
    writeFileSync(file('at-once'), '');
    await expect
      .poll(async () => textsOf(await call('GetTask', { id: task.id })), within)
      .toEqual(['released']);
  });

  it('that is sent again with the same id is the same task', async () => {
    const { send } = await connect();
    const messageId = randomUUID();
    const [first, again] = [
      await send('once', { message: { messageId } }),
      await send('once', { message: { messageId } }),
    ];
    expect(again).toEqual(first);
    await expect(send('other', { message: { messageId } })).rejects.toEqual(raised('InvalidParamsError'));
  });

  it('to a task that asked goes on with it, and both are in the history once', async () => {
    const { send } = await connect('order');
    const asked = await send('A car.');
    expect(asked.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'Which colour?' }] },
    });
    const reply = { message: { taskId: asked.id, contextId: asked.contextId! } };
    const task = await send('Red.', reply);
    expect(task).toMatchObject({ id: asked.id, contextId: asked.contextId });
    expect(textsOf(task)).toEqual(['A car., Red.']);
    expect(task.history?.map(({ parts }) => (parts[0] as { text?: string }).text)).toEqual([
      'A car.',
      'Which colour?',
      'Red.',
    ]);
    await expect(send('Blue.', reply)).rejects.toEqual(raised('UnsupportedOperationError'));
  });
});

describe('a stream', () => {
  it('shows a task from its first state to its last, with the artifacts that Get shows', async () => {
    const { stream, call } = await connect('report');
    const events = await collect(stream('streamed'));
    const { id } = taskOf(events[0]);
    expect(events.filter(({ task }) => task)).toHaveLength(1);
    expect(
      events.flatMap(({ statusUpdate }) => (statusUpdate?.status.message?.parts[0] as never)?.['text'] ?? []),
    ).toEqual(['one', 'two', 'done']);
    expect(events.at(-1)?.statusUpdate).toMatchObject({
      taskId: id,
      status: { state: 'TASK_STATE_COMPLETED' },
    });
    const artifacts = events.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact ?? []);
    expect((await call('GetTask', { id })).artifacts).toEqual(artifacts);
  });

  it('is followed by a second client that subscribes, to the same end', async () => {
    const one = await connect('wait');
    const two = await connectPython(python, host, { profile: 'wait' });
    const own = one.stream(file('followed'));
    const { id } = taskOf((await own.next()).value as StreamResponse);
    const others = two.subscribe(id);
    expect(taskOf((await others.next()).value as StreamResponse)).toMatchObject({ id });
    writeFileSync(file('followed'), '');
    const [ownRest, othersRest] = await Promise.all([collect(own), collect(others)]);
    expect(ownRest.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(othersRest.at(-1)).toEqual(ownRest.at(-1));
    await expect(two.subscribe(id).next()).rejects.toEqual(raised('UnsupportedOperationError'));
    await expect(two.subscribe('unknown').next()).rejects.toEqual(raised('TaskNotFoundError'));
  });

  it('goes up to a question, and on from the answer', async () => {
    const { stream, call } = await connect('order');
    const asked = await collect(stream('A boat.'));
    expect(asked.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const { id } = taskOf(asked[0]);
    const answered = await collect(stream('Blue.', { message: { taskId: id } }));
    expect(answered.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textsOf(await call('GetTask', { id }))).toEqual(['A boat., Blue.']);
  });
});

describe('tasks', () => {
  it('of a context are listed page by page, each once, newest first', async () => {
    const { send, call } = await connect();
    const contextId = `list-${randomUUID()}`;
    const sent: string[] = [];
    for (let i = 0; i < 5; i++) sent.unshift((await send(`${i}`, { message: { contextId } })).id);
    // Lists may lag behind what was answered.
    await expect.poll(async () => (await call('ListTasks', { contextId })).tasks?.length, within).toBe(5);
    const pages: Task[][] = [];
    let pageToken = '';
    do {
      const page = await call('ListTasks', { contextId, pageSize: 2, pageToken });
      expect(page).toMatchObject({ totalSize: 5, pageSize: 2 });
      pages.push(page.tasks);
      pageToken = page.nextPageToken ?? '';
    } while (pageToken);
    expect(pages.map((page) => page.map(({ id }) => id))).toEqual([
      sent.slice(0, 2),
      sent.slice(2, 4),
      sent.slice(4),
    ]);
    expect(pages.flat().flatMap(textsOf)).toEqual([]);
    const full = await call('ListTasks', {
      contextId,
      includeArtifacts: true,
      pageSize: 1,
      historyLength: 0,
    });
    expect(full.tasks.flatMap(textsOf)).toEqual(['4']);
    const none = await call('ListTasks', { contextId, status: 'TASK_STATE_FAILED' });
    expect(none.tasks ?? []).toEqual([]);
  });

  it('are canceled once, as Get shows', async () => {
    const { send, call } = await connect('wait');
    const { id } = await send(file('never'), now);
    const canceled = await call('CancelTask', { id });
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED');
    expect(await call('GetTask', { id })).toEqual(canceled);
    await expect(call('CancelTask', { id })).rejects.toEqual(raised('TaskNotCancelableError'));
    await expect(call('CancelTask', { id: 'unknown' })).rejects.toEqual(raised('TaskNotFoundError'));
  });
});

describe('webhooks', () => {
  const config = {
    url: 'https://hooks.example.com/a2a',
    token: 'kept',
    authentication: { scheme: 'Bearer', credentials: 'secret' },
  };

  it('of a task are created, listed by pages, read and deleted, and never show their credential', async () => {
    const { send, call } = await connect('order');
    const { id: taskId } = await send('A plane.');
    const one = await call('CreateTaskPushNotificationConfig', { taskId, ...config });
    const two = await call('CreateTaskPushNotificationConfig', { taskId, ...config });
    expect(one).toEqual({ id: one.id, taskId, ...config, authentication: { scheme: 'Bearer' } });
    expect(two.id).not.toBe(one.id);
    const first = await call('ListTaskPushNotificationConfigs', { taskId, pageSize: 1 });
    const { nextPageToken: pageToken = '' } = first;
    const second = await call('ListTaskPushNotificationConfigs', { taskId, pageSize: 1, pageToken });
    expect([first.configs, second.configs]).toEqual([[one], [two]]);
    const named = { taskId, id: one.id! };
    expect(await call('GetTaskPushNotificationConfig', named)).toEqual(one);
    // What is gone stays gone: a second delete is no error.
    for (let i = 0; i < 2; i++) await call('DeleteTaskPushNotificationConfig', named);
    await expect(call('GetTaskPushNotificationConfig', named)).rejects.toEqual(raised('TaskNotFoundError'));
    expect((await call('ListTaskPushNotificationConfigs', { taskId })).configs).toEqual([two]);
  });

  interface Pushed {
    readonly headers: Readonly<Record<string, string>>;
    readonly event: StreamResponse;
  }

  it('get every event of a task in order, whether they came with the message or were created after it', async () => {
    const url = await python.ask<string>('listen');
    const { send, call } = await connect('order');
    const embedded = { ...config, url, authentication: { scheme: 'Bearer', credentials: 'embedded' } };
    const asked = await send('A train.', { configuration: { taskPushNotificationConfig: embedded } });
    const created = { ...config, url, authentication: { scheme: 'Bearer', credentials: 'created' } };
    await call('CreateTaskPushNotificationConfig', { taskId: asked.id, ...created });
    const task = await send('Green.', { message: { taskId: asked.id } });

    const pushedTo = async (credential: string) => {
      const all = await python.ask<Pushed[]>('received');
      return all.filter(({ headers }) => headers['authorization'] === `Bearer ${credential}`);
    };
    const outline = async (credential: string) =>
      (await pushedTo(credential)).map(({ event }) => nameOf(event));
    await expect
      .poll(() => outline('created'), within)
      .toEqual(['WORKING', 'Green.', 'COMPLETED'].map(named));
    await expect
      .poll(() => outline('embedded'), within)
      .toEqual(['SUBMITTED', 'INPUT_REQUIRED', 'WORKING', 'Green.', 'COMPLETED'].map(named));
    for (const { headers } of await pushedTo('embedded')) {
      expect(headers).toMatchObject({ 'content-type': 'application/a2a+json' });
      expect(JSON.stringify(headers)).not.toContain('kept');
    }
    const last = (await pushedTo('created')).at(-1)?.event.statusUpdate;
    expect(last).toMatchObject({ taskId: task.id, contextId: task.contextId, status: task.status });
  });

  const named = (name: string) => (name === 'Green.' ? 'A train., Green.' : `TASK_STATE_${name}`);
  const nameOf = ({ statusUpdate, artifactUpdate }: StreamResponse) =>
    statusUpdate?.status.state ?? (artifactUpdate?.artifact.parts[0] as { text?: string } | undefined)?.text;
});

describe('what is wrong is told by the exceptions of the SDK', () => {
  it('for a task, a tenant, a media type, a version and an argument', async () => {
    const { send, call } = await connect();
    const faults: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['TaskNotFoundError', () => call('GetTask', { id: 'unknown' })],
      ['TaskNotFoundError', () => send('x', { message: { taskId: 'unknown' } })],
      ['TaskNotFoundError', () => call('ListTaskPushNotificationConfigs', { taskId: 'unknown' })],
      ['InvalidParamsError', () => send('x', { tenant: 'nowhere' })],
      ['InvalidParamsError', () => call('ListTasks', { pageSize: 1_000 })],
      ['InvalidParamsError', () => call('ListTasks', { pageToken: 'none' })],
      ['InvalidParamsError', () => send('x', { message: { parts: [] } })],
      ['VersionNotSupportedError', () => send('x', {}, { headers: { 'A2A-Version': '0.3' } })],
    ];
    for (const [name, fault] of faults) await expect(fault()).rejects.toEqual(raised(name));
    const order = await connect('order');
    const unreadable = { configuration: { acceptedOutputModes: ['image/png'] } };
    await expect(order.send('x', unreadable)).rejects.toEqual(raised('ContentTypeNotSupportedError'));
  });

  it('for an extension that the profile requires', async () => {
    const { send } = await connect('strict');
    await expect(send('x')).rejects.toEqual(raised('ExtensionSupportRequiredError'));
    expect(textsOf(await send('x', {}, { headers: { 'A2A-Extensions': receipt } }))).toEqual(['x']);
  });

  it('for push and the extended card where they are switched off', async () => {
    const settings = (value: boolean | null) =>
      administer(host.url, host.adminToken, 'settings.set', {
        settings: { pushNotifications: value, extendedCard: value },
      });
    const { send, call } = await connect('order');
    const { id: taskId } = await send('A bus.');
    await settings(false);
    try {
      const listed = () => call('ListTaskPushNotificationConfigs', { taskId });
      await expect
        .poll(() => listed().catch((error: PythonError) => error.name), { timeout: 10_000, interval: 200 })
        .toBe('PushNotificationNotSupportedError');
      await expect(call('GetExtendedAgentCard', {})).rejects.toEqual(raised('UnsupportedOperationError'));
    } finally {
      await settings(null);
    }
  });
});

/** Not worked around: what a client of this SDK has to know. */
describe('the SDK differs from what one may expect:', () => {
  it('a refused credential is an HTTP error to it, and the JSON-RPC error in the body is not read', async () => {
    const { send } = await connectPython(python, { ...host, token: 'sp_demo_wrong' });
    const refused = expect.objectContaining({ name: 'A2AClientError', status: 401 });
    await expect(send('x')).rejects.toEqual(refused);
  });

  it('of an error it keeps the metadata of the ErrorInfo, not its reason', async () => {
    const { call } = await connect();
    const error = (await call('GetTask', { id: 'unknown' }).catch((thrown) => thrown)) as PythonError;
    expect(error.name).toBe('TaskNotFoundError');
    expect(JSON.stringify(error.data ?? {})).not.toContain('TASK_NOT_FOUND');
  });

  it('without a timeout of its own it waits five seconds; the task is completed all the same', async () => {
    const { send, call } = await connect('wait');
    const contextId = `patience-${randomUUID()}`;
    const sent = send(file('late'), { message: { contextId } }, { timeout: null });
    await expect(sent).rejects.toEqual(raised('A2AClientTimeoutError'));
    writeFileSync(file('late'), '');
    const found = async () => (await call('ListTasks', { contextId, includeArtifacts: true })).tasks ?? [];
    await expect.poll(async () => (await found()).flatMap(textsOf), within).toEqual(['released']);
  });
});

const within = { timeout: 10_000, interval: 50 };

function taskOf(event: StreamResponse | undefined): Task {
  if (!event?.task) throw new Error('a stream begins with the task');
  return event.task;
}
