import { expect, test, vi } from 'vitest';
import { deliver } from '../../shared/push/deliver.ts';
import { CACHE_MS } from '../../shared/registry/index.ts';
import { purgeTask } from '../../shared/retention/index.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Store } from '../../shared/storage/port.ts';
import { message } from '../server/rig.ts';
import { ask, stream } from '../server/scene.ts';
import { completing, type Keeping, MARK, scripted, startKeeping } from './rig.ts';

vi.setConfig({ testTimeout: 30_000 });

/** What whoever looks at a completed task gets to see of it: the bodies, in order. */
const LOOKS = {
  GetTask: async ({ gateway }: Looked) => [
    (await ask(gateway, 'alice', 'GetTask', { id: gateway.task })).text,
  ],
  ListTasks: async ({ gateway }: Looked) => [
    (await ask(gateway, 'alice', 'ListTasks', { includeArtifacts: true })).text,
  ],
  'a repeated send': async ({ gateway }: Looked) => [
    (await ask(gateway, 'alice', 'SendMessage', gateway.sent)).text,
  ],
  'a resumed stream': async ({ gateway }: Looked) => {
    const headers = { 'last-event-id': '1.0' };
    const events = await stream(gateway, 'alice', 'SubscribeToTask', { id: gateway.task }, headers);
    return (await events.rest()).map(({ text }) => text);
  },
  'a delivery': async ({ keeping, gateway, config }: Looked) => {
    await deliver(keeping.services, { task: gateway.task, config }, keeping.clock.now() + 600_000);
    return keeping.webhooks.receiver.seen.map(({ body }) => String(body));
  },
} as const;

interface Looked {
  readonly keeping: Keeping;
  readonly gateway: Keeping['gateway'] & { readonly task: string; readonly sent: object };
  readonly config: string;
}

async function completed(keeping: Keeping): Promise<Looked> {
  const sent = {
    message: message(`do ${MARK}`),
    configuration: {
      returnImmediately: true,
      taskPushNotificationConfig: { url: keeping.webhooks.url() },
    },
  };
  const { result } = await ask(keeping.gateway, 'alice', 'SendMessage', sent);
  const task: string = result.task.id;
  await keeping.finish(task);
  const [config] = await keeping.configs(task);
  return { keeping, gateway: { ...keeping.gateway, task, sent }, config: config! };
}

/** COMPLETED is never told without the result: the task is told whole, or it is not told at all (P1, P9, P12). */
function expectWholeOrNothing(bodies: readonly string[]): void {
  const all = bodies.join('\n');
  if (all.includes('TASK_STATE_COMPLETED')) expect(all).toContain(MARK);
}

const looks = Object.keys(LOOKS) as (keyof typeof LOOKS)[];

test.each(looks)('%s tells no COMPLETED without its result where a purge comes in between', async (look) => {
  const only = scripted(() => completing(MARK));
  await using keeping = await startKeeping({ adapters: { only } });
  const looked = await completed(keeping);
  let purged = false;
  const store = keeping.store as { -readonly [K in keyof Store]: Store[K] };
  for (const name of ['get', 'getMany'] as const) {
    const real = store[name].bind(store) as (...given: unknown[]) => Promise<never>;
    vi.spyOn(store, name).mockImplementation(async (...given: unknown[]) => {
      // At the first read of a message or a result.
      if (!purged && /"[AM]#/.test(JSON.stringify(given))) {
        purged = true;
        await purgeTask(keeping.gateway.services, looked.gateway.task);
      }
      return real(...given);
    });
  }
  const bodies = await LOOKS[look](looked);
  expect(purged).toBe(true);
  expectWholeOrNothing(bodies);
});

test.each(looks)(
  '%s tells no COMPLETED without its result where a tightening comes in between',
  async (look) => {
    // Whichever look at the level is the last that knows the older one.
    for (let last = 1; last <= 6; last++) {
      const only = scripted(() => completing(MARK));
      await using keeping = await startKeeping({ adapters: { only } });
      const looked = await completed(keeping);
      await ask(keeping.gateway, 'alice', 'GetTask', { id: looked.gateway.task });
      await keeping.levels({ providers: { only: 'none' } });
      const { privacy } = keeping.gateway.services;
      const levelOf = privacy.levelOf.bind(privacy);
      let asked = 0;
      vi.spyOn(privacy, 'levelOf').mockImplementation(async (head) => {
        const level = await levelOf(head);
        if (++asked === last) keeping.clock.advance(CACHE_MS + 1);
        return level;
      });
      expectWholeOrNothing(await LOOKS[look](looked));
    }
  },
);

test('whose level allows nothing any more is no task to refer to', async () => {
  const only = scripted(() => completing(MARK));
  await using keeping = await startKeeping({ adapters: { only } });
  const { gateway } = await completed(keeping);
  const refer = () =>
    ask(gateway, 'alice', 'SendMessage', {
      message: message('like that one', { referenceTaskIds: [gateway.task] }),
      configuration: { returnImmediately: true },
    });
  expect((await refer()).error).toBeUndefined();
  await keeping.gateway.services.store.write({
    kind: 'update',
    table: 'state',
    key: keys.head(gateway.task),
    changes: { set: { ceiling: 'none' } },
    when: [{ attribute: 'pk', is: 'present' }],
  });
  expect((await refer()).error?.code).toBe(-32001);
});
