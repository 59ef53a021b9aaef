import {
  type AdminParts,
  createAdmin,
  describeFailure,
  type PushOperations,
  type TaskOperations,
} from '../../shared/admin/index.ts';
import { createRegistry, createSecretBox } from '../../shared/registry/index.ts';
import { createSealer } from '../../shared/sealing/index.ts';
import type { Store } from '../../shared/storage/index.ts';
import { testClock, testKeyring, testRandom } from '../registry/fixed-surroundings.ts';
import { createMemoryStore } from '../registry/memory-store.ts';

export const ADA = 'arn:aws:iam::111122223333:user/ada';

/** The administrator's side of a gateway, with the registry in memory and tasks made up. */
export function createInstallation(change: Partial<AdminParts> = {}) {
  const store = createMemoryStore();
  const clock = testClock();
  const random = testRandom();
  const sealer = createSealer({ keyring: testKeyring(), random });
  const secrets = createSecretBox(sealer);
  const tasks: TaskOperations = {
    show: async (id) =>
      id === 'known'
        ? {
            task: id,
            state: 'TASK_STATE_WORKING',
            revision: 2,
            revisions: [{ revision: 1 }, { revision: 2, state: 'x' }],
          }
        : undefined,
    rebuild: async (id) => (id === 'known' ? { revisions: 2 } : undefined),
    repair: async () => ({ tasks: 3, sent: 1 }),
  };
  const push: PushOperations = {
    listHalted: async (states) => states.map((state) => ({ config: `t1/${state}1`, state })),
    listOfTask: async (task) => ['active', 'paused'].map((state) => ({ config: `${task}/${state}1`, state })),
    show: async (task, config) =>
      config === 'gone1'
        ? undefined
        : { config: `${task}/${config}`, attempts: [{ class: '5xx', status: 503, milliseconds: 12 }] },
    // Names say what becomes of them; what is done is done with its audit entry.
    resume: async (_task, config, audit) => {
      if (config === 'active1' || config === 'stopped1') return config === 'active1' ? 'active' : 'stopped';
      if (config !== 'paused1') return 'unknown';
      await store.transact([audit], 'token');
      return 'resumed';
    },
    retry: async (task, config, revision, audit) => {
      const halted = { open1: 'open', done1: 'delivered', paused1: 'paused', stopped1: 'stopped' } as const;
      if (config in halted) return halted[config as keyof typeof halted];
      if (config !== 'failed1') return 'unknown';
      await store.transact([audit], 'token');
      return { job: `${task}/${config}/${revision}/r1`, deadline: '2026-12-01T00:00:00.000Z' };
    },
  };
  const agentSecrets = createSecretBox(sealer, 'agent');
  const admin = createAdmin({
    store,
    clock,
    random,
    secrets,
    tasks,
    push,
    agentSecrets,
    clientRole: true,
    ...clientRoleMadeUp(store),
    ...privacyMadeUp(store),
    ...change,
  });
  const answers: unknown[] = [];

  return {
    store,
    clock,
    random,
    secrets,
    agentSecrets,
    admin,
    registry: createRegistry({ store, clock }),
    /** Everything that an administrator was shown. */
    answers,
    /** The result, or the error as administrators see it. */
    async run(operation: string, input: object = {}, actor = ADA): Promise<Record<string, unknown>> {
      const answer = await admin.execute(operation, input, actor);
      const shown = answer.kind === 'done' ? answer.result : { error: describeFailure(answer.failure) };
      answers.push(shown);
      return JSON.parse(JSON.stringify(shown)) as Record<string, unknown>;
    },
    audits: () => store.items().filter((item) => item.pk.startsWith('audit#')),
    /** Every stored item as text, bytes as the characters they would be. */
    dump: () =>
      JSON.stringify(store.items(), (_name, value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
      ),
  };
}

/** Remote agents that answer as their card's URL says, and what waits for them. */
export function clientRoleMadeUp(
  store: Pick<Store, 'transact'>,
): Pick<AdminParts, 'agents' | 'dependencies' | 'runs'> {
  const operate: AdminParts['dependencies']['poll'] = async (_task, id, audit) => {
    if (id === '0001.0001') return 'ended';
    if (id !== '0001.0000') return 'unknown';
    await store.transact([audit], 'token');
    return 'done';
  };
  return {
    agents: {
      readCard: async ({ cardUrl }, knownEtag) => {
        if (cardUrl.includes('broken'))
          return { kind: 'unusable', field: 'cardUrl', why: 'the card has no compatible interface' };
        if (knownEtag === '"1"') return { kind: 'unchanged' };
        const url = `${new URL(cardUrl).origin}/rpc`;
        const card = { name: 'Weather', description: 'Knows the weather.', etag: '"1"' };
        return { kind: 'read', interface: { url, protocolVersion: '1.0' }, ...card, warnings: [] };
      },
      test: async () => ({ ok: true, checks: [{ check: 'card', outcome: 'ok', says: 'fine' }] }),
    },
    dependencies: {
      list: async (task, filter) => [{ dependency: `${task}/0001.0000`, ...filter }],
      listOpen: async (agent) => ({
        dependencies: [{ dependency: 't1/0001.0000', agent: agent ?? 'any' }],
        more: false,
      }),
      show: async (task, id) => (id === '0001.0000' ? { dependency: `${task}/${id}` } : undefined),
      poll: operate,
      cancel: operate,
    },
    runs: {
      start: async ({ profile }) => ({ id: 'run1', profile, state: 'TASK_STATE_SUBMITTED' }),
      plan: (actor) => ({ task: 'run1', context: `context of ${actor.length}` }),
      show: async (id, _actor, waitMs) => (id === 'run1' ? { id, waitMs } : undefined),
      reply: async (id) => (id === 'run1' ? 'accepted' : 'unknown'),
      cancel: async (id) => (id === 'run1' ? 'canceled' : 'unknown'),
    },
  };
}

/** Tightening, approvals and purges made up: names say what becomes of them. */
export function privacyMadeUp(
  store: Pick<Store, 'transact' | 'get'>,
): Pick<AdminParts, 'ceilings' | 'approvals' | 'purge'> {
  const decide: AdminParts['approvals']['approve'] = async (task, revision, audit) => {
    if (task !== 'waits') return 'not-waiting';
    if (revision !== undefined && revision !== 2) return 'stale';
    await store.transact([audit(2)], 'token');
    return 'decided';
  };
  const next = { shard: 1, after: { pk: 'T#t2', sk: 'H', ds: 'due#1', da: '1' } };
  return {
    ceilings: {
      start: async () => ({
        kind: 'put',
        table: 'registry',
        item: { pk: 'job', sk: 'ceiling', v: 1 },
      }),
      inForceAt: async () =>
        (await store.get('registry', { pk: 'job', sk: 'ceiling' })) && Date.UTC(2026, 10, 30) + 5_000,
      show: async () => ({ state: 'done', pass: 2, total: 5, looked: 5, lowered: 2 }),
      count: async (_proposed, cursor) =>
        cursor ? { looked: 1, touched: 0 } : { looked: 4, touched: 2, next },
    },
    approvals: {
      list: async () => [{ task: 'waits', revision: 2 }],
      show: async (task) => (task === 'waits' ? { task, revision: 2, artifacts: [] } : undefined),
      approve: decide,
      reject: decide,
    },
    purge: async ({ task }, cursor) => {
      if (task !== undefined) return task === 'known' ? { looked: 1, purged: 1 } : { looked: 0, purged: 0 };
      return cursor ? { looked: 1, purged: 1 } : { looked: 4, purged: 2, next };
    },
  };
}

export type Installation = ReturnType<typeof createInstallation>;
