import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listHalted } from '../../shared/push/operate.ts';
import { tables } from '../../shared/storage/index.ts';
import type { TableName } from '../../shared/storage/tables.ts';
import { message } from '../server/rig.ts';
import { deliverOne, type Push, startPush } from './rig.ts';

const TOKEN = 'planted-token-7f3a';
const CREDENTIAL = 'planted-credential-91bc';
const TEXT = 'planted message text 55de';
const PATH = 'planted-path-c0ffee';
const PLANTED = [TOKEN, CREDENTIAL, TEXT, PATH];

/** As it is, and as it would stand in what encodes bytes. */
function shapes(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('hex'),
    encodeURIComponent(secret),
  ];
}

function found(text: string): string[] {
  return PLANTED.filter((secret) => shapes(secret).some((shape) => text.includes(shape)));
}

/** Binary values as what they hold, so that nothing hides in them. */
function flat(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    inner instanceof Uint8Array || inner?.type === 'Buffer' ? Buffer.from(inner).toString('latin1') : inner,
  );
}

describe('a planted token, credential, address and message text (P10)', () => {
  let push: Push;
  const errors: string[] = [];
  const messages: unknown[] = [];
  const answers: unknown[] = [];
  const operators: unknown[] = [];
  beforeAll(async () => {
    push = await startPush({
      exchangeMs: 300,
      answer: (response, { path }) => {
        const status = Number(/status-(\d+)/.exec(path)?.[1] ?? 200);
        if (status === 0) response.socket?.destroy();
        else
          response
            .writeHead(status, { Location: `https://elsewhere.example.com/${CREDENTIAL}` })
            .end(CREDENTIAL);
      },
    });
    const { gateway, webhooks, outbox } = push;
    const webhook = (more: string, host?: string) => ({
      url: webhooks.url(`/${PATH}/${more}`, host),
      token: TOKEN,
      authentication: { scheme: 'Bearer', credentials: CREDENTIAL },
    });
    outbox.consume = async (one) => {
      messages.push(one);
      await deliverOne(push.services, one).catch((error: unknown) => errors.push(String(error)));
    };
    const hosts = [undefined, 'other.example.com', 'inside.example.com', 'nowhere.example.com'];
    const wanted = [
      ...['200', '0', '302', '401', '404', '500', '503'].map((status) => webhook(`status-${status}`)),
      ...hosts.map((host) => webhook('x', host)),
    ];
    for (const one of wanted) {
      const task = await push.send(TEXT, one);
      await push.finish(task);
      await outbox.drain();
      await push.sweep();
      for (const config of await push.configs(task)) operators.push(await push.show(task, config));
      answers.push(await gateway.call('alice', 'ListTaskPushNotificationConfigs', { taskId: task }));
    }
    operators.push(await listHalted(push.services, ['paused', 'stopped']));
    // Something of ours fails, and quotes what it was given, as stores and libraries do.
    const quoting = new Error(`rejected: ${TOKEN} ${CREDENTIAL} ${TEXT} ${PATH}`, {
      cause: new Error(CREDENTIAL),
    });
    const task = await push.send(TEXT, webhook('status-200'));
    await push.finish(task);
    push.gateway.outboxQueue.messages.splice(0);
    const [config] = await push.configs(task);
    const failing = { policyOf: () => Promise.reject(quoting) };
    await deliverOne({ ...push.services, ...failing }, { task, config: config! }).catch(() => {});
    const noNotes = {
      ...push.store,
      transact: () => Promise.reject(quoting),
    };
    const failed = await push.send(TEXT, webhook('status-503'));
    await push.gateway.follow(failed);
    push.gateway.outboxQueue.messages.splice(0);
    const [other] = await push.configs(failed);
    await deliverOne({ ...push.services, store: noNotes }, { task: failed, config: other! });
    // Refused at registration.
    for (const bad of [
      `http://${PATH}.example.com/`,
      `https://127.0.0.1/${PATH}`,
      `https://user:${CREDENTIAL}@x.y/`,
    ]) {
      const { error } = await gateway.call('alice', 'SendMessage', {
        message: message(TEXT),
        configuration: { taskPushNotificationConfig: { ...webhook('x'), url: bad } },
      });
      errors.push(JSON.stringify(error));
    }
    const injected = { ...webhook('x'), token: `${TOKEN}\r\n` };
    const { error } = await gateway.call('alice', 'CreateTaskPushNotificationConfig', {
      taskId: task,
      ...injected,
    });
    errors.push(JSON.stringify(error));
  });
  afterAll(() => push[Symbol.asyncDispose]());

  test('were sent where they were meant to go: the search would find them', () => {
    const bodies = push.webhooks.receiver.seen
      .map(({ body, headers }) => body + JSON.stringify(headers))
      .join();
    expect(found(bodies + push.webhooks.receiver.seen[0]?.path)).toEqual([CREDENTIAL, TEXT, PATH]);
    expect(messages.length).toBeGreaterThan(10);
    expect(errors.length).toBeGreaterThan(3);
  });

  test('stand in no log line, metric, queue message, error and operator answer', () => {
    const { log, metrics, outboxQueue, runQueue } = push.gateway;
    expect(log.lines.length).toBeGreaterThan(3);
    expect(found(flat(log.lines))).toEqual([]);
    expect(found(flat(metrics.measurements))).toEqual([]);
    expect(found(flat([messages, outboxQueue.messages, push.outbox.waiting, runQueue.messages]))).toEqual([]);
    expect(found(flat(errors))).toEqual([]);
    expect(found(flat(operators))).toEqual([]);
  });

  test.each(Object.keys(tables) as TableName[])('stand nowhere in the table %s', async (table) => {
    let after: Readonly<Record<string, string>> | undefined;
    let items = 0;
    do {
      const page = await push.store.scan(table, after);
      items += page.items.length;
      expect(found(flat(page.items))).toEqual([]);
      after = page.next;
    } while (after);
    if (table !== 'delegation') expect(items).toBeGreaterThan(5);
  });

  test('are shown to the client, the credential excepted', () => {
    expect(found(flat(answers))).toEqual([TOKEN, PATH]);
  });
});
