import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import {
  AGENT_READ,
  allowEnding,
  allowPurging,
  allowRewriting,
  dataKeyItems,
  LEVELS_READ,
  PROJECT,
  READ,
  TASK_WRITE,
} from './access.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import { ownMetric } from './own-metrics.ts';
import type { SealingKeys } from './sealing-keys.ts';
import type { Tables } from './tables.ts';
import { WorkQueue } from './work-queue.ts';

/** The longest that a Lambda lasts; a run that takes longer is claimed again (design §5, Execute). */
const EXECUTION = Duration.minutes(15);

/**
 * Runs: the run queue, the executor, and dead-letter, which ends what ran out of retries (P6). Both roles of the
 * gateway stand on it.
 */
export class Runs extends Construct {
  readonly queue: WorkQueue;
  readonly executor: GatewayFunction;
  readonly deadLetter: GatewayFunction;

  constructor(
    scope: Construct,
    id: string,
    foundation: Foundation,
    parts: { readonly tables: Tables; readonly keys: SealingKeys },
  ) {
    super(scope, id);
    const { parameters, alarms, metricsNamespace } = foundation;
    const { tables, keys } = parts;
    this.queue = new WorkQueue(this, 'RunQueue', {
      name: 'runs',
      alarms,
      consumerTimeout: EXECUTION,
      // Attempts are counted in the head; this bounds only what fails before a claim.
      receives: 5,
      oldest: Duration.minutes(5),
      deadLettersDrained: true,
    });

    this.executor = new GatewayFunction(this, 'Executor', foundation, {
      name: 'executor',
      description: 'Executes runs and completes tasks',
      memory: 1024,
      timeout: EXECUTION,
      reserved: parameters.executorConcurrency,
    });
    this.queue.consumedBy(this.executor, { batch: 1, concurrency: parameters.executorConcurrency });
    this.queue.sentBy(this.executor, 'SEALPOST_RUN_QUEUE');
    tables.allow(this.executor, 'state', TASK_WRITE);
    tables.allow(this.executor, 'view', PROJECT, { indexes: ['context'] });
    tables.allow(this.executor, 'outbox', ['PutItem']);
    // A run that hands steps on: dependencies with the addresses to call back, in the transaction that suspends it.
    tables.allow(this.executor, 'delegation', ['Query', 'PutItem', 'UpdateItem']);
    allowEnding(tables, this.executor);
    allowRewriting(tables, this.executor);
    tables.allow(this.executor, 'registry', READ, {
      partitions: [
        ...LEVELS_READ,
        ...(parameters.roles.client ? AGENT_READ : []),
        ...dataKeyItems(['content', 'working', 'secret']),
      ],
    });
    tables.allow(this.executor, 'registry', ['PutItem'], {
      partitions: dataKeyItems(['content', 'working']),
    });
    keys.allow(this.executor, { generate: ['content', 'working'], open: ['secret'] });
    this.executor.allowRedaction();
    this.executor.allowInvoking(parameters.functionProviders);
    this.executor.allowModels(parameters.bedrockModels);

    this.deadLetter = new GatewayFunction(this, 'DeadLetter', foundation, {
      name: 'dead-letter',
      description: 'Ends runs that ran out of retries',
      memory: 512,
      timeout: Duration.seconds(60),
      reserved: 5,
    });
    this.queue.deadLettersConsumedBy(this.deadLetter, { batch: 10, concurrency: 5 });
    this.queue.sentBy(this.deadLetter, 'SEALPOST_RUN_QUEUE');
    tables.allow(this.deadLetter, 'state', TASK_WRITE);
    tables.allow(this.deadLetter, 'view', PROJECT);
    tables.allow(this.deadLetter, 'outbox', ['PutItem']);
    allowEnding(tables, this.deadLetter);
    allowPurging(tables, this.deadLetter);

    alarms.watch(this, 'Faults', ownMetric(metricsNamespace, 'ExecutionFault', 'executor', 'Sum'), {
      description: 'runs fail by a fault of the gateway: tables, keys or redaction',
      threshold: 5,
    });
  }
}
