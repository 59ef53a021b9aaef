import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AgentCard,
  type Task,
  type TaskPushNotificationConfig,
  TaskState,
  verifyAgentCardSignature,
} from '@a2a-js/sdk';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  asksForAColour,
  type Folder,
  makeFolder,
  reportsProgress,
  waitsForAFile,
} from './function-provider.ts';
import { asTask, collect, connectStock, request, textsOf } from './stock-client.ts';

export interface StockHost {
  readonly url: string;
  readonly token: string;
  readonly stop: () => Promise<unknown>;
}

/**
 * What a client that knows nothing of this gateway does with it (V06, M01, M03, M10, S01, S04, C02, C03, P01, P12, A05):
 * each answer is read by the SDK and, beside it, held against the proto. The same for every way to run the gateway.
 */
export function provesAStockClient(
  start: (functions: Readonly<Record<string, string>>) => Promise<StockHost>,
): void {
  let folder: Folder;
  let host: StockHost;
  beforeAll(async () => {
    folder = makeFolder();
    host = await start({
      order: folder.handler('order', asksForAColour),
      report: folder.handler('report', reportsProgress),
      wait: folder.handler('wait', waitsForAFile),
    });
  });
  afterAll(async () => {
    await host?.stop();
    folder?.[Symbol.dispose]();
  });
  const connect = (profile?: string) =>
    connectStock(host, profile && `agents/${profile}/.well-known/agent-card.json`);
  const file = (name: string) => join(folder.path, name);

  it('reads the card, and the extended card with its token', async () => {
    const { client, answered } = await connect();
    const card = await client.getAgentCard();
    expect(answered).toMatchObject([
      { method: 'GetExtendedAgentCard', results: [{ version: card.version }] },
    ]);
    expect(card.skills.map(({ id }) => id).sort()).toEqual(['echo', 'order', 'report', 'wait']);
    expect(card.capabilities).toMatchObject({ streaming: true, pushNotifications: true });
    expect(card.supportedInterfaces[0]).toMatchObject({ protocolBinding: 'JSONRPC', protocolVersion: '1.0' });
  });

  it('finds both cards signed with the key that they name', async () => {
    const { client, answered } = await connect();
    await client.getAgentCard();
    const open = await (await fetch(`${host.url}/.well-known/agent-card.json`)).json();
    // The SDK tells of signatures that do not hold; of two of ours the second is meant for it.
    using _quiet = vi.spyOn(console, 'debug').mockImplementation(() => {});
    const verify = verifyAgentCardSignature(async (kid, jku) => {
      expect(jku).toBe(`${host.url}/.well-known/jwks.json`);
      const { keys } = (await (await fetch(jku ?? '')).json()) as { keys: { kid: string }[] };
      return keys.find((key) => key.kid === kid) as never;
    });
    await verify(open as AgentCard);
    await verify(answered[0]?.results[0] as AgentCard);
    await expect(verify({ ...(open as AgentCard), name: 'Another' })).rejects.toThrow('No valid signatures');
  });

  it('answers a blocking message with the completed task, equal to what Get shows', async () => {
    const { client } = await connect();
    const task = asTask(await client.sendMessage(request('Hello!')));
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textsOf(task)).toEqual(['Hello!']);
    expect(task.contextId).not.toBe('');
    expect(await client.getTask({ tenant: '', id: task.id })).toEqual(task);
  });

  it('repeats parts of every kind as they are', async () => {
    const { client } = await connect();
    const plain = { metadata: undefined, filename: '', mediaType: '' };
    const data = { a: 0, b: false, c: '', d: [], e: null, f: { n: 3 } };
    const parts = [
      { ...plain, content: { $case: 'text' as const, value: '<a & b> é 漢 \u2028 \u{1F600}' } },
      {
        ...plain,
        content: { $case: 'raw' as const, value: Buffer.from([0, 1, 250, 255]) },
        filename: 'x.bin',
      },
      { ...plain, content: { $case: 'url' as const, value: 'https://example.com/a.pdf' } },
      { ...plain, content: { $case: 'data' as const, value: data } },
    ];
    const task = asTask(await client.sendMessage(request('', { message: { parts } })));
    expect(task.artifacts.flatMap((artifact) => artifact.parts).map(({ content }) => content)).toEqual(
      parts.map(({ content }) => content),
    );
  });

  it('answers at once when told to, and the task is completed all the same', async () => {
    const { client } = await connect('wait');
    const before = performance.now();
    const sent = request(file('at-once'), { configuration: { returnImmediately: true } });
    const task = asTask(await client.sendMessage(sent));
    expect(performance.now() - before).toBeLessThan(1_000);
    expect([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING]).toContain(task.status?.state);
    writeFileSync(file('at-once'), '');
    await expect
      .poll(() => client.getTask({ tenant: '', id: task.id }).then(textsOf), within)
      .toEqual(['released']);
  });

  it('streams a task from its first state to its last, with the artifacts that Get shows', async () => {
    const { client, answered } = await connect('report');
    const events = await collect(client.sendMessageStream(request('streamed')));
    expect(answered.at(-1)?.results).toHaveLength(events.length);
    expect(events[0]?.payload?.$case).toBe('task');
    expect(events.filter(({ payload }) => payload?.$case === 'task')).toHaveLength(1);
    const said = events.flatMap(({ payload }) =>
      payload?.$case === 'statusUpdate' ? [payload.value.status?.message?.parts[0]?.content?.value] : [],
    );
    expect(said).toEqual(['one', 'two', 'done']);
    expect(stateOf(events.at(-1))).toBe(TaskState.TASK_STATE_COMPLETED);
    const first = taskOf(events[0]);
    const artifacts = events.flatMap(({ payload }) =>
      payload?.$case === 'artifactUpdate' ? [payload.value.artifact] : [],
    );
    expect((await client.getTask({ tenant: '', id: first.id })).artifacts).toEqual(artifacts);
    expect(
      events.flatMap(({ payload }) => (payload as { value: { taskId?: string } }).value.taskId ?? []),
    ).toEqual(events.slice(1).map(() => first.id));
  });

  it('lets a second client of the same owner follow a running task to its end', async () => {
    const { client } = await connect('wait');
    const second = await connect('wait');
    const stream = client.sendMessageStream(request(file('followed')));
    const { value: opening } = await stream.next();
    const { id } = taskOf(opening);
    const following = second.client.resubscribeTask({ tenant: '', id });
    const { value: seen } = await following.next();
    expect(seen?.payload).toMatchObject({ $case: 'task', value: { id } });
    writeFileSync(file('followed'), '');
    const [own, others] = await Promise.all([collect(stream), collect(following)]);
    expect(stateOf(own.at(-1))).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(others.at(-1)).toEqual(own.at(-1));
    await expect(collect(second.client.resubscribeTask({ tenant: '', id }))).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
    });
  });

  it('asks, is answered, and completes with both messages in the history once', async () => {
    const { client } = await connect('order');
    const asked = asTask(await client.sendMessage(request('A car.')));
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(asked.status?.message?.parts[0]?.content?.value).toBe('Which colour?');
    const answer = request('Red.', { message: { taskId: asked.id, contextId: asked.contextId } });
    const task = asTask(await client.sendMessage(answer));
    expect([task.id, task.contextId]).toEqual([asked.id, asked.contextId]);
    expect(textsOf(task)).toEqual(['A car., Red.']);
    expect(task.history.map(({ parts }) => parts[0]?.content?.value)).toEqual([
      'A car.',
      'Which colour?',
      'Red.',
    ]);
    await expect(
      client.sendMessage({ ...answer, message: { ...answer.message!, messageId: 'late' } }),
    ).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
    });
  });

  it('streams up to a question, and on from the answer', async () => {
    const { client } = await connect('order');
    const asked = await collect(client.sendMessageStream(request('A boat.')));
    expect(stateOf(asked.at(-1))).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const { id } = taskOf(asked[0]);
    const answered = await collect(client.sendMessageStream(request('Blue.', { message: { taskId: id } })));
    expect(stateOf(answered.at(-1))).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textsOf(await client.getTask({ tenant: '', id }))).toEqual(['A boat., Blue.']);
  });

  it('lists the tasks of a context page by page, each once, newest first', async () => {
    const { client } = await connect();
    const contextId = `list-${crypto.randomUUID()}`;
    const sent: string[] = [];
    for (let i = 0; i < 5; i++) {
      sent.unshift(asTask(await client.sendMessage(request(`${i}`, { message: { contextId } }))).id);
    }
    const page = (pageToken: string) => client.listTasks({ ...list, contextId, pageSize: 2, pageToken });
    // Lists may lag behind what was answered.
    await expect
      .poll(async () => (await client.listTasks({ ...list, contextId })).tasks.length, within)
      .toBe(5);
    const [one, two, three] = await pages(page);
    expect([one, two, three].map((each) => each?.tasks.map(({ id }) => id))).toEqual([
      sent.slice(0, 2),
      sent.slice(2, 4),
      sent.slice(4),
    ]);
    expect(one).toMatchObject({ totalSize: 5, pageSize: 2 });
    expect(one?.tasks.flatMap(textsOf)).toEqual([]);
    const full = await client.listTasks({ ...list, contextId, includeArtifacts: true, pageSize: 1 });
    expect(full.tasks.flatMap(textsOf)).toEqual(['4']);
    const none = await client.listTasks({ ...list, contextId, status: TaskState.TASK_STATE_FAILED });
    expect(none).toMatchObject({ tasks: [], totalSize: 0, nextPageToken: '' });
  });

  it('cancels a running task once, as Get shows it', async () => {
    const { client } = await connect('wait');
    const sent = request(file('never'), { configuration: { returnImmediately: true } });
    const { id } = asTask(await client.sendMessage(sent));
    const canceled = await client.cancelTask({ tenant: '', id, metadata: undefined });
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    expect(await client.getTask({ tenant: '', id })).toEqual(canceled);
    await expect(client.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toMatchObject({
      name: 'TaskNotCancelableError',
    });
    await expect(client.getTask({ tenant: '', id: 'unknown' })).rejects.toMatchObject({
      name: 'TaskNotFoundError',
    });
  });

  it('keeps webhooks of a task: two of them, listed by pages, read and deleted, without their credentials', async () => {
    const { client } = await connect('order');
    const { id: taskId } = asTask(await client.sendMessage(request('A plane.')));
    const config: TaskPushNotificationConfig = {
      tenant: '',
      id: '',
      taskId,
      url: 'https://hooks.example.com/a2a',
      token: 'kept',
      authentication: { scheme: 'Bearer', credentials: 'secret' },
    };
    const [one, two] = [
      await client.createTaskPushNotificationConfig(config),
      await client.createTaskPushNotificationConfig(config),
    ];
    expect(one?.id).not.toBe(two?.id);
    expect(one).toMatchObject({
      taskId,
      url: config.url,
      token: 'kept',
      authentication: { credentials: '' },
    });
    const page = (pageToken: string) =>
      client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 1, pageToken });
    expect((await pages(page)).map(({ configs }) => configs)).toEqual([[one], [two]]);
    const named = { tenant: '', taskId, id: one?.id ?? '' };
    expect(await client.getTaskPushNotificationConfig(named)).toEqual(one);
    await client.deleteTaskPushNotificationConfig(named);
    await client.deleteTaskPushNotificationConfig(named);
    expect((await pages(page)).flatMap(({ configs }) => configs)).toEqual([two]);
    await expect(client.getTaskPushNotificationConfig(named)).rejects.toMatchObject({
      name: 'TaskNotFoundError',
    });
  });

  it('is told once what it does wrong, in a way that the SDK understands', async () => {
    await expect(
      connectStock({ ...host, token: 'sp_demo_wrong' }).then(({ client }) =>
        client.sendMessage(request('x')),
      ),
    ).rejects.toThrow();
    const { client } = await connect();
    await expect(client.sendMessage(request('x', { tenant: 'nowhere' }))).rejects.toMatchObject({
      name: 'RequestMalformedError',
    });
  });

  it('is served from a cache as long as the card stands', async () => {
    const url = `${host.url}/.well-known/agent-card.json`;
    const first = await fetch(url);
    expect(first.headers.get('cache-control')).toMatch(/max-age=\d+/);
    const etag = first.headers.get('etag') ?? '';
    expect((await fetch(url, { headers: { 'if-none-match': etag } })).status).toBe(304);
  });
}

const within = { timeout: 5_000, interval: 50 };

const list = {
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: '',
  statusTimestampAfter: undefined,
};

async function pages<Page extends { readonly nextPageToken: string }>(
  page: (token: string) => Promise<Page>,
): Promise<Page[]> {
  const all = [await page('')];
  for (let token = all[0]?.nextPageToken; token; token = all.at(-1)?.nextPageToken)
    all.push(await page(token));
  return all;
}

function taskOf(event: unknown): Task {
  const { payload } = (event ?? {}) as { payload?: { $case: string; value: Task } };
  if (payload?.$case !== 'task') throw new Error('a stream begins with the task');
  return payload.value;
}

function stateOf(event: { readonly payload?: { readonly value: unknown } | undefined } | undefined) {
  return (event?.payload?.value as Task | undefined)?.status?.state;
}
