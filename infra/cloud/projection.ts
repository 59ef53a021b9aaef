import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, FilterCriteria, FilterRule, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { keys } from '../../shared/storage/keys.ts';
import { DEPENDENCIES, PROJECT, READ } from './access.ts';
import { MINUTE } from './alarms.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import type { Tables } from './tables.ts';
import { FailureQueue, WorkQueue } from './work-queue.ts';

/** Stream records are driven by state, so their order does not matter and shards may be split. */
const PARALLEL_BATCHES_PER_SHARD = 4;
const PROJECTORS = 20;

/**
 * Projection: the stream of `state` to the projector, which is the guarantee that every committed revision reaches
 * view and journal (P2, P3), and the queue of tasks that failed to project. Neither function can open content (P10).
 */
export class Projection extends Construct {
  readonly queue: WorkQueue;
  readonly projector: GatewayFunction;
  readonly retry: GatewayFunction;
  readonly lost: FailureQueue;

  constructor(
    scope: Construct,
    id: string,
    foundation: Foundation,
    parts: {
      readonly tables: Tables;
      readonly runQueue: WorkQueue;
      readonly outboxQueue: WorkQueue | undefined;
      readonly inboxQueue: WorkQueue | undefined;
    },
  ) {
    super(scope, id);
    const { alarms } = foundation;
    const timeout = Duration.seconds(60);
    this.queue = new WorkQueue(this, 'ProjectionQueue', {
      name: 'projections',
      alarms,
      consumerTimeout: timeout,
      receives: 10,
      oldest: Duration.minutes(30),
      deadLettersDrained: false,
    });
    this.projector = new GatewayFunction(this, 'Projector', foundation, {
      name: 'projector',
      description: 'Brings views and journals up to the committed state',
      memory: 512,
      timeout,
      reserved: PROJECTORS,
    });
    this.retry = new GatewayFunction(this, 'ProjectionRetry', foundation, {
      name: 'projection-retry',
      description: 'Projects tasks that failed to project',
      memory: 512,
      timeout,
      reserved: 5,
    });
    for (const user of [this.projector, this.retry]) {
      parts.tables.allow(user, 'state', READ);
      parts.tables.allow(user, 'view', PROJECT);
      // The jobs of a revision are part of the transaction that publishes it (P3).
      parts.tables.allow(user, 'outbox', ['PutItem']);
      parts.runQueue.sentBy(user, 'SEALPOST_RUN_QUEUE');
      parts.outboxQueue?.sentBy(user, 'SEALPOST_OUTBOX_QUEUE');
      // What a run waits for is sent, and canceled, by whoever is woken for it.
      parts.tables.allow(user, 'delegation', ['Query'], { partitions: DEPENDENCIES });
      parts.inboxQueue?.sentBy(user, 'SEALPOST_INBOX_QUEUE');
    }
    this.queue.sentBy(this.projector, 'SEALPOST_PROJECTION_QUEUE');
    this.queue.consumedBy(this.retry, { batch: 10, concurrency: 5 });
    this.lost = new FailureQueue(this, 'Lost', { name: 'projections-lost', alarms });
    this.#stream(foundation, parts.tables);
  }

  #stream({ alarms }: Foundation, tables: Tables): void {
    const { tableStreamArn } = tables.of('state');
    if (tableStreamArn === undefined) throw new Error('the state table has no stream');
    this.projector.allow(
      new PolicyStatement({
        actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
        resources: [tableStreamArn],
      }),
    );
    this.projector.allow(new PolicyStatement({ actions: ['dynamodb:ListStreams'], resources: ['*'] }));
    new EventSourceMapping(this, 'Stream', {
      target: this.projector.function,
      eventSourceArn: tableStreamArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: 100,
      parallelizationFactor: PARALLEL_BATCHES_PER_SHARD,
      // Revisions only: each commit writes exactly one (P3), and other items say nothing new.
      filters: [
        FilterCriteria.filter({
          eventName: FilterRule.isEqual('INSERT'),
          dynamodb: { Keys: { sk: { S: FilterRule.beginsWith(keys.revisionPrefix) } } },
        }),
      ],
      // Both are without end by default: one poison record would block its shard for a day.
      retryAttempts: 10,
      maxRecordAge: Duration.hours(6),
      bisectBatchOnError: true,
      reportBatchItemFailures: true,
      onFailure: this.lost.destinationOf(this.projector),
    });
    alarms.watch(
      this,
      'IteratorAge',
      this.projector.function.metric('IteratorAge', { period: MINUTE, statistic: 'Maximum' }),
      {
        description: 'views lag behind committed state',
        threshold: Duration.minutes(2).toMilliseconds(),
        periods: 3,
      },
    );
  }
}
