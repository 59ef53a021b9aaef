import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  defaultServerCallContextBuilder,
  type ExecutionEventBus,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  type RequestContext,
  UnauthenticatedUser,
  validateVersion,
} from '@a2a-js/sdk/server';
import { card, type FakeAgent, type Reply, type Seen, startAgent } from './fake-agent.ts';

export interface SdkAgent extends FakeAgent {
  readonly cardUrl: string;
  /** Lets the task that waits go on. */
  proceed(): void;
  /** Drops the connections of all streams. */
  cutStreams(): void;
}

export interface SdkAgentOptions {
  /** Whether webhooks are called, by the SDK's own sender with the credential that it was handed. */
  readonly callsBack?: boolean;
}

/**
 * An agent made of the public SDK's own server parts, on `node:http` as its Express adapter puts them together. It answers
 * the text of a message: `hello` with a Message, `fail`, `ask` and `wait` (until `proceed`) as they say, all else with an
 * artifact.
 */
export async function startSdkAgent({ callsBack = false }: SdkAgentOptions = {}): Promise<SdkAgent> {
  const gate = new EventTarget();
  const streams = new Set<ServerResponse>();
  const holder: { handler?: DefaultRequestHandler; cardJson?: Record<string, unknown> } = {};
  const reply: Reply = async (response, seen) => {
    const { handler, cardJson } = holder;
    if (!handler || !cardJson) throw new Error('not started');
    if (seen.method === 'GET') return sendCard(response, seen, JSON.stringify(AgentCard.fromJSON(cardJson)));
    const context = defaultServerCallContextBuilder({
      extensions: undefined,
      user: new UnauthenticatedUser(),
      headers: seen.headers,
      requestedVersion: String(seen.headers['a2a-version']),
    });
    validateVersion(context.requestedVersion, await handler.getAgentCard(), 'JSONRPC');
    const answer = await new JsonRpcTransportHandler(handler).handle(seen.text, context);
    if (!(Symbol.asyncIterator in answer)) return sendJson(response, answer);
    streams.add(response);
    await sendStream(response, seen, answer);
    streams.delete(response);
  };
  const agent = await startAgent(reply);
  const cardJson = card(agent.url, {
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    skills: [{ id: 's', name: 's', description: 's', tags: ['t'] }],
  });
  const sdkCard = AgentCard.fromJSON(cardJson);
  holder.cardJson = cardJson;
  const webhooks = new InMemoryPushNotificationStore();
  holder.handler = new DefaultRequestHandler(
    sdkCard,
    new InMemoryTaskStore(),
    executor(gate),
    undefined,
    webhooks,
    callsBack ? new DefaultPushNotificationSender(webhooks) : { send: async () => {} },
    { ...sdkCard, name: 'Extended' },
  );
  return {
    ...agent,
    cardUrl: new URL('/.well-known/agent-card.json', agent.url).href,
    proceed: () => void gate.dispatchEvent(new Event('proceed')),
    cutStreams() {
      for (const response of streams) response.destroy();
    },
    [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
  };
}

function executor(gate: EventTarget): AgentExecutor {
  return {
    async execute(request: RequestContext, bus: ExecutionEventBus) {
      const { taskId, contextId, userMessage } = request;
      const content = userMessage.parts[0]?.content;
      const text = content?.$case === 'text' ? content.value : '';
      const message = {
        messageId: `of-${taskId}`,
        taskId,
        contextId,
        role: 'ROLE_AGENT',
        parts: [{ text: `on ${text}` }],
      };
      const move = (state: string) =>
        bus.publish(
          AgentEvent.statusUpdate(
            TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state, message } }),
          ),
        );
      if (text === 'hello') {
        bus.publish(AgentEvent.message(Message.fromJSON(message)));
        return bus.finished();
      }
      const first = {
        id: taskId,
        contextId,
        status: { state: 'TASK_STATE_SUBMITTED' },
        history: [Message.toJSON(userMessage)],
      };
      bus.publish(AgentEvent.task(request.task ?? Task.fromJSON(first)));
      move('TASK_STATE_WORKING');
      if (text === 'wait') await once(gate, 'proceed');
      if (text === 'fail') return move('TASK_STATE_FAILED');
      if (text === 'ask') return move('TASK_STATE_INPUT_REQUIRED');
      const artifact = { artifactId: 'a-1', name: 'Result', parts: [{ text: `done: ${text}` }] };
      bus.publish(
        AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact })),
      );
      move('TASK_STATE_COMPLETED');
    },
    async cancelTask(taskId, bus) {
      const status = { state: 'TASK_STATE_CANCELED' };
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId: '', status })));
    },
  };
}

function sendCard(response: ServerResponse, seen: Seen, body: string): void {
  const etag = `W/"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"`;
  const isFresh = seen.headers['if-none-match'] === etag;
  response.writeHead(isFresh ? 304 : 200, { etag, 'content-type': 'application/json; charset=utf-8' });
  response.end(isFresh ? '' : body);
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

/** As the SDK does: an error before the first event is JSON, one after it an event of its own name. */
async function sendStream(
  response: ServerResponse,
  seen: Seen,
  events: AsyncGenerator<unknown>,
): Promise<void> {
  try {
    for await (const event of events) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  } catch (error) {
    const body = { jsonrpc: '2.0', id: seen.rpc.id, error: JsonRpcTransportHandler.mapToJSONRPCError(error) };
    if (response.headersSent) response.end(`event: error\ndata: ${JSON.stringify(body)}\n\n`);
    else sendJson(response, body);
  }
}
