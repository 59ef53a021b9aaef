import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Clock } from '../../shared/runtime/ports.ts';
import { systemClock } from '../../shared/runtime/system.ts';
import type { StoredItem } from '../../shared/storage/port.ts';
import { executing, message } from './rig.ts';
import { ask, completed, provider, type Scene, startScene } from './scene.ts';

vi.setConfig({ testTimeout: 60_000 });

interface Consumed {
  readonly TableName?: string;
  readonly CapacityUnits?: number;
  readonly Table?: { readonly CapacityUnits?: number };
  readonly GlobalSecondaryIndexes?: Readonly<Record<string, { readonly CapacityUnits?: number }>>;
}

/** One call of the SDK: what it was, and the units that the engine counted for it, those of indexes included. */
interface Counted {
  readonly command: string;
  readonly table: string;
  readonly units: number;
  /** Of the units, those of indexes. */
  readonly indexUnits: number;
  readonly actions: number;
  readonly counts: boolean;
}

const WRITES = new Set([
  'TransactWriteItemsCommand',
  'PutItemCommand',
  'UpdateItemCommand',
  'DeleteItemCommand',
]);
const large = provider(() => completed('x'.repeat(1_300_000)));

/**
 * Time at a twentieth of its speed, so that a busy machine is not what decides whether a run counts as slow, a
 * projection as late and a setting as old: each would be paid for. Pauses that nobody can cut short stay as they are.
 */
const BEGUN = Date.now();
const clock: Clock = {
  now: () => BEGUN + Math.floor((Date.now() - BEGUN) / 20),
  sleep: (ms, signal) => systemClock.sleep(signal ? ms * 20 : ms, signal),
};

let scene: Scene;
let calls: Counted[] = [];
beforeAll(async () => {
  scene = await startScene({ clients: ['alice', 'lister'], adapters: { large }, clock });
  scene.rig.client.middlewareStack.add(
    (next, context) => async (args) => {
      const input = args.input as unknown as Record<string, unknown>;
      input['ReturnConsumedCapacity'] = 'INDEXES';
      const result = await next(args);
      const { ConsumedCapacity } = result.output as { ConsumedCapacity?: Consumed | Consumed[] };
      for (const consumed of [ConsumedCapacity ?? {}].flat()) {
        calls.push({
          command: context.commandName ?? '',
          table: consumed.TableName?.replace('test-', '') ?? '',
          units: consumed.CapacityUnits ?? 0,
          indexUnits: Object.values(consumed.GlobalSecondaryIndexes ?? {}).reduce(
            (sum, index) => sum + (index.CapacityUnits ?? 0),
            0,
          ),
          actions: Array.isArray(input['TransactItems']) ? input['TransactItems'].length : 1,
          counts: input['Select'] === 'COUNT',
        });
      }
      return result;
    },
    { step: 'initialize', name: 'consumedCapacity' },
  );
});
afterAll(() => scene[Symbol.asyncDispose]());

/** What was called while `work` was done. */
async function during<T>(work: () => Promise<T>): Promise<{ result: T; calls: Counted[] }> {
  calls = [];
  const result = await work();
  return { result, calls };
}

const sum = (counted: readonly Counted[]) => counted.reduce((units, call) => units + call.units, 0);
const written = (counted: readonly Counted[]) => counted.filter((call) => WRITES.has(call.command));
const isRead = (call: Counted) => !WRITES.has(call.command);
const send = (client = 'alice', tenant = 'echo') =>
  ask(scene.gateway, client, 'SendMessage', { tenant, message: message('hi') });

/** One task from its request to its answer, warm. */
async function completedTask() {
  await using _executor = executing(scene.gateway);
  await send();
  return await during(() => send());
}

describe('costs that are kept (design §10)', () => {
  test('a completed fast single-turn task without push takes at most 36 write units, index writes included', async () => {
    const { result, calls: made } = await completedTask();
    expect(result.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    const writes = written(made);
    const units = sum(writes);
    console.log(
      `write units of a completed task: ${units} (${writes.map((call) => `${call.table} ${call.units}`).join(', ')})`,
    );
    // The engine counts, and counts indexes: or the bound would mean nothing.
    expect(writes.some((call) => call.indexUnits > 0)).toBe(true);
    expect(writes.every((call) => call.units > 0)).toBe(true);
    expect(units).toBeGreaterThan(20);
    expect(units).toBeLessThanOrEqual(36);
  });

  test('it is four transactions, none with more than a handful of items', async () => {
    const { calls: made } = await completedTask();
    const transactions = made.filter((call) => call.command === 'TransactWriteItemsCommand');
    expect(transactions.map((call) => call.table)).toEqual(['state', 'view', 'state', 'view']);
    for (const { actions } of transactions) expect(actions).toBeLessThanOrEqual(5);
  });

  test('warm, neither a task nor its reading calls KMS', async () => {
    await completedTask();
    const before = scene.gateway.keyService.calls;
    const { result } = await completedTask();
    await ask(scene.gateway, 'alice', 'GetTask', { id: result.result.task.id });
    const { result: page } = await ask(scene.gateway, 'alice', 'ListTasks', { pageSize: 1 });
    await ask(scene.gateway, 'alice', 'ListTasks', { pageSize: 1, pageToken: page.nextPageToken });
    expect(before).toBeGreaterThan(0);
    expect(scene.gateway.keyService.calls).toBe(before);
  });

  test('the largest results are still one transaction, far from the bound on its items', async () => {
    await using _executor = executing(scene.gateway);
    const { result, calls: made } = await during(() => send('alice', 'large'));
    expect(result.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    const transactions = made.filter((call) => call.command === 'TransactWriteItemsCommand');
    expect(transactions).toHaveLength(4);
    expect(Math.max(...transactions.map((call) => call.actions))).toBeLessThanOrEqual(12);
  });

  test('a GetTask is the client, head and view, and the content: three requests of few units', async () => {
    const { result } = await completedTask();
    const { id } = result.result.task;
    const got = await during(() => ask(scene.gateway, 'alice', 'GetTask', { id }));
    expect(got.result.result).toEqual(result.result.task);
    const reads = got.calls.filter(isRead);
    expect(reads.map((call) => `${call.command} ${call.table}`).sort()).toEqual([
      'BatchGetItemCommand state',
      'BatchGetItemCommand state',
      'BatchGetItemCommand view',
      'GetItemCommand registry',
    ]);
    expect(sum(reads)).toBeLessThanOrEqual(6);
    // What counts the requests of a minute.
    expect(sum(written(got.calls))).toBe(1);
  });

  test('a request that is refused costs no more than its client and its count', async () => {
    const got = await during(() => ask(scene.gateway, 'alice', 'SendMessage', { message: {} }));
    expect(got.calls.map((call) => call.table)).toEqual(['registry']);
    const unknown = await during(() => ask(scene.gateway, 'alice', 'GetTask', { id: 'nope' }));
    expect(sum(unknown.calls)).toBeLessThanOrEqual(4);
  });

  test('a list page costs the same at a hundred tasks and at a thousand, first page and later ones', async () => {
    await using _executor = executing(scene.gateway);
    for (let i = 0; i < 12; i++) await send('lister');
    await grow(100);
    const atHundred = await pages();
    await grow(900);
    const atThousand = await pages();
    expect(atHundred.totals).toEqual([112, 112]);
    expect(atThousand.totals).toEqual([1_012, 1_012]);
    expect(atHundred.costs).toEqual(atThousand.costs);
    console.log(`a list page of 5: ${JSON.stringify(atThousand.costs)}`);
    for (const cost of atThousand.costs) expect(cost.units).toBeLessThanOrEqual(25);
    // The count of the matches is made with the first page alone.
    expect(atThousand.counted).toEqual([true, false]);
  });

  async function pages() {
    const costs: { requests: number; units: number }[] = [];
    const totals: number[] = [];
    const counted: boolean[] = [];
    let pageToken = '';
    for (let page = 0; page < 2; page++) {
      const params = { pageSize: 5, ...(pageToken ? { pageToken } : {}) };
      const { result, calls: made } = await during(() => ask(scene.gateway, 'lister', 'ListTasks', params));
      expect(result.result.tasks).toHaveLength(5);
      const reads = made.filter((call) => isRead(call) && !call.counts);
      costs.push({ requests: reads.length, units: sum(reads) });
      totals.push(result.result.totalSize);
      counted.push(made.some((call) => call.counts));
      pageToken = result.result.nextPageToken;
    }
    return { costs, totals, counted };
  }

  /** Older tasks, as the index holds them: a page that is not theirs must not read them. */
  async function grow(count: number) {
    const model = (await scene.dump('view')).find((item) => item['client'] === 'lister' && item.sk === 'V')!;
    const older = Array.from({ length: count }, (): StoredItem => {
      const task = crypto.randomUUID();
      return { ...model, pk: `T#${task}`, at: 1_000, go: `00000000001000#${task}` };
    });
    for (let i = 0; i < older.length; i += 50) {
      await Promise.all(
        older.slice(i, i + 50).map((item) => scene.rig.store.write({ kind: 'put', table: 'view', item })),
      );
    }
  }
});
