import { beforeEach, describe, expect, it } from 'vitest';
import { ADA, createInstallation, type Installation } from './installation.ts';

let gateway: Installation;
beforeEach(() => {
  gateway = createInstallation();
});
const configs = async (input: object) =>
  ((await gateway.run('push.list', input))['configs'] as { config: string }[]).map(({ config }) => config);

describe('webhooks, for an operator', () => {
  it('are listed when paused or stopped, in one state on request, and with active ones for a task', async () => {
    expect(await configs({})).toEqual(['t1/paused1', 't1/stopped1']);
    expect(await configs({ state: 'stopped' })).toEqual(['t1/stopped1']);
    expect(await configs({ task: 't2' })).toEqual(['t2/active1', 't2/paused1']);
    expect(await configs({ task: 't2', state: 'paused' })).toEqual(['t2/paused1']);
  });

  it('are resumed and retried with an audit entry that names who did it to what', async () => {
    expect(await gateway.run('push.resume', { config: 't1/paused1' })).toEqual({
      config: 't1/paused1',
      state: 'active',
    });
    expect(await gateway.run('push.retry', { job: 't1/failed1/3' })).toMatchObject({
      job: 't1/failed1/3/r1',
    });
    expect(gateway.audits()).toMatchObject([
      { actor: ADA, operation: 'push.resume', kind: 'push', id: 't1/paused1' },
      { actor: ADA, operation: 'push.retry', kind: 'push', id: 't1/failed1/3' },
    ]);
  });

  it.each([
    ['push.resume', { config: 't1/active1' }, 'REFUSED', 'active already'],
    ['push.resume', { config: 't1/stopped1' }, 'REFUSED', 'for good'],
    ['push.resume', { config: 't1/gone1' }, 'NOT_FOUND', 'no push config "t1/gone1"'],
    ['push.resume', { config: 't1' }, 'INVALID', '<task>/<config>'],
    ['push.show', { config: 't1/gone1' }, 'NOT_FOUND', 'no push config "t1/gone1"'],
    ['push.show', { config: 't1/c1/3' }, 'INVALID', '<task>/<config>'],
    ['push.retry', { job: 't1/open1/1' }, 'REFUSED', 'has not ended'],
    ['push.retry', { job: 't1/done1/1' }, 'REFUSED', 'was delivered'],
    ['push.retry', { job: 't1/paused1/1' }, 'REFUSED', 'resume that first'],
    ['push.retry', { job: 't1/stopped1/1' }, 'REFUSED', 'was stopped'],
    ['push.retry', { job: 't1/gone1/1' }, 'NOT_FOUND', 'no push job "t1/gone1/1"'],
    ['push.retry', { job: 't1/failed1' }, 'INVALID', '<revision>'],
    ['push.retry', { job: 't1/failed1/3/r1' }, 'INVALID', 'of a retry, the job that it retries'],
    ['push.list', { state: 'active' }, 'INVALID', 'must be one of paused, stopped'],
  ])(
    '%s %j is refused as %s and leaves nothing, the audit included',
    async (operation, input, code, says) => {
      const { error } = await gateway.run(operation, input);
      expect(error).toMatchObject({ code, message: expect.stringContaining(says) });
      expect(gateway.audits()).toEqual([]);
    },
  );
});

describe('what webhooks of a client may be', () => {
  const webhooks = async (input: object) => {
    const answer = await gateway.run('client.webhooks', { id: 'acme1', ...input });
    return (answer['client'] ?? answer) as Record<string, unknown>;
  };
  beforeEach(async () => {
    await gateway.run('client.add', { id: 'acme1', name: 'Acme' });
  });

  it('is opened and closed by the operator, each half without the other, with an audit entry', async () => {
    expect(await webhooks({ ports: [8443, 443] })).toMatchObject({ webhookPorts: [8443] });
    expect(await webhooks({ hosts: ['Hooks.Example.com'] })).toMatchObject({
      webhookPorts: [8443],
      webhookHosts: ['hooks.example.com'],
    });
    expect(await gateway.registry.client('acme1')).toMatchObject({
      webhookPorts: [8443],
      webhookHosts: ['hooks.example.com'],
    });
    expect(await webhooks({ hosts: null })).not.toHaveProperty('webhookHosts');
    expect(await webhooks({ ports: [443] })).not.toHaveProperty('webhookPorts');
    expect(gateway.audits().slice(1)).toMatchObject([
      { actor: ADA, operation: 'client.webhooks', changed: ['webhookPorts'] },
      { changed: ['webhookHosts'] },
      { changed: ['webhookHosts'] },
      { changed: ['webhookPorts'] },
    ]);
  });

  it('is shown, without an audit entry, when nothing is asked to change', async () => {
    await webhooks({ ports: [8443] });
    const before = gateway.audits().length;
    expect(await webhooks({})).toMatchObject({ id: 'acme1', webhookPorts: [8443] });
    expect(gateway.audits()).toHaveLength(before);
  });

  it.each([
    [{ ports: [0] }, 'ports[0]'],
    [{ ports: [65_536] }, 'ports[0]'],
    [{ ports: [null] }, 'ports[0]'],
    [{ ports: [8443, 8443] }, 'ports[1]'],
    [{ hosts: [] }, 'hosts'],
    [{ hosts: ['ok.example.com', 'intranet'] }, 'hosts[1]'],
    [{ hosts: ['127.0.0.1'] }, 'hosts[0]'],
    [{ hosts: ['printer.local'] }, 'hosts[0]'],
    [{ hosts: ['https://hooks.example.com'] }, 'hosts[0]'],
    [{ hosts: ['hooks.example.com/path'] }, 'hosts[0]'],
    [{ hosts: ['hooks.example.com:8443'] }, 'hosts[0]'],
    [{ hosts: ['*.example.com'] }, 'hosts[0]'],
  ])('is refused as %j, since no webhook could have it', async (input, field) => {
    const { error } = await gateway.run('client.webhooks', { id: 'acme1', ...input });
    expect(error).toMatchObject({ code: 'INVALID', field });
    expect(gateway.audits()).toHaveLength(1);
  });

  it('is refused for a client that is not there', async () => {
    const { error } = await gateway.run('client.webhooks', { id: 'gone1', ports: [8443] });
    expect(error).toMatchObject({ code: 'NOT_FOUND' });
  });
});
