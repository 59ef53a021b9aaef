import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../shared/runtime/system.ts';
import { createDynamoClient } from '../../shared/storage/client-dynamodb.ts';
import type { Action, Key } from '../../shared/storage/index.ts';
import { createDynamoStore } from '../../shared/storage/store-dynamodb.ts';
import { steppedClock } from './clock.ts';
import { type StoreRig, startStore } from './rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await startStore();
});
afterAll(() => rig[Symbol.asyncDispose]());

const told = { message: '', $metadata: { httpStatusCode: 400 } };
const cancelled = (...codes: string[]) =>
  new TransactionCanceledException({ ...told, CancellationReasons: codes.map((Code) => ({ Code })) });
const conflict = () => cancelled('TransactionConflict');
const throttled = () => new ProvisionedThroughputExceededException(told);
const reset = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

let serial = 0;
async function counter(): Promise<{ readonly key: Key; readonly count: Action }> {
  const key = { pk: `counter${++serial}`, sk: '-' };
  await rig.store.write({ kind: 'put', table: 'state', item: { ...key, n: 0 } });
  const when = [{ attribute: 'pk', is: 'present' }] as const;
  return { key, count: { kind: 'update', table: 'state', key, changes: { add: { n: 1 } }, when } };
}
const countOf = async (key: Key) => (await rig.store.get('state', key))?.['n'];
const quick = () => ({ clock: steppedClock(), random: systemRandom });

describe('a transaction', () => {
  it.each([
    ['a conflict', conflict],
    ['a throttle', () => cancelled('ThrottlingError')],
    [
      'a conflict beside a failed condition',
      () => cancelled('ConditionalCheckFailed', 'TransactionConflict'),
    ],
    ['an earlier try in progress', () => new TransactionInProgressException(told)],
    ['a lost request', reset],
  ])('is repeated after %s, under its token', async (_, error) => {
    const { key, count } = await counter();
    const { store, faults } = rig.another(quick());
    faults.next.push({ when: 'before', error: error() }, { when: 'before', error: error() });
    expect(await store.transact([count], `t${serial}`)).toEqual({ kind: 'done' });
    expect(await countOf(key)).toBe(1);
    expect(
      faults.calls.map((call) => (call.input as { ClientRequestToken: string }).ClientRequestToken),
    ).toEqual([`t${serial}`, `t${serial}`, `t${serial}`]);
  });

  it('whose answer was lost is done once and answered as done', async () => {
    const { key, count } = await counter();
    const { store, faults } = rig.another(quick());
    faults.next.push({ when: 'after', error: reset() }, { when: 'after', error: reset() });
    // Its own condition no longer holds once it was done: only the token tells the repeat from a second call.
    const once = { ...count, when: [{ attribute: 'n', is: '=', value: 0 }] } as Action;
    expect(await store.transact([once], `t${serial}`)).toEqual({ kind: 'done' });
    expect(await countOf(key)).toBe(1);
    expect(faults.calls).toHaveLength(3);
  });

  it('whose condition fails is not repeated', async () => {
    const { count } = await counter();
    const { store, faults } = rig.another(quick());
    const wrong = { ...count, when: [{ attribute: 'n', is: '=', value: 7 }] } as Action;
    expect(await store.transact([wrong], `t${serial}`)).toMatchObject({ kind: 'refused', failed: [0] });
    expect(faults.calls).toHaveLength(1);
  });

  it('in conflict until its deadline throws StoreUnavailable', async () => {
    const { key, count } = await counter();
    const parts = quick();
    const { store, faults } = rig.another(parts);
    for (let n = 0; n < 500; n++) faults.next.push({ when: 'before', error: conflict() });
    const deadline = parts.clock.now() + 2_000;
    await expect(store.transact([count], 'never', { deadline })).rejects.toMatchObject({
      tag: 'StoreUnavailable',
      cause: { message: 'TransactionConflict' },
    });
    expect(parts.clock.now()).toBeLessThan(deadline);
    expect(faults.calls.length).toBeGreaterThan(3);
    expect(await countOf(key)).toBe(0);
  });
});

describe('a single write', () => {
  it.each([
    ['a conflict with a transaction', () => new TransactionConflictException(told)],
    ['a throttle', throttled],
    ['a lost request', reset],
  ])('is repeated after %s', async (_, error) => {
    const { key, count } = await counter();
    const { store, faults } = rig.another(quick());
    faults.next.push({ when: 'before', error: error() });
    if (count.kind !== 'update') throw new Error('the counter is an update');
    expect(await store.write(count)).toEqual({ kind: 'done', item: { ...key, n: 1 } });
  });

  it('whose answer was lost is refused by itself, and its maker recognises it in the item', async () => {
    const { store, faults } = rig.another(quick());
    faults.next.push({ when: 'after', error: reset() });
    const item = { pk: `own${++serial}`, sk: '-', commit: 'mine' };
    const when = [{ attribute: 'pk', is: 'absent' }] as const;
    expect(await store.write({ kind: 'put', table: 'state', item, when })).toEqual({
      kind: 'refused',
      items: [item],
      failed: [0],
    });
  });
});

describe('a read', () => {
  it('is repeated after a throttle, and a refusal is never read as an answer', async () => {
    const { key } = await counter();
    const { store, faults } = rig.another(quick());
    faults.next.push({ when: 'before', error: throttled() });
    expect(await store.get('state', key)).toEqual({ ...key, n: 0 });
    faults.next.push({ when: 'before', error: new ConditionalCheckFailedException(told) });
    await expect(store.get('state', key)).rejects.toThrow();
  });

  it('of many asks again for what was left, whatever else is still to be read', async () => {
    const wanted = Array.from({ length: 230 }, (_, n) => ({ pk: `many${n}`, sk: '-' }));
    for (let at = 0; at < wanted.length; at += 100) {
      const page = wanted.slice(at, at + 100);
      await rig.store.transact(
        page.map((key) => ({ kind: 'put', table: 'view', item: { ...key } })),
        `many${at}`,
      );
    }
    const client = createDynamoClient({
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_DYNAMODB: (await endpointOf(rig)).href,
    });
    const asked: number[] = [];
    // Every answer holds back all but 30 of its keys, the first answer holds back all.
    client.middlewareStack.add(
      (next) => async (args) => {
        const name = rig.tables.view;
        const { RequestItems } = args.input as BatchGetItemCommand['input'];
        const keys = RequestItems?.[name]?.Keys ?? [];
        asked.push(keys.length);
        const now = asked.length === 1 ? [] : keys.slice(0, 30);
        const left = { [name]: { Keys: keys.slice(now.length) } };
        const answer =
          now.length === 0
            ? { Responses: {} }
            : await rig.client.send(
                new BatchGetItemCommand({ RequestItems: { [name]: { Keys: now, ConsistentRead: true } } }),
              );
        return { response: {}, output: { ...answer, UnprocessedKeys: left, $metadata: {} } } as Awaited<
          ReturnType<typeof next>
        >;
      },
      { step: 'initialize', name: 'heldBack' },
    );
    const store = createDynamoStore({ client, tables: rig.tables, ...quick() });
    const read = await store.getMany(wanted.map((key) => ({ table: 'view', key })));
    expect(read).toEqual(wanted);
    expect(Math.max(...asked)).toBe(100);
    client.destroy();
  });
});

describe('a server in trouble', () => {
  async function hanging(answers: readonly (string | number | undefined)[], clock = systemClock) {
    let calls = 0;
    const server = createServer((request, response) => {
      request.resume();
      const answer = answers[calls++];
      if (typeof answer === 'number') response.writeHead(answer).end('{}');
      else if (answer !== undefined) {
        response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(answer);
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = createDynamoClient({
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${port}`,
    });
    return {
      store: createDynamoStore({ client, tables: rig.tables, clock, random: systemRandom }),
      calls: () => calls,
      [Symbol.dispose]() {
        client.destroy();
        server.closeAllConnections();
        server.close();
      },
    };
  }

  it('is asked again only after a wait of the store, never by the client on its own', async () => {
    const clock = steppedClock();
    using server = await hanging(Array(100).fill(500), clock);
    await expect(server.store.get('state', { pk: 'a', sk: 'b' })).rejects.toMatchObject({
      tag: 'StoreUnavailable',
    });
    expect(server.calls()).toBe(clock.slept.length + 1);
  });

  it('that hangs is given up at the deadline, in the middle of a call', async () => {
    using server = await hanging([]);
    const started = performance.now();
    const deadline = Date.now() + 300;
    await expect(server.store.get('state', { pk: 'a', sk: 'b' }, { deadline })).rejects.toMatchObject({
      tag: 'StoreUnavailable',
    });
    expect(performance.now() - started).toBeLessThan(1_500);
    expect(server.calls()).toBe(1);
  });

  it('that hangs is asked again after two seconds', async () => {
    using server = await hanging([undefined, '{"Item":{"pk":{"S":"a"},"sk":{"S":"b"}}}']);
    expect(await server.store.get('state', { pk: 'a', sk: 'b' })).toEqual({ pk: 'a', sk: 'b' });
    expect(server.calls()).toBe(2);
  });

  it('whose answer was cut short counts as not having answered', async () => {
    using server = await hanging(['{"Item":{"pk":{"S":', '{"Item":{"pk":{"S":"a"},"sk":{"S":"b"}}}']);
    expect(await server.store.get('state', { pk: 'a', sk: 'b' })).toEqual({ pk: 'a', sk: 'b' });
  });
});

async function endpointOf(of: StoreRig): Promise<URL> {
  const endpoint = await of.client.config.endpoint?.();
  if (endpoint === undefined) throw new Error('the client has no endpoint');
  return new URL(`${endpoint.protocol}//${endpoint.hostname}:${endpoint.port}${endpoint.path}`);
}
