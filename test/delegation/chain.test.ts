import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Host, type HostOptions, startHost } from '../../infra/local/host.ts';
import { administer } from '../e2e/administer.ts';
import { asksForAColour, type Folder, makeFolder } from '../e2e/function-provider.ts';
import { call, message, textOf } from '../local/rpc.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

/** Answers a little later than it was asked, unless it was told never to. */
const answersLate = `
  const text = run.message.parts[0].text;
  await new Promise((resolve) => setTimeout(resolve, text === 'never' ? 60_000 : 300));
  return { artifacts: [{ name: 'late', text }], message: 'Here it is.' };`;

const errors: unknown[] = [];
let folder: Folder;
/** Our client asks A, which hands everything on to B, which hands it on to C, which does the work. */
let a: Host;
let b: Host;
let c: Host;
let hooks: Server;
/** What came at the webhook of our client, by path, with the credential. */
const pushed: { readonly path: string; readonly authorization: string; readonly event: Event }[] = [];

interface Event {
  readonly statusUpdate?: { readonly taskId: string; readonly status: { readonly state: string } };
  readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { readonly text?: string }[] } };
}

const start = (name: string, options: HostOptions = {}) =>
  startHost({
    allowLoopback: true,
    graceMs: 1_000,
    variables: {},
    onError: (at, error) => errors.push([name, at, error]),
    ...options,
  });

beforeAll(async () => {
  folder = makeFolder();
  const functionModules = {
    late: folder.handler('late', answersLate),
    colour: folder.handler('colour', asksForAColour),
  };
  hooks = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += piece;
    const { url: path = '', headers } = request;
    pushed.push({ path, authorization: headers.authorization ?? '', event: JSON.parse(body) });
    response.end();
  });
  await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve));
  [a, b, c] = await Promise.all([start('a'), start('b'), start('c', { functionModules })]);
  // All of one gateway first: what it publishes after a look at its cards is seen five seconds later.
  for (const [near, far] of [
    [b, c],
    [a, b],
  ] as const)
    for (const id of ['late', 'colour']) await handOn(near, far, id);
}, 60_000);
afterAll(async () => {
  await Promise.all([a, b, c].map((host) => host?.stop()));
  hooks?.close();
  folder?.[Symbol.dispose]();
});

/** A profile of `near` that hands its tasks to the profile of the same name at `far`. */
async function handOn(near: Host, far: Host, id: string): Promise<void> {
  const admin = (operation: string, input: object) => administer(near.url, near.adminToken, operation, input);
  const cardUrl = `${far.url}/agents/${id}/.well-known/agent-card.json`;
  await admin('agent.add', { agent: { id, cardUrl, credential: far.token } });
  await admin('provider.put', { provider: { id, kind: 'remote', agent: id } });
  const profile = { id, name: id, description: 'Hands it on.', providers: [id], public: true };
  await admin('profile.put', { profile });
  await admin('profile.publish', { id });
}

const within = { timeout: 20_000, interval: 50 };

/** A message of our client, with a webhook of that path. */
async function send(text: string, profile: string, path: string, returnImmediately = false) {
  const { port } = hooks.address() as AddressInfo;
  const taskPushNotificationConfig = {
    url: `http://127.0.0.1:${port}${path}`,
    authentication: { scheme: 'Bearer', credentials: `secret-of-${path}` },
  };
  const { body } = await call(a, 'SendMessage', {
    ...message(text, profile),
    configuration: { returnImmediately, taskPushNotificationConfig },
  });
  const task = body.result?.task;
  if (!task) throw new Error(JSON.stringify(body));
  return task;
}

/** States of a host's tasks whose first message is this. */
async function statesOf(host: Host, text: string): Promise<string[]> {
  const { body } = await call(host, 'ListTasks', { pageSize: 100, historyLength: 10 });
  const { tasks } = body.result as unknown as {
    tasks: { status: { state: string }; history: { parts: { text: string }[] }[] }[];
  };
  return tasks.filter(({ history }) => history[0]?.parts[0]?.text === text).map(({ status }) => status.state);
}

const everywhere = (text: string) => Promise.all([a, b, c].map((host) => statesOf(host, text)));

/** What the webhook was told, in order; that a task works is told by some and not by others. */
const toldAt = (path: string) =>
  pushed
    .filter((one) => one.path === path)
    .map(({ event }) => event.statusUpdate?.status.state ?? event.artifactUpdate?.artifact.parts[0]?.text)
    .filter((told) => told !== 'TASK_STATE_WORKING');

describe('a chain of three gateways', () => {
  it('brings the result of the last to the client of the first, and its end to that client’s webhook', async () => {
    const task = await send('through all', 'late', '/result');
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      message: { parts: [{ text: 'Here it is.' }] },
    });
    expect(textOf(task)).toBe('through all');
    expect(await everywhere('through all')).toEqual(Array(3).fill(['TASK_STATE_COMPLETED']));
    const told = ['TASK_STATE_SUBMITTED', 'through all', 'TASK_STATE_COMPLETED'];
    await vi.waitFor(() => expect(toldAt('/result')).toEqual(told), within);
    const own = pushed.filter(({ path }) => path === '/result');
    expect(new Set(own.map(({ authorization }) => authorization))).toEqual(
      new Set(['Bearer secret-of-/result']),
    );
    for (const { event } of own) if (event.statusUpdate) expect(event.statusUpdate.taskId).toBe(task.id);
  });

  it('carries a question of the last to the first, and the answer back', async () => {
    const asked = await send('a car', 'colour', '/question');
    expect(asked.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'Which colour?' }] },
    });
    const { message: reply } = message('red');
    const { body } = await call(a, 'SendMessage', { message: { ...reply, taskId: asked.id } });
    expect(body.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(body.result?.task)).toBe('a car, red');
    expect(await everywhere('a car')).toEqual(Array(3).fill(['TASK_STATE_COMPLETED']));
    const told = ['SUBMITTED', 'INPUT_REQUIRED'].map((state) => `TASK_STATE_${state}`);
    await vi.waitFor(
      () => expect(toldAt('/question')).toEqual([...told, 'a car, red', 'TASK_STATE_COMPLETED']),
      within,
    );
  });

  it('carries a cancellation from the first to the last', async () => {
    const { id } = await send('never', 'late', '/cancel', true);
    await vi.waitFor(async () => expect(await statesOf(c, 'never')).toHaveLength(1), within);
    const { body } = await call(a, 'CancelTask', { id });
    expect(body.result).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } });
    await vi.waitFor(
      async () => expect(await everywhere('never')).toEqual(Array(3).fill(['TASK_STATE_CANCELED'])),
      within,
    );
    await vi.waitFor(
      () => expect(toldAt('/cancel')).toEqual(['TASK_STATE_SUBMITTED', 'TASK_STATE_CANCELED']),
      within,
    );
  });
});

it('nothing failed that nobody saw', () => expect(errors).toEqual([]));
