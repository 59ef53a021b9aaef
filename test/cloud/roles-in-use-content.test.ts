import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batch, type GatewayInRoles, message, startGatewayInRoles } from './gateway-in-roles.ts';

/** What may be kept (design §7), by functions with no more than their deployed roles. */
const DAY = 86_400_000;
const SECRET = 'someone@example.com';
let gateway: GatewayInRoles;
let call: Awaited<ReturnType<GatewayInRoles['client']>>;

beforeAll(async () => {
  gateway = await startGatewayInRoles();
  gateway.runQueue.arrived = () => void gateway.execute();
  const { administer } = gateway;
  await administer('provider.put', { provider: { id: 'echo', kind: 'echo' } });
  await administer('provider.put', { provider: { id: 'doomed', kind: 'echo' } });
  await administer('provider.put', { provider: { id: 'shy', kind: 'echo', answerLevel: 'redacted' } });
  await administer('provider.put', {
    provider: { id: 'model', kind: 'openai', baseUrl: 'https://models.example/v1', model: 'm', apiKey: 'k' },
  });
  const comprehend = { redaction: { method: 'comprehend' } };
  for (const [id, more] of [
    ['open', {}],
    ['quiet', { answerLevel: 'redacted', ...comprehend }],
    ['tight', { providers: ['model', 'shy'], ...comprehend }],
    ['asked', { approval: 'result', ...comprehend }],
    ['later', { providers: ['doomed'] }],
  ] as const) {
    const profile = { id, name: id, description: id, providers: ['echo'], public: true, ...more };
    await administer('profile.put', { profile });
    await administer('profile.publish', { id });
  }
  call = await gateway.client('acme1');
  await administer('client.webhooks', { id: 'acme1', ports: [gateway.receiver.port] });
});
afterAll(() => gateway?.stop());

const send = async (tenant: string, more: object = {}) =>
  (await call('SendMessage', { message: message({ parts: [{ text: `to ${SECRET}` }] }), tenant, ...more }))
    .result.task;
const webhook = () => ({
  taskPushNotificationConfig: { url: `https://hooks.example.com:${gateway.receiver.port}/hook` },
});

describe('what is kept', () => {
  it.each(['quiet', 'tight'])('is redacted for profile %s, by executor and rpc', async (profile) => {
    const { id } = await send(profile);
    const read = await call('GetTask', { id, historyLength: 10 });
    expect(read.result.status.state).toBe('TASK_STATE_COMPLETED');
    expect(JSON.stringify(read)).toContain('[EMAIL]');
    expect(JSON.stringify(read)).not.toContain(SECRET);
  });

  it('waits for a person, who approves, rejects, or is too late', async () => {
    const [approved, rejected, canceled, expired] = [
      await send('asked'),
      await send('asked'),
      await send('asked'),
      await send('asked'),
    ];
    expect(approved.status.state).toBe('TASK_STATE_AUTH_REQUIRED');
    expect((await gateway.administer('approval.list'))['approvals']).toHaveLength(4);
    const shown = await gateway.administer('approval.show', { task: approved.id });
    expect(JSON.stringify(shown)).toContain(SECRET);
    await gateway.administer('approval.approve', { task: approved.id, reason: 'fine' });
    await gateway.administer('approval.reject', { task: rejected.id, reason: 'no' });
    await gateway.execute();
    await call('CancelTask', { id: canceled.id });
    gateway.world.ahead = 8 * DAY;
    await gateway.invoke('sweeper', {});
    gateway.world.ahead = 0;
    const states = [];
    for (const { id } of [approved, rejected, canceled, expired])
      states.push((await call('GetTask', { id })).result.status.state);
    expect(states).toEqual([
      'TASK_STATE_COMPLETED',
      'TASK_STATE_REJECTED',
      'TASK_STATE_CANCELED',
      'TASK_STATE_FAILED',
    ]);
  });

  it('follows a tightening of an administrator: redacted or purged by the ceiling job, and by who ends a run', async () => {
    const finished = await send('open', { configuration: webhook() });
    const doomed = await send('later', { configuration: webhook() });
    gateway.runQueue.arrived = undefined;
    const running = await send('later', { configuration: { returnImmediately: true, ...webhook() } });
    const late = await send('later', { configuration: { returnImmediately: true, ...webhook() } });
    await gateway.administer('settings.set', { settings: { answerLevel: 'redacted' }, dryRun: true });
    await gateway.administer('settings.set', { settings: { answerLevel: 'redacted' } });
    await gateway.administer('provider.put', {
      provider: { id: 'doomed', kind: 'echo', answerLevel: 'none' },
    });
    await runCeilingJob();
    const read = await call('GetTask', { id: finished.id, historyLength: 10 });
    expect(read.result.status.state).toBe('TASK_STATE_COMPLETED');
    expect(JSON.stringify(read)).not.toContain(SECRET);
    expect((await call('GetTask', { id: doomed.id })).error.code).toBe(-32001);
    for (const { id } of [running, late]) {
      const ended = (await call('GetTask', { id })).result;
      expect(ended.metadata.reason).toBe('RESULT_NOT_RETAINED');
    }
    expect(await gateway.administer('ceiling.show')).toMatchObject({ ceiling: { failed: 0 } });
    gateway.runQueue.arrived = () => void gateway.execute();
  });

  it('is purged on its last day, by whoever finds it first, and on demand', async () => {
    const [swept, dead, meant] = [
      await send('open', { configuration: webhook() }),
      await send('open'),
      await send('asked', { configuration: webhook() }),
    ];
    gateway.world.ahead = 31 * DAY;
    await gateway.invoke('dead-letter', batch(dead.id));
    gateway.world.ahead = 0;
    expect((await call('GetTask', { id: dead.id })).error.code).toBe(-32001);
    await gateway.administer('task.purge', { id: meant.id, dryRun: true });
    await gateway.administer('task.purge', { id: meant.id });
    expect((await call('GetTask', { id: meant.id })).error.code).toBe(-32001);
    gateway.world.ahead = 31 * DAY;
    await gateway.invoke('sweeper', {});
    gateway.world.ahead = 0;
    expect((await call('GetTask', { id: swept.id })).error.code).toBe(-32001);
  });

  it('and nobody was refused anything on the way', () => {
    expect(gateway.asked.filter(({ allowed }) => !allowed)).toEqual([]);
    const redacting = gateway.asked.filter(({ action }) => action.startsWith('comprehend:'));
    expect(new Set(redacting.map((one) => one.function))).toEqual(new Set(['rpc', 'executor', 'ceiling']));
  });
});

/** Both looks of the job, of which the second waits for the longest life of a function. */
async function runCeilingJob(): Promise<void> {
  for (const minutes of [1, 20, 40]) {
    gateway.world.ahead = minutes * 60_000;
    await gateway.invoke('ceiling', {});
  }
  gateway.world.ahead = 0;
}
