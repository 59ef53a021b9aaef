import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keys } from '../../shared/storage/keys.ts';
import { type Push, startPush } from './rig.ts';

interface Consumed {
  readonly TableName?: string;
  readonly CapacityUnits?: number;
}

const WRITES = /^(TransactWriteItems|PutItem|UpdateItem|DeleteItem)Command$/;

describe('what a webhook costs (design §10)', () => {
  let push: Push;
  let writes: { readonly table: string; readonly units: number }[] = [];
  let reads = 0;
  beforeAll(async () => {
    push = await startPush();
    push.rig.client.middlewareStack.add(
      (next, context) => async (args) => {
        (args.input as { ReturnConsumedCapacity?: string }).ReturnConsumedCapacity = 'INDEXES';
        const result = await next(args);
        const { ConsumedCapacity } = result.output as { ConsumedCapacity?: Consumed | Consumed[] };
        for (const { TableName = '', CapacityUnits = 0 } of [ConsumedCapacity ?? []].flat()) {
          if (WRITES.test(context.commandName ?? ''))
            writes.push({ table: TableName.replace('test-', ''), units: CapacityUnits });
          else reads += CapacityUnits;
        }
        return result;
      },
      { step: 'initialize', name: 'consumedCapacity' },
    );
  });
  afterAll(() => push[Symbol.asyncDispose]());

  /** Units and key calls of a task from its message to its last event's delivery; creating a config is none of it. */
  async function task(webhooks: number) {
    const id = await push.send('x');
    for (let i = 0; i < webhooks; i++) {
      await push.create(id, {
        url: push.webhooks.url('/a-path-of-usual-length/with-a-name?and=a-parameter'),
        token: 'a-token-of-usual-length-0123456789',
        authentication: { scheme: 'Bearer', credentials: `a-credential-${'x'.repeat(64)}` },
      });
    }
    const before = push.webhooks.receiver.seen.length;
    const keyCalls = push.gateway.keyService.calls;
    writes = [];
    reads = 0;
    await push.finish(id);
    await push.outbox.drain();
    return {
      units: writes.reduce((sum, { units }) => sum + units, 0),
      outbox: writes.filter(({ table }) => table === 'outbox').map(({ units }) => units),
      reads,
      events: push.webhooks.receiver.seen.length - before,
      keyCalls: push.gateway.keyService.calls - keyCalls,
    };
  }

  test('is at most 8 write units for an event delivered at the first attempt, index writes included, and no key call', async () => {
    await task(1);
    const without = await task(0);
    const withOne = await task(1);
    const withFive = await task(5);
    // An artifact update and the completion, which one job delivers.
    expect([without.events, withOne.events, withFive.events]).toEqual([0, 2, 10]);
    const units = (withOne.units - without.units) / 2;
    console.log(
      `write units an event: ${units} (a job of two events: ${withOne.outbox.join(' + ')});`,
      `with five webhooks ${(withFive.units - without.units) / 10};`,
      `read units ${((withOne.reads - without.reads) / 2).toFixed(1)}`,
    );
    expect(units).toBeGreaterThan(2);
    expect(units).toBeLessThanOrEqual(8);
    expect((withFive.units - without.units) / 10).toBeLessThanOrEqual(8);
    expect([withOne.keyCalls, withFive.keyCalls]).toEqual([0, 0]);
  });

  test('is at most 8 for a job of one event too, which has the whole job to itself', async () => {
    await task(1);
    const id = await push.send('x');
    await push.create(id, { url: push.webhooks.url() });
    const other = await push.send('x');
    const cancel = async (one: string) => {
      writes = [];
      await push.gateway.call('alice', 'CancelTask', { id: one });
      await push.gateway.follow(one);
      await push.outbox.drain();
      return writes.reduce((sum, { units }) => sum + units, 0);
    };
    const without = await cancel(other);
    const before = push.webhooks.receiver.seen.length;
    const withOne = await cancel(id);
    expect(push.webhooks.receiver.seen.length - before).toBe(1);
    console.log(`write units of a job of one event: ${withOne - without}`);
    expect(withOne - without).toBeLessThanOrEqual(8);
  });

  test('leaves nothing in the due index, and no lease', async () => {
    await task(2);
    const due = await Promise.all(
      keys.dueShards().map((partition) => push.store.query({ table: 'outbox', index: 'due', partition })),
    );
    expect(due.flatMap(({ items }) => items)).toEqual([]);
    const { items } = await push.store.scan('outbox');
    expect(items.filter(({ lease }) => lease !== undefined)).toEqual([]);
  });
});
