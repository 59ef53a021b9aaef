import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createTables, startEngine } from '../../infra/local/engine.ts';
import type { Clock, Random } from '../../shared/runtime/ports.ts';
import { systemClock, systemRandom } from '../../shared/runtime/system.ts';
import { createDynamoClient } from '../../shared/storage/client-dynamodb.ts';
import type { Store } from '../../shared/storage/index.ts';
import { createDynamoStore } from '../../shared/storage/store-dynamodb.ts';
import type { TableName } from '../../shared/storage/tables.ts';

export interface StoreRig extends AsyncDisposable {
  readonly store: Store;
  readonly client: DynamoDBClient;
  readonly tables: Record<TableName, string>;
  /** A store on the same tables with a client of its own, into which faults are injected. */
  another(parts?: Partial<{ clock: Clock; random: Pick<Random, 'fraction'> }>): {
    store: Store;
    faults: FaultPlan;
  };
}

/** The store on a fresh embedded engine. */
export async function startStore(): Promise<StoreRig> {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'local';
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'local';
  const engine = await startEngine();
  const names = await createTables(engine.endpoint, 'test-');
  const clients: DynamoDBClient[] = [];
  const connect = () => {
    const client = createDynamoClient({
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint,
    });
    clients.push(client);
    return client;
  };
  const client = connect();
  const parts = { tables: names, clock: systemClock, random: systemRandom };
  return {
    client,
    tables: names,
    store: createDynamoStore({ ...parts, client }),
    another(changed = {}) {
      const own = connect();
      return { faults: injectFaults(own), store: createDynamoStore({ ...parts, ...changed, client: own }) };
    },
    async [Symbol.asyncDispose]() {
      for (const one of clients) one.destroy();
      await engine.stop();
    },
  };
}

export interface FaultPlan {
  /** Consumed one per call, in order; when empty, calls go through. `before`: not sent; `after`: done, answer lost. */
  readonly next: { readonly when: 'before' | 'after'; readonly error: Error }[];
  /** Every call, with its input, in order. */
  readonly calls: { readonly command: string; readonly input: unknown }[];
}

/** Conflicts, throttles and lost answers, which the embedded engine never shows by itself. */
export function injectFaults(client: DynamoDBClient): FaultPlan {
  const plan: FaultPlan = { next: [], calls: [] };
  client.middlewareStack.add(
    (next, context) => async (args) => {
      plan.calls.push({ command: context.commandName ?? '', input: args.input });
      const fault = plan.next.shift();
      if (fault?.when === 'before') throw fault.error;
      const result = await next(args);
      if (fault !== undefined) throw fault.error;
      return result;
    },
    { step: 'initialize', name: 'injectedFaults' },
  );
  return plan;
}
