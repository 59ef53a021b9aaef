import { beforeEach, describe, expect, it } from 'vitest';
import { ADA, createInstallation, type Installation } from './installation.ts';

let gateway: Installation;
beforeEach(() => {
  gateway = createInstallation();
});
const list = async (input: object = {}) =>
  (await gateway.run('audit.list', input)) as { entries: Record<string, unknown>[]; next?: object };

describe('the audit', () => {
  it('is listed newest first, with who did what to what, and no value', async () => {
    await gateway.run('client.add', { name: 'Secret name', id: 'acme1' });
    gateway.clock.advance(1);
    await gateway.run('settings.set', { settings: { organization: 'Secret words' } });
    const { entries } = await list();
    expect(entries.map(({ actor, operation, kind, id }) => [actor, operation, kind, id])).toEqual([
      [ADA, 'settings.set', 'settings', expect.any(String)],
      [ADA, 'client.add', 'client', 'acme1'],
    ]);
    expect(entries[0]).toMatchObject({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      changed: ['organization'],
    });
    expect(JSON.stringify(entries)).not.toContain('Secret');
  });

  it('goes on page by page, and knows other months', async () => {
    for (const id of ['acme1', 'acme2', 'acme3']) await gateway.run('client.add', { name: id, id });
    const first = await list({ limit: 2 });
    const second = await list({ limit: 2, cursor: first.next });
    const seen = [...first.entries, ...second.entries];
    expect(seen.map(({ id }) => id).sort()).toEqual(['acme1', 'acme2', 'acme3']);
    const times = seen.map(({ at }) => String(at));
    expect(times).toEqual([...times].sort().reverse());
    expect(second.next).toBeUndefined();
    expect((await list({ month: '2001-01' })).entries).toEqual([]);
  });

  it.each([{ month: '2026' }, { month: '2026-13' }, { limit: 0 }, { limit: 201 }])(
    '%o is refused',
    async (input) => {
      expect(await gateway.run('audit.list', input)).toMatchObject({ error: { code: 'INVALID' } });
    },
  );
});
