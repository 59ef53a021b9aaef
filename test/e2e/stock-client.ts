import { randomUUID } from 'node:crypto';
import { type Message, type Part, Role, type SendMessageRequest, type Task } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import type { Method } from '../../shared/protocol/index.ts';
import { checkCard, checkResult } from './answer-check.ts';

/** A public SDK's client as its documentation sets it up, with every answer it gets also held against the proto. */
export interface StockClient {
  readonly client: Client;
  /** Methods that were called, each with the results or events that were checked, as they came. */
  readonly answered: { readonly method: string; readonly results: unknown[] }[];
}

export async function connectStock(
  host: { readonly url: string; readonly token: string },
  cardPath?: string,
): Promise<StockClient> {
  const answered: StockClient['answered'] = [];
  const checked = checkingFetch(answered);
  const fetchImpl = createAuthenticatingFetchWithRetry(checked, {
    headers: async () => ({ Authorization: `Bearer ${host.token}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
      // The card is open: it is read without the token.
      cardResolver: new DefaultAgentCardResolver({ fetchImpl: checked }),
    }),
  );
  return { client: await factory.createFromUrl(host.url, cardPath), answered };
}

/** What the SDK's types want filled, which is what it sends as absent. */
export function request(
  text: string,
  more: {
    readonly message?: Partial<Message>;
    readonly configuration?: object;
    readonly tenant?: string;
  } = {},
): SendMessageRequest {
  return {
    tenant: more.tenant ?? '',
    message: {
      messageId: randomUUID(),
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [textPart(text)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...more.message,
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...more.configuration,
    },
    metadata: undefined,
  };
}

export function textPart(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' };
}

/** The texts of a task's artifacts. */
export function textsOf(task: Task): string[] {
  return task.artifacts.flatMap(({ parts }) => parts).map(({ content }) => String(content?.value));
}

export function asTask(result: Message | Task): Task {
  if ('messageId' in result) throw new Error('a message came where a task was expected');
  return result;
}

export async function collect<Event>(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

function checkingFetch(answered: StockClient['answered']): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method !== 'POST') {
      checkCard(await response.clone().json());
      return response;
    }
    const { id, method } = JSON.parse(String(init.body)) as { id: number; method: Method };
    const record = { method, results: [] as unknown[] };
    answered.push(record);
    const check = (text: string) => {
      const answer = JSON.parse(text) as { jsonrpc: string; id: unknown; result?: unknown };
      if (answer.jsonrpc !== '2.0' || answer.id !== id) throw new Error(`${method}: wrong envelope ${text}`);
      if (!('result' in answer)) return;
      checkResult(method, answer.result);
      record.results.push(answer.result);
    };
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      check(await response.clone().text());
      return response;
    }
    return new Response(response.body!.pipeThrough(eventCheck(check)), response);
  };
}

/** Passes a stream on as it comes and checks each event, which a blank line ends (P2, interoperability traps). */
function eventCheck(check: (data: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let rest = '';
  return new TransformStream({
    transform(chunk, controller) {
      rest += decoder.decode(chunk, { stream: true });
      const events = rest.split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = event.split('\n').filter((line) => line.startsWith('data:'));
        if (data.length > 0) check(data.map((line) => line.slice(5)).join('\n'));
      }
      controller.enqueue(chunk);
    },
    flush() {
      if (rest !== '') throw new Error(`the stream ended inside an event: ${rest}`);
    },
  });
}
