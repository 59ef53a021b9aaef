import { createTables, startEngine } from '../../../infra/local/engine.ts';
import { createDynamoClient } from '../../../shared/storage/client-dynamodb.ts';
import { World, type WorldOptions } from './world.ts';

export interface Bench extends AsyncDisposable {
  /** A furnished world on tables of its own. */
  world(options?: WorldOptions): Promise<World>;
}

/** An engine for the worlds of one test file. */
export async function startBench(): Promise<Bench> {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'local';
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'local';
  const engine = await startEngine();
  const client = createDynamoClient({ AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint });
  let serial = 0;
  return {
    async world(options) {
      const tables = await createTables(engine.endpoint, `w${++serial}-`);
      return new World({ client, tables }, options).furnish();
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      await engine.stop();
    },
  };
}
