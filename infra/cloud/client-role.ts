import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import {
  AGENT_READ,
  allowEnding,
  dataKeyItems,
  GET,
  LEVELS_READ,
  PROJECT,
  REGISTRATIONS,
  TASK_WRITE,
  WORKING,
} from './access.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import type { HttpApi } from './http-api.ts';
import { ownMetric, percent } from './own-metrics.ts';
import type { SealingKeys } from './sealing-keys.ts';
import type { Tables } from './tables.ts';
import { WorkQueue } from './work-queue.ts';

/** Time for a few calls of a remote agent. */
const RECONCILIATION = Duration.minutes(5);

/**
 * The client role: the route for callbacks, the inbox queue, and the reconciler, which alone calls remote agents while
 * runs wait for them (design §8). It stands in no VPC, so that nothing private is within its reach even if the guard
 * failed. Nothing drains the dead letters of the inbox: each dependency stands in the due index with its next step and
 * its deadline, so the sweeper wakes it again, and a dead letter only says that somebody should look.
 */
export class ClientRole extends Construct {
  readonly queue: WorkQueue;
  readonly callback: GatewayFunction;
  readonly reconciler: GatewayFunction;

  constructor(
    scope: Construct,
    id: string,
    foundation: Foundation,
    parts: {
      readonly tables: Tables;
      readonly keys: SealingKeys;
      readonly runQueue: WorkQueue;
      readonly api: HttpApi;
      /** Suspends the runs whose steps are handed on. */
      readonly executor: GatewayFunction;
    },
  ) {
    super(scope, id);
    const { parameters, alarms } = foundation;
    const { tables, keys, runQueue, api, executor } = parts;
    this.queue = new WorkQueue(this, 'InboxQueue', {
      name: 'inbox',
      alarms,
      consumerTimeout: RECONCILIATION,
      receives: 5,
      // A message that wakes somebody later is delayed by up to 15 minutes.
      oldest: Duration.minutes(30),
      deadLettersDrained: false,
    });

    // The sends of a turn begin when it was suspended, not when the stream comes to it.
    this.queue.sentBy(executor, 'SEALPOST_INBOX_QUEUE');

    this.callback = new GatewayFunction(this, 'Callback', foundation, {
      name: 'callback',
      description: 'Takes callbacks of remote agents',
      memory: 512,
      timeout: Duration.seconds(15),
      // Its own, so that a remote agent that floods us takes nothing from anybody else.
      reserved: parameters.callbackConcurrency,
      errors: 5,
    });
    // A signal is counted on its registration, and no more: no key, no content, no registry (P8).
    tables.allow(this.callback, 'delegation', ['GetItem', 'UpdateItem'], { partitions: REGISTRATIONS });
    this.queue.sentBy(this.callback, 'SEALPOST_INBOX_QUEUE');

    this.reconciler = new GatewayFunction(this, 'Reconciler', foundation, {
      name: 'reconciler',
      description: 'Calls remote agents and resolves what runs wait for',
      memory: 512,
      timeout: RECONCILIATION,
      reserved: parameters.reconcilerConcurrency,
    });
    // A remote agent that hangs holds one invocation, and nobody else's.
    this.queue.consumedBy(this.reconciler, { batch: 1, concurrency: parameters.reconcilerConcurrency });
    this.queue.sentBy(this.reconciler, 'SEALPOST_INBOX_QUEUE');
    runQueue.sentBy(this.reconciler, 'SEALPOST_RUN_QUEUE');
    // Where remote agents call back, and what they may not be: the gateway itself.
    this.reconciler.tell('SEALPOST_PUBLIC_URL', api.url);
    tables.allow(this.reconciler, 'delegation', [...GET, 'Query', 'PutItem', 'UpdateItem']);
    // A question of the remote agent is kept beside a run that still waits; an acknowledged credential goes.
    tables.allow(this.reconciler, 'state', [...TASK_WRITE, 'ConditionCheckItem']);
    tables.allow(this.reconciler, 'state', ['DeleteItem'], { partitions: WORKING });
    // A run of which nothing may be kept any more ends before anything of it is sent.
    allowEnding(tables, this.reconciler);
    tables.allow(this.reconciler, 'view', PROJECT);
    tables.allow(this.reconciler, 'outbox', ['PutItem']);
    tables.allow(this.reconciler, 'registry', GET, {
      partitions: [...LEVELS_READ, ...AGENT_READ, ...dataKeyItems(['content', 'working', 'secret'])],
    });
    keys.allow(this.reconciler, { open: ['content', 'working', 'secret'] });
    this.reconciler.allowRedaction();

    api.serve(this.callback, 'whole');
    this.#watch(foundation);
  }

  #watch({ alarms, metricsNamespace }: Foundation): void {
    const called = (name: string, statistic: 'Sum' | 'Maximum') =>
      ownMetric(metricsNamespace, name, 'callback', statistic);
    const reconciled = (name: string, statistic: 'Sum' | 'Maximum', dimensions = {}) =>
      ownMetric(metricsNamespace, name, 'reconciler', statistic, dimensions);
    const failures = Object.fromEntries(
      FAILURES.map((kind, index) => [`failed${index}`, reconciled('RemoteFailure', 'Sum', { kind })]),
    );

    alarms.watch(this, 'Refused', called('CallbackRefused', 'Sum'), {
      description: 'remote agents: callbacks are refused with 429, more come than are reconciled',
      threshold: 10,
    });
    alarms.watch(this, 'Signals', called('SignalsWaiting', 'Maximum'), {
      // Of 32, then they are refused.
      description: 'remote agents: signals wait for the reconciler; see `admin dependency list`',
      threshold: 24,
      periods: 3,
    });
    alarms.watch(this, 'Lag', reconciled('ReconcileLag', 'Maximum'), {
      description: 'remote agents: callbacks are reconciled late',
      threshold: Duration.minutes(2).toMilliseconds(),
      periods: 3,
    });
    alarms.watch(this, 'Failed', reconciled('ReconcileFailed', 'Sum'), {
      description: 'remote agents: dependencies are not moved on by a fault of the gateway',
      threshold: 5,
    });
    const unhealthy = percent(
      'calls of remote agents that fail, percent',
      20,
      { answered: reconciled('RemoteAnswered', 'Sum'), ...failures },
      Object.keys(failures),
    );
    alarms.watch(this, 'Unhealthy', unhealthy, {
      description: 'remote agents: more than half of the calls fail; see `admin agent test`',
      threshold: 50,
      periods: 3,
    });
    const failed = reconciled('DependencyEnded', 'Sum', { outcome: 'failed' });
    alarms.watch(this, 'DependenciesFailed', failed, {
      description: 'remote agents: many dependencies fail; see `admin dependency list`',
      threshold: 10,
    });
  }
}

/** Kinds of `CallFailure` in `shared/client/outcomes.ts`. */
const FAILURES = ['remote-error', 'unsupported', 'protocol-error', 'transport-error', 'outcome-unknown'];
