import { describe, expect, test, vi } from 'vitest';
import { applyCeiling } from '../../shared/ceilings/index.ts';
import { deliver } from '../../shared/push/deliver.ts';
import type { Action } from '../../shared/storage/port.ts';
import { readHead } from '../../shared/tasks/read-head.ts';
import {
  completing,
  failing,
  type Keeping,
  type KeepingOptions,
  MAIL,
  MARK,
  scripted,
  startKeeping,
  told,
} from './rig.ts';

vi.setConfig({ testTimeout: 30_000 });

const bodies = ({ webhooks }: Keeping) => webhooks.receiver.seen.map(({ body }) => body);

/** Says the mark, then falls back to a provider of which nothing may be kept. */
async function startScrubbed(options: KeepingOptions = {}) {
  const [said, ready] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = scripted(async ({ progress }) => {
    await progress(`working on ${MARK}`);
    said.resolve();
    await ready.promise;
    return failing;
  });
  const second = scripted(() => completing(MARK));
  const keeping = await startKeeping({
    ...options,
    adapters: { first, second },
    levels: { providers: { second: 'none' } },
  });
  const id = await keeping.send(MARK, { url: keeping.webhooks.url() });
  const execution = keeping.gateway.execute(id);
  await said.promise;
  await keeping.gateway.follow(id);
  const end = async () => {
    ready.resolve();
    await execution;
  };
  const [config] = await keeping.configs(id);
  const once = () => deliver(keeping.services, { task: id, config: config! }, keeping.clock.now() + 600_000);
  return { keeping, id, once, end };
}

describe('a delivery that opened content which goes before its attempt begins', () => {
  test('does not begin: with the ending transaction it loses its condition, and tells the end without it', async () => {
    const { keeping, id, end, once } = await startScrubbed();
    await using _keeping = keeping;
    const write = keeping.store.write.bind(keeping.store);
    let begins = 0;
    const spy = vi.spyOn(keeping.store, 'write').mockImplementation(async (action, options) => {
      // The second event is the one that says the mark.
      if (isBegin(action) && ++begins === 2) {
        await end();
      }
      return write(action, options);
    });
    await once();
    spy.mockRestore();
    await keeping.gateway.follow(id);
    await once();
    expect(begins).toBeGreaterThan(2);
    expect(bodies(keeping).join()).not.toContain(MARK);
    const last = JSON.parse(bodies(keeping).at(-1)!).statusUpdate;
    expect(told(last)).toEqual({ state: 'FAILED', reason: 'RESULT_NOT_RETAINED' });
  });

  test('does not begin either when the content is rewritten redacted', async () => {
    const only = scripted(() => completing(MAIL));
    await using keeping = await startKeeping({ adapters: { only } });
    const id = await keeping.send('go', { url: keeping.webhooks.url() });
    await keeping.finish(id);
    const [config] = await keeping.configs(id);
    const write = keeping.store.write.bind(keeping.store);
    let begins = 0;
    const spy = vi.spyOn(keeping.store, 'write').mockImplementation(async (action, options) => {
      if (isBegin(action) && ++begins === 2) {
        await keeping.inForce({ global: 'redacted' });
        await applyCeiling(keeping.gateway.services, (await readHead(keeping.gateway.services, id))!);
      }
      return write(action, options);
    });
    await deliver(keeping.services, { task: id, config: config! }, keeping.clock.now() + 600_000);
    spy.mockRestore();
    expect(begins).toBeGreaterThan(2);
    expect(bodies(keeping)).toHaveLength(3);
    expect(bodies(keeping).join()).not.toContain(MAIL);
  });
});

test('an attempt that was made counts, though content went while it was: the next event does not wait for its lease', async () => {
  let meanwhile = async () => {};
  const { keeping, id, end, once } = await startScrubbed({
    answer: async (response) => {
      await meanwhile();
      meanwhile = async () => {};
      response.writeHead(204).end();
    },
  });
  await using _keeping = keeping;
  meanwhile = end;
  await once();
  await keeping.gateway.follow(id);
  await once();
  const states = bodies(keeping).map((body) => told(JSON.parse(body).statusUpdate).state);
  expect(states.filter((state) => state !== 'WORKING')).toEqual(['SUBMITTED', 'FAILED']);
});

function isBegin(action: Action): boolean {
  return action.kind === 'update' && action.table === 'outbox' && action.changes.set?.['lease'] !== undefined;
}
