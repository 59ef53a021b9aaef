import { createHandler } from '../../functions/admin/app.ts';
import type { Seams } from '../../shared/runtime/compose.ts';
import { recordingLog, silentMetrics } from '../../shared/telemetry/index.ts';
import { createMemoryStore } from '../registry/memory-store.ts';
import { memoryKeyService } from '../server/rig.ts';
import { ADA } from './installation.ts';

const tables = ['STATE', 'VIEW', 'OUTBOX', 'DELEGATION', 'REGISTRY'].map((table) => [
  `SEALPOST_${table}_TABLE`,
  table,
]);

export interface Answered {
  readonly ok: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: results are looked into.
  readonly result?: any;
  readonly error?: { readonly code: string; readonly message: string; readonly field?: string };
}

/** The admin function as it is deployed, but for what is handed in; agents may be on this machine. */
export function createAdminFunction(
  seams: Seams = {},
  variables: Readonly<Record<string, string | undefined>> = {},
) {
  const store = seams.store ?? createMemoryStore();
  const log = recordingLog();
  const answers: string[] = [];
  const handler = createHandler(
    { ...Object.fromEntries(tables), ...variables },
    {
      store,
      log,
      metrics: silentMetrics,
      keyService: memoryKeyService(),
      runQueue: { send: async () => {} },
      outbound: { allowLoopback: true },
      ...seams,
    },
  );
  return {
    store,
    log,
    /** Everything that administrators were shown. */
    answers,
    async run(operation: string, input: object = {}, actor = ADA): Promise<Answered> {
      const answer = await handler(
        {
          body: JSON.stringify({ operation, arguments: input }),
          isBase64Encoded: false,
          requestContext: { requestId: 'r', identity: { userArn: actor } },
        },
        {} as never,
      );
      answers.push(answer.body);
      return JSON.parse(answer.body) as Answered;
    },
    async items() {
      const { items } = await store.scan('registry');
      return items;
    },
    async audits() {
      return (await this.items()).filter((item) => item.pk.startsWith('audit#'));
    },
  };
}

export type AdminFunction = ReturnType<typeof createAdminFunction>;
