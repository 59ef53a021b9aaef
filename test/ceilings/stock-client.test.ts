import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamResponse, type Task, TaskState, type TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Host, startHost } from '../../infra/local/host.ts';
import { administer } from '../e2e/administer.ts';
import { makeFolder } from '../e2e/function-provider.ts';
import { asTask, collect, connectStock, request } from '../e2e/stock-client.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

/** How a client that knows nothing of this gateway tells what became of its task. */
function verdictOf(
  one: Pick<Task | TaskStatusUpdateEvent, 'status' | 'metadata'>,
  artifacts: number,
): string {
  if (one.status?.state === TaskState.TASK_STATE_COMPLETED) return `completed with ${artifacts} artifacts`;
  return `failed: ${one.metadata?.['reason']}: ${one.status?.message?.parts[0]?.content?.value}`;
}

const NOT_RETAINED =
  "failed: RESULT_NOT_RETAINED: The result could not be kept under the installation's privacy policy.";

describe('a stock client tells a result that was not kept from one that is empty', {
  timeout: 60_000,
}, () => {
  const folder = makeFolder();
  const bodies: string[] = [];
  let host: Host;
  let receiver: Server;
  beforeAll(async () => {
    receiver = createServer(async (incoming, response) => {
      let body = '';
      for await (const chunk of incoming.setEncoding('utf8')) body += chunk;
      bodies.push(body);
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    host = await startHost({
      allowLoopback: true,
      graceMs: 500,
      functionModules: {
        empty: folder.handler('empty', 'return { artifacts: [] };'),
        away: folder.handler('away', "throw new Error('away');"),
      },
    });
    const admin = (operation: string, input: object) =>
      administer(host.url, host.adminToken, operation, input);
    await admin('provider.put', { provider: { id: 'strict', kind: 'echo', answerLevel: 'none' } });
    await admin('profile.put', {
      profile: {
        id: 'unkept',
        name: 'Unkept',
        description: 'Falls back.',
        providers: ['away', 'strict'],
        public: true,
      },
    });
    await admin('profile.publish', { id: 'unkept' });
  });
  afterAll(async () => {
    await host.stop();
    receiver.close();
    folder[Symbol.dispose]();
  });

  test.each([
    ['empty', 'completed with 0 artifacts'],
    ['unkept', NOT_RETAINED],
  ])(
    'of profile %s by Get alone, by a stream alone and by a webhook alone: %s',
    async (profile, expected) => {
      const { client } = await connectStock(host, `agents/${profile}/.well-known/agent-card.json`);
      bodies.splice(0);
      const { port } = receiver.address() as AddressInfo;
      const hook = {
        ...{ tenant: '', id: '', taskId: '', token: '', authentication: undefined },
        url: `http://127.0.0.1:${port}/hook`,
      };
      const sent = asTask(
        await client.sendMessage(request('go', { configuration: { taskPushNotificationConfig: hook } })),
      );
      const got = await client.getTask({ tenant: '', id: sent.id, historyLength: undefined });
      expect(verdictOf(got, got.artifacts.length)).toBe(expected);

      const events = (await collect(client.sendMessageStream(request('go')))).map(({ payload }) => payload);
      expect(verdictOfEvents(events)).toBe(expected);

      await expect.poll(() => pushed(bodies).filter(isEnd).length, { timeout: 20_000 }).toBe(1);
      expect(verdictOfEvents(pushed(bodies))).toBe(expected);
    },
  );
});

type Payload = StreamResponse['payload'];

const pushed = (bodies: readonly string[]): Payload[] =>
  bodies.map((body) => StreamResponse.fromJSON(JSON.parse(body)).payload);

function isEnd(payload: Payload): boolean {
  const state = payload?.$case === 'statusUpdate' ? payload.value.status?.state : undefined;
  return state === TaskState.TASK_STATE_COMPLETED || state === TaskState.TASK_STATE_FAILED;
}

function verdictOfEvents(events: readonly Payload[]): string {
  const end = events.find(isEnd);
  if (end?.$case !== 'statusUpdate') throw new Error('it did not end');
  return verdictOf(end.value, events.filter((payload) => payload?.$case === 'artifactUpdate').length);
}
