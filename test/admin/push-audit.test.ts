import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGuard } from '../../shared/guard/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import { scriptedResolver } from '../guard/receiver.ts';
import { deliverOne, startWebhooks, WEBHOOK_HOST, type Webhooks } from '../push/rig.ts';
import { createGateway, echoProfile, type Gateway, message, register } from '../server/rig.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';

let rig: StoreRig;
let gateway: Gateway;
let webhooks: Webhooks;
let status = 200;

beforeAll(async () => {
  rig = await startStore();
  webhooks = await startWebhooks((response) => response.writeHead(status).end());
  await register(rig.store, {
    clients: [{ id: 'alice', webhookPorts: [webhooks.receiver.port] }],
    profiles: [echoProfile],
    providers: [{ id: 'echo', kind: 'echo', timeoutSeconds: 10 }],
  });
  gateway = createGateway({ store: rig.store });
});
afterAll(async () => {
  await webhooks[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});

const audited = async (operation: string) => {
  const partition = keys.audit(gateway.services.clock.now(), '').pk;
  const { items } = await rig.store.query({ table: 'registry', partition, consistent: true });
  return items.filter((item) => item['operation'] === operation);
};
const secret = 'a-credential';
async function registered(): Promise<{ task: string; config: string }> {
  const { result } = await gateway.call('alice', 'SendMessage', {
    message: message('hello'),
    configuration: {
      returnImmediately: true,
      taskPushNotificationConfig: {
        url: webhooks.url(),
        authentication: { scheme: 'Bearer', credentials: secret },
      },
    },
  });
  const task: string = result.task.id;
  const partition = keys.pushConfig(task, '').pk;
  const { items } = await rig.store.query({ table: 'outbox', partition, sort: { prefix: 'C#' } });
  return { task, config: items[0]!.sk.slice(2) };
}

describe('the audit', () => {
  it('keeps who was paused and why, once, with nothing of the address or the credential', async () => {
    const { task, config } = await registered();
    status = 403;
    await deliverOne(webhooks.services(gateway), { task, config });
    await deliverOne(webhooks.services(gateway), { task, config });
    status = 200;
    const entries = await audited('push.pause');
    expect(entries).toEqual([
      {
        pk: expect.stringMatching(/^audit#\d{6}$/),
        sk: expect.any(String),
        v: 1,
        at: expect.any(Number),
        actor: 'gateway',
        operation: 'push.pause',
        kind: 'push',
        id: `${task}/${config}`,
        client: 'alice',
        reason: 'authentication_failed',
      },
    ]);
  });

  it('keeps a refused address as a security event with rule and class, and no packet was sent', async () => {
    const { task, config } = await registered();
    const before = webhooks.receiver.connections();
    const guard = createGuard({
      ownHosts: [],
      resolver: scriptedResolver({ [WEBHOOK_HOST]: [['8.8.8.8', '10.0.0.1']] }),
    });
    await deliverOne({ ...webhooks.services(gateway), guard }, { task, config });
    expect(webhooks.receiver.connections()).toBe(before);
    const entries = await audited('push.stop');
    expect(entries).toMatchObject([
      {
        id: `${task}/${config}`,
        client: 'alice',
        reason: 'address_refused',
        rule: 'address',
        addressClass: 'private',
      },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(new RegExp(`10\\.0\\.0\\.1|${WEBHOOK_HOST}|${secret}`));
    expect(gateway.metrics.measurements).toContainEqual(
      expect.objectContaining({ name: 'GuardRefused', dimensions: { rule: 'address' } }),
    );
  });

  it('is not filled by a client that is refused again and again: one entry a minute for each rule', async () => {
    const { task } = await registered();
    const refuse = async (url: string) => {
      const { error } = await gateway.call('alice', 'CreateTaskPushNotificationConfig', {
        taskId: task,
        url,
      });
      expect(error?.code).toBe(-32602);
    };
    const started = Math.floor(gateway.services.clock.now() / 60_000);
    for (let i = 0; i < 10; i++) await refuse(`https://127.0.0.${i}/`);
    await refuse('https://printer.local/');
    const minutes = 1 + Math.floor(gateway.services.clock.now() / 60_000) - started;
    const entries = await audited('push.refuse');
    const rules = entries.map((entry) => entry['rule']);
    expect(new Set(rules)).toEqual(new Set(['literal', 'special-use']));
    expect(rules.filter((rule) => rule === 'literal').length).toBeLessThanOrEqual(minutes);
    expect(entries).toMatchObject(rules.map(() => ({ actor: 'gateway', kind: 'client', id: 'alice' })));
    expect(gateway.metrics.measurements.filter(({ name }) => name === 'GuardRefused').length).toBe(12);
  });
});
