import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AGENTS,
  batch,
  batchOf,
  type GatewayInRoles,
  message,
  PUBLIC_URL,
  revisionOf,
  startGatewayInRoles,
} from './gateway-in-roles.ts';

/** The client role (design §8), by functions with no more than their deployed roles. */
const HOUR = 3_600_000;
let gateway: GatewayInRoles;
let call: Awaited<ReturnType<GatewayInRoles['client']>>;

beforeAll(async () => {
  gateway = await startGatewayInRoles();
  const { administer, agentPort } = gateway;
  for (const push of ['embedded', 'separate']) {
    const cardUrl = `https://${AGENTS}:${agentPort}/.well-known/agent-card.json`;
    const agent = { id: push, cardUrl, credential: 'a-secret', push, allowedPorts: [agentPort] };
    await administer('agent.add', { agent });
    await administer('provider.put', { provider: { id: push, kind: 'remote', agent: push } });
    const profile = { id: push, name: push, description: push, providers: [push], public: true };
    await administer('profile.put', { profile });
    await administer('profile.publish', { id: push });
  }
  const quiet = { id: 'quiet', name: 'quiet', description: 'quiet', providers: ['embedded'], public: true };
  const redaction = { method: 'comprehend' };
  await administer('profile.put', { profile: { ...quiet, answerLevel: 'redacted', redaction } });
  await administer('profile.publish', { id: 'quiet' });
  call = await gateway.client('acme1');
});
afterAll(() => gateway?.stop());

/** A task that was handed on: its run is suspended, its message sent. */
async function handedOn(tenant: string): Promise<string> {
  gateway.agent.state = 'TASK_STATE_WORKING';
  const configuration = { returnImmediately: true };
  const sent = await call('SendMessage', { message: message(), tenant, configuration });
  const { id } = sent.result.task;
  gateway.inbox.length = 0;
  await gateway.execute();
  // The executor itself wakes the send; the stream, which comes later, wakes it again.
  expect(gateway.inbox).toEqual([{ task: id, dependency: '0001.0000' }]);
  await gateway.invoke('projector', { Records: [revisionOf(id, 2)] });
  await reconcile();
  return id;
}

/** Every message of the inbox queue, once; those that wait for later are dropped. */
async function reconcile(): Promise<void> {
  for (const next of gateway.inbox.splice(0)) {
    expect(await gateway.invoke('reconciler', batchOf(next))).toEqual({ batchItemFailures: [] });
  }
  gateway.inbox.length = 0;
}

async function callBack(): Promise<number> {
  const { url, authentication } = gateway.agent.push!;
  const response = await fetch(url.replace(PUBLIC_URL, gateway.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${authentication.credentials}` },
    body: JSON.stringify({ statusUpdate: { taskId: 'far-task' } }),
  });
  return response.status;
}

const stateOf = async (id: string) => (await call('GetTask', { id })).result.status.state;

describe('remote agents', () => {
  it('are tested, refreshed and shown by administrators', async () => {
    await gateway.administer('agent.test', { id: 'embedded' });
    await gateway.administer('agent.refresh', { id: 'embedded' });
    await gateway.administer('agent.rotate', { id: 'embedded', credential: 'another-secret' });
    expect((await gateway.administer('agent.list'))['agents']).toHaveLength(2);
  });

  it.each(['embedded', 'separate'])(
    'are sent to, call back and complete a task, with push %s',
    async (push) => {
      const id = await handedOn(push);
      expect(gateway.agent.called).toContain('SendMessage');
      gateway.agent.state = 'TASK_STATE_COMPLETED';
      expect(await callBack()).toBe(200);
      expect(gateway.inbox).toHaveLength(1);
      await reconcile();
      await gateway.execute();
      const { result } = await call('GetTask', { id });
      expect(result.status.state).toBe('TASK_STATE_COMPLETED');
      expect(JSON.stringify(result.artifacts)).toContain('brought from afar');
    },
  );

  it('ask our client, whose reply is passed on, and whose words are redacted where nothing else is kept', async () => {
    const id = await handedOn('quiet');
    gateway.agent.state = 'TASK_STATE_INPUT_REQUIRED';
    await callBack();
    await reconcile();
    expect(await stateOf(id)).toBe('TASK_STATE_INPUT_REQUIRED');
    await call('SendMessage', {
      message: message({ taskId: id }),
      configuration: { returnImmediately: true },
    });
    gateway.agent.state = 'TASK_STATE_COMPLETED';
    await gateway.invoke('projection-retry', batch(id));
    await reconcile();
    await gateway.execute();
    expect(await stateOf(id)).toBe('TASK_STATE_COMPLETED');
    const redacting = gateway.asked.filter(({ action }) => action.startsWith('comprehend:'));
    expect(new Set(redacting.map((one) => one.function))).toContain('reconciler');
  });

  it('are polled from the due index, canceled with the task, and looked after by operators', async () => {
    const polled = await handedOn('embedded');
    const canceled = await handedOn('embedded');
    const [waiting, other] = (await gateway.administer('dependency.list'))['dependencies'] as {
      dependency: string;
    }[];
    await gateway.administer('dependency.show', { dependency: waiting!.dependency });
    await gateway.administer('dependency.list', { task: polled });
    await gateway.administer('dependency.poll', { dependency: waiting!.dependency });
    await reconcile();
    await call('CancelTask', { id: canceled });
    await gateway.invoke('projector', { Records: [revisionOf(canceled, 3)] });
    await reconcile();
    expect(gateway.agent.called).toContain('CancelTask');
    gateway.world.ahead = HOUR;
    await gateway.invoke('sweeper', {});
    expect(gateway.inbox.map(({ task }) => task)).toContain(polled);
    gateway.world.ahead = 0;
    const left = [waiting!, other!].find(({ dependency }) => dependency.startsWith(polled))!;
    await gateway.administer('dependency.cancel', { dependency: left.dependency });
    gateway.inbox.splice(0, gateway.inbox.length - 1);
    await reconcile();
    await gateway.execute();
    expect(await stateOf(polled)).toBe('TASK_STATE_FAILED');
  });

  it('work for administrators, whose runs are purged with what waits for them', async () => {
    const started = await gateway.administer('run.start', { target: 'agent:embedded', message: 'hello' });
    const id = String(started['id']);
    gateway.agent.state = 'TASK_STATE_INPUT_REQUIRED';
    await gateway.execute();
    await gateway.administer('task.repair');
    await reconcile();
    expect(await gateway.administer('run.show', { id })).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
    });
    gateway.agent.state = 'TASK_STATE_COMPLETED';
    await gateway.administer('run.reply', { id, message: 'go on' });
    await reconcile();
    await gateway.execute();
    expect(await gateway.administer('run.show', { id, waitSeconds: 1 })).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
    });
    const again = await gateway.administer('run.start', { target: 'agent:embedded', message: 'x' });
    const other = String(again['id']);
    await gateway.execute();
    await gateway.administer('run.cancel', { id: other });
    for (const task of [id, other]) await gateway.administer('task.purge', { id: task });
    const suspended = await handedOn('embedded');
    gateway.world.ahead = 60 * 24 * HOUR;
    await gateway.invoke('dead-letter', batch(suspended));
    gateway.world.ahead = 0;
    expect((await call('GetTask', { id: suspended })).error.code).toBe(-32001);
    expect(await callBack()).toBe(401);
  });

  it('and nobody was refused anything on the way', () => {
    expect(gateway.asked.filter(({ allowed }) => !allowed)).toEqual([]);
    expect(new Set(gateway.asked.map((one) => one.function))).toContain('callback');
  });
});
