import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from '@aws-sdk/client-dynamodb-streams';
import { describe, expect, test } from 'vitest';
import { localClient } from '../../infra/local/local-client.ts';
import type { Call } from './harness/calls.ts';
import { GO } from './harness/calls.ts';
import { VirtualClock } from './harness/clock.ts';
import { play } from './harness/disturb.ts';
import { dump } from './harness/invariants.ts';
import { isRevision } from './harness/ledger.ts';
import { VirtualQueue } from './harness/queue.ts';
import { RemoteClient } from './harness/remote-client.ts';
import { recordOf } from './harness/stream.ts';
import { PATIENCE, withBench } from './harness/suite.ts';
import { NotAtRest } from './harness/world.ts';
import { scenarios } from './scenarios.ts';

const bench = withBench();

describe('undisturbed, every scenario', PATIENCE, () => {
  test.each(Object.values(scenarios).map((each) => [each.name, each] as const))(
    'comes to its end: %s',
    async (_, scenario) => {
      expect((await play(bench(), scenario)).broken).toEqual([]);
    },
  );

  test('makes the same calls in the same order, run after run', async () => {
    const first = await play(bench(), scenarios.watched);
    const second = await play(bench(), scenarios.watched);
    expect(second.world.calls.log).toEqual(first.world.calls.log);
    expect(first.world.calls.made).toBeGreaterThan(60);
  });

  test('shows the projector the records that the engine has in its own stream', async () => {
    const { world } = await play(bench(), scenarios.question);
    const made = world.ledger.puts('state').filter(({ item }) => isRevision(item));
    const ours = made.map(({ item }) => recordOf({ pk: item.pk, sk: item.sk }, '').dynamodb!.Keys);
    expect(ours.length).toBeGreaterThan(3);
    expect(await insertedRevisions(world.ground)).toEqual(ours);
  });
});

/** As the stack's event source filters them: inserts of revisions. */
async function insertedRevisions({
  client,
  tables,
}: {
  client: Parameters<typeof localOf>[0];
  tables: { state: string };
}) {
  const { Table } = await client.send(new DescribeTableCommand({ TableName: tables.state }));
  const streams = await localOf(client);
  const StreamArn = Table!.LatestStreamArn!;
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
  const found: unknown[] = [];
  for (const { ShardId } of StreamDescription!.Shards!) {
    const at = { StreamArn, ShardId: ShardId!, ShardIteratorType: 'TRIM_HORIZON' } as const;
    let { ShardIterator } = await streams.send(new GetShardIteratorCommand(at));
    while (ShardIterator) {
      const page = await streams.send(new GetRecordsCommand({ ShardIterator }));
      for (const { eventName, dynamodb } of page.Records ?? [])
        if (eventName === 'INSERT' && dynamodb?.Keys?.['sk']?.S?.startsWith('R#')) found.push(dynamodb.Keys);
      ShardIterator = page.Records?.length ? page.NextShardIterator : undefined;
    }
  }
  streams.destroy();
  return found;
}

async function localOf(client: import('@aws-sdk/client-dynamodb').DynamoDBClient) {
  const endpoint = await client.config.endpoint!();
  return new DynamoDBStreamsClient(
    localClient(`${endpoint.protocol}//${endpoint.hostname}:${endpoint.port}`),
  );
}

describe('an instance', PATIENCE, () => {
  const executor = (call: Call) => call.instance.name.startsWith('executor');

  test('that died never calls again, and another one ends its work', async () => {
    let died = '';
    const { world, broken } = await play(bench(), scenarios.progress, {
      plan: (call) => {
        if (died !== '' || call.name !== 'provider slow') return GO;
        died = call.instance.name;
        return { kind: 'die', when: 'after', scope: 'instance' };
      },
    });
    const calls = world.calls.log.map((line) => line.split(' '));
    const death = calls.findIndex((words) => words.at(-1) === 'die');
    expect(calls.slice(death + 1).filter(([, name]) => name === died)).toEqual([]);
    expect(new Set(calls.slice(death + 1).map(([, name]) => name?.split('-')[0]))).toContain('executor');
    expect(broken).toEqual([]);
  });

  test('that is frozen goes on where it stood when all others are at rest', async () => {
    let frozen = false;
    const { world, broken } = await play(bench(), scenarios.create, {
      plan: (call) => {
        if (frozen || !executor(call) || !call.name.endsWith('TransactWriteItemsCommand')) return GO;
        frozen = true;
        return { kind: 'freeze', when: 'before' };
      },
    });
    const completions = world.ledger
      .revisions()
      .filter(({ revision }) => revision.state === 'TASK_STATE_COMPLETED');
    expect(completions).toHaveLength(1);
    // Two executors called the provider; the frozen one's commit came last and was refused.
    expect(world.ledger.effects.filter(({ kind }) => kind === 'provider')).toHaveLength(2);
    expect(broken).toEqual([]);
  });
});

describe('what does not hold is seen', PATIENCE, () => {
  test('a client that is never answered', async () => {
    const world = await bench().world();
    const alice = new RemoteClient(world);
    await expect(world.run(new Promise(() => alice))).rejects.toBeInstanceOf(NotAtRest);
  });

  test('a task that ended otherwise, that there is not, or that is one too many', async () => {
    const wrong = { ...scenarios.create, expected: { ends: ['CANCELED'], artifacts: ['hello'], tasks: 2 } };
    const { broken } = await play(bench(), wrong);
    expect(broken.join('\n')).toMatch(/1 tasks exist, not 2[\s\S]*ended as COMPLETED, not as CANCELED/);
  });

  test('an artifact, a message, a journal entry or a view that is missing', async () => {
    for (const [table, prefix, words] of [
      ['state', 'A#', /0 of 1 slices[\s\S]*GetTask answers/],
      ['state', 'M#', /0 of 1 slices[\s\S]*GetTask answers/],
      ['view', 'J#', /journal is not its revisions/],
      // The last stream record comes later, and rebuilds what is gone.
      ['view', 'V', /published as 1, 2, 1, 2/],
    ] as const) {
      const { broken } = await play(bench(), {
        ...scenarios.create,
        async play(world) {
          const clients = await scenarios.create.play(world);
          const { items } = await world.store.scan(table);
          const key = items.find(({ pk, sk }) =>
            `${pk} ${sk}`.split(' ').some((part) => part.startsWith(prefix)),
          )!;
          await world.store.write({ kind: 'delete', table, key: { pk: key.pk, sk: key.sk } });
          return clients;
        },
      });
      expect(broken.join('\n')).toMatch(words);
    }
  });

  test('a stream with a gap, a doubled event or an early end', async () => {
    const tamper = async (change: (events: RemoteClient['connections'][0]['events']) => void) => {
      const played = await play(bench(), {
        ...scenarios.streaming,
        async play(world) {
          const clients = await scenarios.streaming.play(world);
          change(clients[0]!.connections[0]!.events);
          return clients;
        },
      });
      return played.broken.join('\n');
    };
    expect(await tamper((events) => events.splice(1, 1))).toMatch(/a stream behind 1\.0 showed/);
    expect(await tamper((events) => events.splice(1, 0, events[1]!))).toMatch(/a stream behind 1\.0 showed/);
    expect(await tamper((events) => events.splice(-1))).toMatch(/a stream was ended at/);
  });

  test('an answer that goes back behind what was shown before', async () => {
    const { broken } = await play(bench(), {
      ...scenarios.watched,
      async play(world) {
        const [alice, other] = (await scenarios.watched.play(world)) as [RemoteClient, RemoteClient];
        const early = alice.sights.find(
          ({ by, state }) => by === 'answer' && state !== 'TASK_STATE_COMPLETED',
        )!;
        const end = world.ledger.effects.length;
        other.sights.push({ ...early, from: end, to: end });
        return [alice, other];
      },
    });
    expect(broken.join('\n')).toMatch(/was answered after/);
  });
});

describe('the queue', () => {
  test('shows a message again when its consumer failed, and gives it to the dead letters in the end', async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    const make = (name: string, handled: boolean, deadLetters?: VirtualQueue) =>
      new VirtualQueue({
        ...{ name, clock, deliveries: () => [0], visibilityMs: 30_000, receives: 2 },
        ...(deadLetters ? { deadLetters } : {}),
        consume: async ({ body }) => {
          seen.push(`${name} ${body} ${(clock.now() - start) / 1000}`);
          return handled;
        },
      });
    const start = clock.now();
    make('runs', false, make('dead', true)).send('a', 5);
    for (let more = true; more; ) {
      more = clock.advance();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(seen).toEqual(['runs a 5', 'runs a 35', 'dead a 65']);
  });
});

test('a world that is dumped holds its tasks with all their parts', async () => {
  const { world } = await play(bench(), scenarios.question);
  const { tasks } = await dump(world);
  expect(tasks).toHaveLength(1);
  expect(tasks[0]!.revisions.map(({ revision }) => revision)).toEqual(
    tasks[0]!.journal.map(({ revision }) => revision),
  );
});
