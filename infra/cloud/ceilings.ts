import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import {
  AGENT_READ,
  allowEnding,
  allowPurging,
  allowRewriting,
  CEILING_JOB,
  dataKeyItems,
  GET,
  PROJECT,
  REGISTRY_READ,
  TASK_WRITE,
} from './access.ts';
import { EveryMinute } from './every-minute.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import { ownMetric } from './own-metrics.ts';
import type { SealingKeys } from './sealing-keys.ts';
import type { Tables } from './tables.ts';

/**
 * The job behind an administrator's tightening (design §7, P9): goes over all tasks, every minute until it is done, and
 * lowers, ends, redacts or purges them. Of secrets and push credentials it opens nothing.
 */
export class Ceilings extends Construct {
  readonly ceiling: GatewayFunction;

  constructor(
    scope: Construct,
    id: string,
    foundation: Foundation,
    { tables, keys }: { readonly tables: Tables; readonly keys: SealingKeys },
  ) {
    super(scope, id);
    const { alarms, metricsNamespace } = foundation;
    this.ceiling = new GatewayFunction(this, 'Ceiling', foundation, {
      name: 'ceiling',
      description: 'Brings all tasks to a tightened answer level',
      memory: 1024,
      timeout: Duration.minutes(5),
      // One at a time: a second one would do the same page again. What wakes it meanwhile is dropped.
      reserved: 1,
      mayBeThrottled: true,
    });
    tables.allow(this.ceiling, 'state', TASK_WRITE, { indexes: ['due'] });
    tables.allow(this.ceiling, 'view', PROJECT);
    tables.allow(this.ceiling, 'outbox', ['PutItem']);
    allowEnding(tables, this.ceiling);
    allowRewriting(tables, this.ceiling);
    allowPurging(tables, this.ceiling);
    const dataKeys = dataKeyItems(['content', 'working']);
    tables.allow(this.ceiling, 'registry', GET, {
      partitions: [
        ...REGISTRY_READ,
        ...(foundation.parameters.roles.client ? AGENT_READ : []),
        ...CEILING_JOB,
        ...dataKeys,
      ],
    });
    tables.allow(this.ceiling, 'registry', ['PutItem'], { partitions: [...CEILING_JOB, ...dataKeys] });
    keys.allow(this.ceiling, { generate: ['content', 'working'] });
    this.ceiling.allowRedaction();
    new EveryMinute(this, 'EveryMinute', alarms, this.ceiling, {
      silence: 'the ceiling job is not woken: a tightening does not go on',
      // It lasts for up to five.
      minutes: 15,
    });

    alarms.watch(this, 'Failed', ownMetric(metricsNamespace, 'CeilingFailed', 'ceiling', 'Sum'), {
      description: 'a tightened answer level could not be applied to a task; see `admin ceiling show`',
      threshold: 1,
    });
  }
}
