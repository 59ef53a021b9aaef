import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import {
  AUDIT,
  allowEnding,
  CLIENT_READ,
  COUNTERS,
  DEPENDENCIES,
  dataKeyItems,
  LEVELS_READ,
  READ,
  REGISTRY_READ,
  SERVE,
  TASK_WRITE,
} from './access.ts';
import { CardKey } from './card-key.ts';
import { type Foundation, GatewayFunction } from './gateway-function.ts';
import type { HttpApi } from './http-api.ts';
import type { SealingKeys } from './sealing-keys.ts';
import type { Tables } from './tables.ts';
import type { WorkQueue } from './work-queue.ts';

/** The server role: the RPC endpoint and the cards (design §5), with their routes. */
export class ServerRole extends Construct {
  readonly rpc: GatewayFunction;
  readonly card: GatewayFunction;
  readonly cardKey: CardKey | undefined;

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
    const { parameters } = foundation;
    const { tables, keys, runQueue, api } = parts;

    this.rpc = new GatewayFunction(this, 'Rpc', foundation, {
      name: 'rpc',
      description: 'Answers A2A calls of remote clients, streams included',
      memory: 512,
      // As long as the platform lets a stream last; settings keep streams a minute below it.
      timeout: Duration.minutes(15),
      errors: 5,
    });
    tables.allow(this.rpc, 'state', TASK_WRITE);
    tables.allow(this.rpc, 'view', SERVE, { indexes: ['client', 'context', 'open'] });
    // Configs are made, listed and deleted; jobs are part of what a projection writes.
    tables.allow(this.rpc, 'outbox', ['Query', 'PutItem', 'DeleteItem']);
    // A reply is handed to the oldest remote agent that asks.
    tables.allow(this.rpc, 'delegation', ['Query', 'UpdateItem'], { partitions: DEPENDENCIES });
    allowEnding(tables, this.rpc);
    const dataKeys = dataKeyItems(['content', 'working', 'dedup', 'push']);
    // One statement: a batch is allowed by one that covers all of its keys, or not at all.
    tables.allow(this.rpc, 'registry', READ, {
      partitions: [...CLIENT_READ, ...LEVELS_READ, ...COUNTERS, ...dataKeys],
    });
    tables.allow(this.rpc, 'registry', ['PutItem', 'UpdateItem', 'DeleteItem'], { partitions: COUNTERS });
    tables.allow(this.rpc, 'registry', ['PutItem'], { partitions: [...dataKeys, ...AUDIT] });
    keys.allow(this.rpc, { generate: ['content', 'working', 'dedup', 'push'] });
    this.rpc.allowRedaction();
    runQueue.sentBy(this.rpc, 'SEALPOST_RUN_QUEUE');

    this.card = new GatewayFunction(this, 'Card', foundation, {
      name: 'card',
      description: 'Serves the public agent cards and the key set that verifies them',
      memory: 512,
      timeout: Duration.seconds(15),
      errors: 5,
    });
    tables.allow(this.card, 'registry', READ, { partitions: REGISTRY_READ });
    if (parameters.signCards) {
      this.cardKey = new CardKey(this, 'CardKey', { retain: parameters.retain });
      this.cardKey.allow(this.card);
      // GetExtendedAgentCard is an RPC call.
      this.cardKey.allow(this.rpc);
    }

    api.serve(this.rpc, 'streamed');
    api.serve(this.card, 'streamed');
  }
}
