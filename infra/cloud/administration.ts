import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { AGENT_READ, allowPurging, READ, SERVE, TASK_WRITE } from './access.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import type { HttpApi } from './http-api.ts';
import type { SealingKeys } from './sealing-keys.ts';
import type { Tables } from './tables.ts';
import type { WorkQueue } from './work-queue.ts';

/** Of `shared/runs/started.ts`; importing it would load the domain to synthesise. */
const ADMIN_CLIENT = 'admin';

/**
 * What the administrator's command line talks to, behind IAM. It seals secrets of the registry, shows, rebuilds, repairs
 * and purges tasks, webhooks and dependencies, decides on drafts and starts runs of its own. Of what clients' tasks hold
 * it can open nothing but such drafts.
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
      readonly outboxQueue: WorkQueue | undefined;
      readonly inboxQueue: WorkQueue | undefined;
      readonly api: HttpApi;
    },
  ) {
    super(scope, id);
    const { tables, keys, runQueue, outboxQueue, inboxQueue, api } = parts;
    this.admin = new GatewayFunction(this, 'Admin', foundation, {
      name: 'admin',
      description: 'Carries out commands of administrators',
      memory: 512,
      // API Gateway stops waiting after 29 seconds; a repair or rebuild that takes longer goes on to its end.
      timeout: Duration.minutes(5),
    });
    tables.allow(this.admin, 'registry', [...READ, 'PutItem']);
    // A remote agent can be forgotten; nothing else of the registry goes, least of all the audit.
    if (inboxQueue) tables.allow(this.admin, 'registry', ['DeleteItem'], { partitions: AGENT_READ });
    // A repair goes over all tasks, a rebuild takes the old journal away (design §4); a dry run and a purge go over the
    // due index.
    tables.allow(this.admin, 'state', [...TASK_WRITE, 'Scan'], { indexes: ['due'] });
    tables.allow(this.admin, 'view', [...SERVE, 'DeleteItem']);
    // An operator's resume and retry, and jobs of what a repair projects.
    tables.allow(this.admin, 'outbox', [...READ, 'PutItem', 'UpdateItem', 'ConditionCheckItem'], {
      indexes: ['halted'],
    });
    tables.allow(this.admin, 'delegation', [...READ, 'UpdateItem'], { indexes: ['due'] });
    allowPurging(tables, this.admin);
    keys.allow(this.admin, { generate: ['secret'] });
    // Drafts that wait for a person's approval.
    keys.allow(this.admin, { open: ['working'] });
    keys.allow(this.admin, { generate: ['content', 'working'], client: ADMIN_CLIENT });
    this.admin.allowRedaction();
    runQueue.sentBy(this.admin, 'SEALPOST_RUN_QUEUE');
    outboxQueue?.sentBy(this.admin, 'SEALPOST_OUTBOX_QUEUE');
    inboxQueue?.sentBy(this.admin, 'SEALPOST_INBOX_QUEUE');
    // A remote agent is not the gateway itself.
    this.admin.tell('SEALPOST_PUBLIC_URL', api.url);
    api.serve(this.admin, 'whole');
  }
}
