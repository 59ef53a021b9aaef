import { describe, expect, test, vi } from 'vitest';
import { readHead } from '../../shared/tasks/read-head.ts';
import { completing, type Keeping, MARK, scripted, startKeeping } from '../ceilings/rig.ts';
import { ask, errorOf } from '../server/scene.ts';

vi.setConfig({ testTimeout: 30_000 });

const DAY = 86_400_000;

const asking = () =>
  scripted(({ message }) =>
    message.parts[0]?.text?.startsWith('ask')
      ? { kind: 'input-required', message: [{ text: `which ${MARK}?` }] }
      : completing(MARK),
  );

const start = (profile: object) => startKeeping({ adapters: { only: asking() }, profile });

async function isKept(keeping: Keeping, id: string): Promise<boolean> {
  return errorOf(await ask(keeping.gateway, 'alice', 'GetTask', { id })).code === undefined;
}

describe('a task is kept for as many days as its profile says', () => {
  test('from its last change on, and is purged by the sweeper when they are over', async () => {
    await using keeping = await start({ retentionDays: 3 });
    const id = await keeping.send(MARK, { url: keeping.webhooks.url() });
    keeping.clock.advance(DAY / 2);
    await keeping.finish(id);
    keeping.clock.advance(3 * DAY - 1_000);
    await keeping.gateway.sweep();
    expect(await isKept(keeping, id)).toBe(true);
    keeping.clock.advance(2_000);
    expect(await keeping.gateway.sweep()).toMatchObject({ purged: 1 });
    expect(await isKept(keeping, id)).toBe(false);
    expect(await keeping.found(MARK)).toEqual([]);
  });

  test('unfinished too, whatever it waits for', async () => {
    await using keeping = await start({ retentionDays: 1, inputSeconds: 30 * 86_400 });
    const id = await keeping.send(`ask ${MARK}`);
    await keeping.gateway.runAll();
    keeping.clock.advance(60_000);
    await keeping.gateway.sweep();
    keeping.clock.advance(DAY);
    expect(await keeping.gateway.sweep()).toMatchObject({ purged: 1, ended: 0 });
    expect(await isKept(keeping, id)).toBe(false);
    expect(await keeping.found(MARK)).toEqual([]);
  });

  test('also when every sweep of a month failed: the entry stays due', async () => {
    await using keeping = await start({ retentionDays: 1 });
    const id = await keeping.send(MARK);
    await keeping.finish(id);
    keeping.clock.advance(40 * DAY);
    const spy = vi.spyOn(keeping.store, 'transact').mockRejectedValue(new Error('no store'));
    await keeping.gateway.sweep();
    spy.mockRestore();
    expect(await readHead(keeping.gateway.services, id)).toBeDefined();
    expect(await keeping.gateway.sweep()).toMatchObject({ purged: 1 });
  });

  test('by what the profile said when the task was accepted', async () => {
    await using keeping = await start({ retentionDays: 2 });
    const id = await keeping.send(MARK);
    await keeping.finish(id);
    await keeping.inForce({}, { retentionDays: 30 });
    const later = await keeping.send(MARK);
    await keeping.finish(later);
    keeping.clock.advance(3 * DAY);
    await keeping.gateway.sweep();
    expect(await isKept(keeping, id)).toBe(false);
    expect(await isKept(keeping, later)).toBe(true);
  });
});
