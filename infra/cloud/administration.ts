import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { REPAIR } from './access.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import type { HttpApi } from './http-api.ts';
import type { SealingKeys } from './sealing-keys.ts';
import type { Tables } from './tables.ts';
import type { WorkQueue } from './work-queue.ts';

/**
 * What the administrator's command line talks to, behind IAM. It seals secrets of the registry and shows, rebuilds and
 * repairs tasks; it cannot open what they hold.
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
      readonly api: HttpApi;
    },
  ) {
    super(scope, id);
    const { tables, keys, runQueue, api } = parts;
    this.admin = new GatewayFunction(this, 'Admin', foundation, {
      name: 'admin',
      description: 'Carries out commands of administrators',
      memory: 512,
      // What API Gateway waits for a buffered answer; longer work is resumed by the caller.
      timeout: Duration.seconds(29),
    });
    tables.allow(this.admin, 'registry', REPAIR);
    tables.allow(this.admin, 'state', REPAIR, { indexes: ['due'] });
    tables.allow(this.admin, 'view', REPAIR, { indexes: ['client', 'context', 'open'] });
    keys.allow(this.admin, { generate: ['secret'] });
    runQueue.sentBy(this.admin, 'SEALPOST_RUN_QUEUE');
    api.serve(this.admin);
  }
}
