import { describe, expect, it } from 'vitest';
import { createInstallation, type Installation } from './installation.ts';

const profileFile = { id: 'writer', name: 'Writer', description: 'Writes.', providers: ['echo'] };
const echo = { id: 'echo', kind: 'echo' };

async function published(change: Parameters<typeof createInstallation>[0] = {}): Promise<Installation> {
  const gateway = createInstallation(change);
  await gateway.run('provider.put', { provider: echo });
  await gateway.run('profile.put', { profile: profileFile });
  await gateway.run('profile.publish', { id: 'writer' });
  return gateway;
}

const jobs = (gateway: Installation) => gateway.store.items().filter(({ pk }) => pk === 'job');
const errorOf = (answer: Record<string, unknown>) =>
  answer['error'] as { code: string; message: string; field?: string };

describe('a change that lowers a level', () => {
  const changes = [
    ['settings.set', { settings: { answerLevel: 'redacted' } }],
    ['settings.set', { settings: { answerLevel: 'none' } }],
    ['provider.put', { provider: { ...echo, answerLevel: 'redacted' } }],
    ['provider.put', { provider: { ...echo, answerLevel: 'metadata' } }],
    ['profile.put', { profile: { ...profileFile, answerLevel: 'redacted' } }],
  ] as const;

  it.each(changes)(
    '%s %o starts the job in its own transaction, and is told when no cache is older',
    async (name, input) => {
      const slept: number[] = [];
      const plain = createInstallation();
      const clock = { ...plain.clock, sleep: async (ms: number) => void slept.push(ms) };
      const gateway = await published({ clock });
      expect(jobs(gateway)).toEqual([]);
      slept.length = 0;
      const answer = await gateway.run(name, input);
      expect(answer['ceiling']).toMatchObject({ state: 'done' });
      expect(jobs(gateway)).toHaveLength(1);
      expect(slept).toEqual([5_000]);
      expect(gateway.audits().at(-1)).toMatchObject({ operation: name });
    },
  );

  it.each([
    ['settings.set', { settings: { answerLevel: 'full' } }],
    // By itself it keeps a full answer, as before.
    ['settings.set', { settings: { answerLevel: 'metadata' } }],
    ['settings.set', { settings: { maxParts: 7 } }],
    ['provider.put', { provider: { ...echo, answerLevel: 'full' } }],
    ['provider.put', { provider: { id: 'other', kind: 'echo', answerLevel: 'none' } }],
    ['profile.put', { profile: { ...profileFile, name: 'Another' } }],
  ])('%s %o lowers nothing, so there is no job and no waiting', async (name, input) => {
    const gateway = await published();
    const answer = await gateway.run(name, input);
    expect(answer['error']).toBeUndefined();
    expect(answer['ceiling']).toBeUndefined();
    expect(jobs(gateway)).toEqual([]);
  });

  it('is told no sooner to who repeats it because its answer was lost', async () => {
    const slept: number[] = [];
    const clock = { ...createInstallation().clock, sleep: async (ms: number) => void slept.push(ms) };
    const gateway = await published({ clock });
    await gateway.run('settings.set', { settings: { answerLevel: 'redacted' } });
    slept.length = 0;
    const again = await gateway.run('settings.set', { settings: { answerLevel: 'redacted' } });
    expect(again['changed']).toEqual([]);
    expect(slept).toEqual([5_000]);
    expect(jobs(gateway)).toHaveLength(1);
  });

  it('lists the published profiles that can no longer be called, with the reason', async () => {
    const gateway = await published();
    const bySettings = await gateway.run('settings.set', { settings: { answerLevel: 'none' } });
    expect(bySettings['warnings']).toEqual([
      expect.stringMatching(/"writer".*the installation's answer level is none, which keeps no result/),
    ]);
    await gateway.run('settings.set', { settings: { answerLevel: null } });
    const byProvider = await gateway.run('provider.put', { provider: { ...echo, answerLevel: 'metadata' } });
    expect(byProvider['warnings']).toEqual([
      expect.stringMatching(/answer level of provider "echo" is metadata/),
    ]);
  });

  it('that a published profile could not be kept with is refused, and says why', async () => {
    const gateway = await published();
    const put = await gateway.run('profile.put', { profile: { ...profileFile, answerLevel: 'none' } });
    expect(errorOf(put)).toMatchObject({ code: 'REFUSED', field: 'answerLevel' });
    expect(errorOf(put).message).toMatch(/profile's answer level is none, which keeps no result/);
    await gateway.run('profile.unpublish', { id: 'writer' });
    const unpublished = await gateway.run('profile.put', {
      profile: { ...profileFile, answerLevel: 'none' },
    });
    expect(unpublished['warnings']).toEqual([expect.stringMatching(/cannot be published/)]);
    expect(errorOf(await gateway.run('profile.publish', { id: 'writer' })).field).toBe('answerLevel');
  });
});

describe('a dry run', () => {
  it.each([
    ['settings.set', { settings: { answerLevel: 'none' } }],
    ['provider.put', { provider: { ...echo, answerLevel: 'none' } }],
    ['profile.put', { profile: { ...profileFile, answerLevel: 'redacted' } }],
  ])('of %s counts the tasks it would touch part by part, and changes nothing', async (name, input) => {
    const gateway = await published();
    const before = gateway.dump();
    const first = await gateway.run(name, { ...input, dryRun: true });
    expect(first).toMatchObject({ dryRun: true, looked: 4, touched: 2 });
    const second = await gateway.run(name, { ...input, dryRun: true, cursor: first['next'] });
    expect(second).toMatchObject({ looked: 1, touched: 0 });
    expect(second['next']).toBeUndefined();
    expect(gateway.dump()).toBe(before);
  });

  it('names the profiles that would be stranded, and what would be refused is', async () => {
    const gateway = await published();
    const dry = await gateway.run('settings.set', { settings: { answerLevel: 'none' }, dryRun: true });
    expect(dry['warnings']).toEqual([expect.stringMatching(/"writer"/)]);
    const put = { profile: { ...profileFile, answerLevel: 'none' }, dryRun: true };
    expect(errorOf(await gateway.run('profile.put', put)).code).toBe('REFUSED');
  });

  it('is asked with levels as they would be', async () => {
    const asked: unknown[] = [];
    const gateway = await published({
      ceilings: {
        start: async () => ({ kind: 'put', table: 'registry', item: { pk: 'job', sk: 'ceiling', v: 1 } }),
        inForceAt: async () => undefined,
        show: async () => undefined,
        count: async (proposed) => {
          asked.push(proposed);
          return { looked: 0, touched: 0 };
        },
      },
    });
    await gateway.run('settings.set', { settings: { answerLevel: 'none' }, dryRun: true });
    await gateway.run('provider.put', { provider: { ...echo, answerLevel: 'none' }, dryRun: true });
    expect(asked).toMatchObject([
      { settings: { answerLevel: 'none' } },
      { provider: { id: 'echo', answerLevel: 'none' } },
    ]);
  });
});

describe('an approval', () => {
  it('is decided with a reason, which stands in the audit beside the actor', async () => {
    const gateway = await published();
    for (const verb of ['approve', 'reject']) {
      const decided = await gateway.run(`approval.${verb}`, {
        task: 'waits',
        revision: 2,
        reason: 'looks right',
      });
      expect(decided).toMatchObject({ task: 'waits' });
      expect(gateway.audits().at(-1)).toMatchObject({
        operation: `approval.${verb}`,
        id: 'waits',
        reason: 'looks right',
        revision: 2,
        actor: expect.stringContaining('ada'),
      });
    }
  });

  it.each([
    [{ task: 'waits' }, 'INVALID', 'reason'],
    [{ task: 'waits', reason: '' }, 'INVALID', 'reason'],
    [{ task: 'waits', reason: 'x'.repeat(501) }, 'INVALID', 'reason'],
    [{ task: 'waits', reason: 'two\nlines' }, 'INVALID', 'reason'],
    [{ task: 'waits', revision: 1, reason: 'ok' }, 'REFUSED', 'revision'],
    [{ task: 'done', reason: 'ok' }, 'REFUSED', 'task'],
  ])('%o is refused, and leaves no audit entry', async (input, code, field) => {
    const gateway = await published();
    const before = gateway.audits().length;
    expect(errorOf(await gateway.run('approval.approve', input))).toMatchObject({ code, field });
    expect(gateway.audits()).toHaveLength(before);
  });

  it('is listed, and shown to who asks for it, which the audit knows', async () => {
    const gateway = await published();
    expect(await gateway.run('approval.list')).toEqual({ approvals: [{ task: 'waits', revision: 2 }] });
    expect(await gateway.run('approval.show', { task: 'waits' })).toMatchObject({ revision: 2 });
    expect(gateway.audits().at(-1)).toMatchObject({ operation: 'approval.show', id: 'waits' });
    expect(errorOf(await gateway.run('approval.show', { task: 'other' })).code).toBe('NOT_FOUND');
  });
});

describe('a purge on demand', () => {
  it('is counted first without a trace, then done with an audit entry', async () => {
    const gateway = await published();
    const before = gateway.audits().length;
    expect(await gateway.run('task.purge', { id: 'known', dryRun: true })).toEqual({
      looked: 1,
      purged: 1,
      dryRun: true,
    });
    expect(gateway.audits()).toHaveLength(before);
    expect(await gateway.run('task.purge', { id: 'known' })).toMatchObject({ purged: 1 });
    expect(gateway.audits().at(-1)).toMatchObject({ operation: 'task.purge', id: 'known' });
    await gateway.run('client.add', { name: 'Acme', id: 'acme1' });
    await gateway.run('task.purge', { client: 'acme1', olderThanDays: 7 });
    expect(gateway.audits().at(-1)).toMatchObject({ id: '*', client: 'acme1', olderThanDays: 7 });
  });

  it('goes on with the cursor that it answered', async () => {
    const gateway = await published();
    await gateway.run('client.add', { name: 'Acme', id: 'acme1' });
    const first = await gateway.run('task.purge', { client: 'acme1' });
    const second = await gateway.run('task.purge', { client: 'acme1', cursor: first['next'] });
    expect([first['purged'], second['purged'], second['next']]).toEqual([2, 1, undefined]);
  });

  it.each([
    [{}, 'INVALID'],
    [{ olderThanDays: -1 }, 'INVALID'],
    [{ olderThanDays: 0 }, 'INVALID'],
    [{ olderThanDays: 1.5 }, 'INVALID'],
    [{ id: 'unknown' }, 'NOT_FOUND'],
    // A slip of the pen would look like a client of whom nothing is left.
    [{ client: 'nobody' }, 'NOT_FOUND'],
    [{ client: 'acme1', cursor: { shard: 'x' } }, 'INVALID'],
  ])('%o is refused', async (input, code) => {
    const gateway = await published();
    expect(errorOf(await gateway.run('task.purge', input)).code).toBe(code);
  });
});
