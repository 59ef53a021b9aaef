import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { READ, SERVE, TASK_WRITE } from './access.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import type { HttpApi } from './http-api.ts';
import type { SealingKeys } from './sealing-keys.ts';
import type { Tables } from './tables.ts';
import type { WorkQueue } from './work-queue.ts';

/**
 * What the administrator's command line talks to, behind IAM. It seals secrets of the registry and shows, rebuilds and
 * repairs tasks and webhooks; it cannot open what they hold.
 */
export class Administration extends Construct {
  readonly admin: GatewayFunction;

  constructor(
    scope: Construct,
    id: string,
    foundation: Foundation,
    parts: {
      readonly tables: Tables;
      readonly keys: SealingKeys;
      readonly runQueue: WorkQueue;
      readonly outboxQueue: WorkQueue;
      readonly api: HttpApi;
    },
  ) {
    super(scope, id);
    const { tables, keys, runQueue, outboxQueue, api } = parts;
    this.admin = new GatewayFunction(this, 'Admin', foundation, {
      name: 'admin',
      description: 'Carries out commands of administrators',
      memory: 512,
      // API Gateway stops waiting after 29 seconds; a repair or rebuild that takes longer goes on to its end.
      timeout: Duration.minutes(5),
    });
    tables.allow(this.admin, 'registry', [...READ, 'PutItem']);
    // A repair goes over all tasks, a rebuild takes the old journal away (design §4).
    tables.allow(this.admin, 'state', [...TASK_WRITE, 'Scan']);
    tables.allow(this.admin, 'view', [...SERVE, 'DeleteItem']);
    // An operator's resume and retry, and jobs of what a repair projects.
    tables.allow(this.admin, 'outbox', [...READ, 'PutItem', 'UpdateItem', 'ConditionCheckItem'], {
      indexes: ['halted'],
    });
    keys.allow(this.admin, { generate: ['secret'] });
    runQueue.sentBy(this.admin, 'SEALPOST_RUN_QUEUE');
    outboxQueue.sentBy(this.admin, 'SEALPOST_OUTBOX_QUEUE');
    api.serve(this.admin);
  }
}
