import { type DynamoDBClient, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
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
  client.config.signer = async () => ({ sign: async (request) => signed(request) });
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

/** The engine wants a signature and checks none; to make real ones takes a quarter of a run's time. */
function signed<T extends { headers: Record<string, string> }>(request: T): T {
  const scope = 'local/20260101/us-east-1/dynamodb/aws4_request';
  request.headers['authorization'] =
    `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host;x-amz-date, Signature=0`;
  request.headers['x-amz-date'] = '20260101T000000Z';
  return request;
}

/** The engine grows slow under a stream that fills up, and who needs none does better without. */
export async function withoutStream(client: DynamoDBClient, table: string): Promise<void> {
  await client.send(
    new UpdateTableCommand({ TableName: table, StreamSpecification: { StreamEnabled: false } }),
  );
}
