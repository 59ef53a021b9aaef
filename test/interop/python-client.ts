import { randomUUID } from 'node:crypto';
import type {
  AgentCard,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  Message,
  MethodParams,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '../../shared/protocol/index.ts';
import type { Python } from './python.ts';

type Unary = Exclude<keyof MethodParams, 'SendStreamingMessage' | 'SubscribeToTask'>;

interface Answers {
  readonly SendMessage: { readonly task?: Task; readonly message?: Message };
  readonly GetTask: Task;
  readonly ListTasks: ListTasksResponse;
  readonly CancelTask: Task;
  readonly CreateTaskPushNotificationConfig: TaskPushNotificationConfig;
  readonly GetTaskPushNotificationConfig: TaskPushNotificationConfig;
  readonly ListTaskPushNotificationConfigs: ListTaskPushNotificationConfigsResponse;
  readonly DeleteTaskPushNotificationConfig: null;
  readonly GetExtendedAgentCard: AgentCard;
}

interface CallSettings {
  readonly headers?: Readonly<Record<string, string>>;
  /** Seconds; null: as the SDK has it, five. */
  readonly timeout?: number | null;
}

/** A client of the Python SDK. What it answers went through its own classes: fields at their defaults are left out. */
export interface PythonClient {
  readonly card: AgentCard;
  call<M extends Unary>(method: M, request: MethodParams[M], settings?: CallSettings): Promise<Answers[M]>;
  /** The task that a message was answered with. */
  send(text: string, more?: SendMore, settings?: CallSettings): Promise<Task>;
  /** A message's events; the SDK streams wherever the card says that the agent does. */
  stream(text: string, more?: SendMore, settings?: CallSettings): AsyncGenerator<StreamResponse, void>;
  subscribe(id: string, settings?: CallSettings): AsyncGenerator<StreamResponse, void>;
}

export interface SendMore {
  readonly message?: Partial<Message>;
  readonly configuration?: MethodParams['SendMessage']['configuration'];
  readonly tenant?: string;
}

export interface ConnectOptions {
  /** That profile's own card. */
  readonly profile?: string;
  /** Accept the card only if it is signed by the key that it names. */
  readonly verify?: boolean;
}

/** Two clients of the SDK at one card: streaming or not is a setting of the whole client there. */
export async function connectPython(
  python: Python,
  host: { readonly url: string; readonly token: string },
  { profile, verify = false }: ConnectOptions = {},
): Promise<PythonClient> {
  const connect = (streaming: boolean) =>
    python.ask<{ readonly client: number; readonly card: AgentCard }>('connect', {
      url: host.url,
      token: host.token,
      verify,
      config: { streaming },
      ...(profile === undefined ? {} : { path: `agents/${profile}/.well-known/agent-card.json` }),
    });
  const [plain, streaming] = await Promise.all([connect(false), connect(true)]);

  const call: PythonClient['call'] = (method, request, settings = {}) =>
    python.ask('call', { client: plain.client, method, request, ...settings });
  async function* events(method: string, request: object, settings: CallSettings = {}) {
    const opened = { client: streaming.client, method, request, ...settings };
    const stream = await python.ask<number>('stream', opened);
    for (;;) {
      const event = await python.ask<StreamResponse | null>('event', { stream });
      if (event === null) return;
      yield event;
    }
  }
  return {
    card: plain.card,
    call,
    async send(text, more, settings) {
      const { task } = await call('SendMessage', outgoing(text, more), settings);
      if (!task) throw new Error('a message came where a task was expected');
      return task;
    },
    stream: (text, more, settings) => events('SendMessage', outgoing(text, more), settings),
    subscribe: (id, settings) => events('SubscribeToTask', { id }, settings),
  };
}

function outgoing(text: string, { message, configuration, tenant }: SendMore = {}) {
  return {
    message: {
      messageId: randomUUID(),
      role: 'ROLE_USER' as const,
      parts: [{ text }],
      ...message,
    },
    ...(configuration && { configuration }),
    ...(tenant !== undefined && { tenant }),
  };
}

export function textsOf({ artifacts = [] }: Task): string[] {
  return artifacts.flatMap(({ parts }) => parts).map((part) => ('text' in part ? String(part.text) : ''));
}

export async function collect<Event>(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}
