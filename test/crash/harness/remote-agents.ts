import type { CallbackEvent, ProxyAnswer } from '../../../functions/callback/app.ts';
import type { Failure, Guard, StreamCall, StreamOutcome } from '../../../shared/guard/index.ts';
import type { RemoteAgent } from '../../../shared/registry/index.ts';
import type { Calls } from './calls.ts';
import type { VirtualClock } from './clock.ts';
import type { Instance } from './instance.ts';
import { Died } from './instance.ts';

/** Where a remote's task stands `afterMs` behind the stage before. */
export interface Stage {
  readonly afterMs: number;
  /** Without its prefix, `COMPLETED`. */
  readonly state: string;
  readonly says?: string;
  /** Texts. */
  readonly artifacts?: readonly string[];
}

/** What a remote agent does with what it is sent, and what the network does to it. */
export interface AgentScript {
  readonly push: RemoteAgent['push'];
  readonly waitSeconds?: number;
  /** Of a message that begins a task: the stages of that task, or a Message in its place. */
  readonly conduct: (text: string) => readonly Stage[] | Speech;
  /** Of a message to a task that waits. */
  readonly replied?: (text: string) => readonly Stage[];
  /** From acting on a message to its answer being there, ms. */
  readonly answerMs?: number;
  /** Callbacks of the `n`-th change of a task, from 1: one each, by the ms it takes beyond the change. Default: prompt. */
  readonly callbacks?: (n: number) => readonly number[];
  /** What a callback says of the task's state, if not the truth. */
  readonly claims?: string;
  /** Whether a message that was sent before is known again; default true. */
  readonly dedup?: boolean;
  /** Whether it calls back at all; if not, it refuses what asks for it. Default true. */
  readonly takesPush?: boolean;
  /** What the `n`-th request of a method meets instead of an answer, from 1; `now` counts from the start of the world. */
  readonly trouble?: (method: string, n: number, now: number) => Trouble | undefined;
}

/** `acts`: the request arrived and was acted on, and its answer did not come back. */
export type Trouble =
  | { readonly acts: boolean; readonly failure: Failure }
  | { readonly status: number; readonly code?: number };

export interface RemoteRequest {
  readonly agent: string;
  readonly method: string;
  readonly messageId?: string;
  /** Byte for byte. */
  readonly body: string;
  readonly authorization: string;
}

/** One call of a callback address, with the places in the order of effects between which it was. */
export interface Callback {
  readonly registration: string;
  readonly by: 'agent' | 'stranger';
  /** Absent: it was cut. */
  readonly status?: number;
  readonly from: number;
  readonly to: number;
}

interface PushConfig {
  readonly url: string;
  readonly authentication: { readonly credentials: string };
}

interface Speech {
  readonly says: string;
}

export interface RemoteTask {
  readonly id: string;
  stage: Stage;
  readonly configs: PushConfig[];
  changes: number;
}

export interface RemoteAgentsParts {
  readonly scripts: Readonly<Record<string, AgentScript>>;
  readonly clock: VirtualClock;
  /** How many effects there were. */
  readonly place: () => number;
  readonly callBack: (event: CallbackEvent) => Promise<ProxyAnswer>;
}

const ENDS = /COMPLETED|FAILED|CANCELED|REJECTED/;
const RESET: Failure = { kind: 'reset', phase: 'exchange', code: 'ECONNRESET' };
/** A callback that is not taken is repeated. */
const AGAIN_MS = 10_000;
const MOST_TRIES = 6;

/** The remote agents of a world: hosts of their own, which no death of an instance touches. */
export class RemoteAgents {
  readonly requests: RemoteRequest[] = [];
  readonly callbacks: Callback[] = [];
  /** Message ids of each time a task was begun. */
  readonly begun: string[] = [];
  readonly tasks: RemoteTask[] = [];
  /** Callback credentials that were handed over. */
  readonly credentials = new Set<string>();
  readonly #parts: RemoteAgentsParts;
  readonly #answers = new Map<string, RemoteTask | Speech>();
  readonly #startedAt: number;
  #serial = 0;

  constructor(parts: RemoteAgentsParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.now();
  }

  /** The way out of an instance: each request is a call in the line. */
  guardOf(instance: Instance, calls: Calls): Guard {
    const stream = async (call: StreamCall): Promise<StreamOutcome> => {
      const { method } = JSON.parse(String(call.body)) as { method: string };
      const { outcome, afterMs } = await calls.make(
        instance,
        `remote ${method}`,
        { url: call.url },
        async () => this.#serve(call),
      );
      if (afterMs > 0) await instance.clock.sleep(afterMs);
      return outcome;
    };
    return { checkText: () => ({ verdict: 'allow' }), stream } as unknown as Guard;
  }

  /** Whoever is not the agent calls back too, with a credential of its own making. */
  async intrude(registration: string, authorization: string): Promise<void> {
    await this.#callBack('stranger', registration, authorization, { task: { id: 'r1' } });
  }

  /** The address and credential that were handed over, of all configs. */
  get addresses(): readonly PushConfig[] {
    return this.tasks.flatMap(({ configs }) => configs);
  }

  #serve(call: StreamCall): { readonly outcome: StreamOutcome; readonly afterMs: number } {
    const agent = new URL(call.url).hostname.split('.')[0]!;
    const script = this.#parts.scripts[agent]!;
    const body = String(call.body);
    const { id, method, params } = JSON.parse(body);
    const message = params.message as { messageId: string } | undefined;
    this.requests.push({
      ...{ agent, method, body, authorization: call.headers?.['authorization'] ?? '' },
      ...(message ? { messageId: message.messageId } : {}),
    });
    const n = this.requests.filter((one) => one.agent === agent && one.method === method).length;
    const trouble = script.trouble?.(method, n, this.#parts.clock.now() - this.#startedAt);
    if (trouble && 'status' in trouble) return { outcome: errorOf(id, trouble), afterMs: 0 };
    if (trouble && !trouble.acts) return { outcome: trouble.failure, afterMs: 0 };
    const asksForPush = params.configuration?.taskPushNotificationConfig ?? params.authentication;
    if (asksForPush && script.takesPush === false)
      return { outcome: errorOf(id, { status: 200, code: -32003 }), afterMs: 0 };
    const result = this.#act(script, method, params);
    if (trouble) return { outcome: trouble.failure, afterMs: 0 };
    const afterMs = method === 'SendMessage' ? (script.answerMs ?? 0) : 0;
    const answer = result ? { jsonrpc: '2.0', id, result } : undefined;
    return { outcome: answer ? answerOf(200, answer) : errorOf(id, { status: 200, code: -32001 }), afterMs };
  }

  // biome-ignore lint/suspicious/noExplicitAny: the wire is untyped on purpose.
  #act(script: AgentScript, method: string, params: any): object | undefined {
    if (method === 'SendMessage') return this.#take(script, params);
    const task = this.tasks.find(({ id }) => id === (params.taskId ?? params.id));
    if (!task) return undefined;
    if (method === 'CancelTask' && !ENDS.test(task.stage.state))
      this.#enter(script, task, { afterMs: 0, state: 'CANCELED' });
    if (method === 'CreateTaskPushNotificationConfig') {
      this.#register(task, params);
      return params;
    }
    return shown(task);
  }

  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  #take(script: AgentScript, { message, configuration }: any): object {
    const text = String(message.parts[0]?.text);
    const known = this.#answers.get(message.messageId);
    if (known && script.dedup !== false) return 'says' in known ? spoken(known) : { task: shown(known) };
    this.begun.push(message.messageId);
    const waiting = this.tasks.find(({ id }) => id === message.taskId);
    const stages = waiting ? (script.replied?.(text) ?? []) : script.conduct(text);
    if ('says' in stages) {
      this.#answers.set(message.messageId, stages);
      return spoken(stages);
    }
    const task: RemoteTask = waiting ?? {
      id: `r${++this.#serial}`,
      stage: { afterMs: 0, state: 'SUBMITTED' },
      configs: [],
      changes: 0,
    };
    this.#answers.set(message.messageId, task);
    if (!waiting) this.tasks.push(task);
    const config = configuration?.taskPushNotificationConfig;
    if (config) this.#register(task, config);
    this.#unroll(script, task, stages);
    return { task: shown(task) };
  }

  #register(task: RemoteTask, config: PushConfig): void {
    this.credentials.add(config.authentication.credentials);
    if (!task.configs.some(({ url }) => url === config.url)) task.configs.push(config);
  }

  #unroll(script: AgentScript, task: RemoteTask, [next, ...rest]: readonly Stage[]): void {
    if (!next) return;
    const enter = () => {
      if (ENDS.test(task.stage.state)) return;
      this.#enter(script, task, next);
      this.#unroll(script, task, rest);
    };
    if (next.afterMs === 0) enter();
    else this.#parts.clock.after(next.afterMs, enter);
  }

  #enter(script: AgentScript, task: RemoteTask, stage: Stage): void {
    task.stage = stage;
    task.changes++;
    const delays = script.callbacks?.(task.changes) ?? [0];
    for (const { url, authentication } of task.configs) {
      const registration = url.split('/').at(-1)!;
      const state = `TASK_STATE_${script.claims ?? stage.state}`;
      const body = { statusUpdate: { taskId: task.id, contextId: 'far', status: { state } } };
      const authorization = `Bearer ${authentication.credentials}`;
      for (const ms of delays)
        this.#parts.clock.after(ms, () => this.#callBack('agent', registration, authorization, body));
    }
  }

  async #callBack(
    by: Callback['by'],
    registration: string,
    authorization: string,
    body: object,
    tries = 1,
  ): Promise<void> {
    const from = this.#parts.place();
    const event = {
      pathParameters: { registration },
      headers: { Authorization: authorization },
      body: JSON.stringify(body),
    };
    const answer = await this.#parts.callBack(event).catch((error: unknown) => {
      if (!(error instanceof Died)) throw error;
      return undefined;
    });
    const status = answer?.statusCode;
    const to = this.#parts.place();
    this.callbacks.push({ registration, by, from, to, ...(status === undefined ? {} : { status }) });
    if (status === 200 || by === 'stranger' || tries >= MOST_TRIES) return;
    this.#parts.clock.after(AGAIN_MS, () => this.#callBack(by, registration, authorization, body, tries + 1));
  }
}

function shown({ id, stage }: RemoteTask): object {
  const { state, says, artifacts = [] } = stage;
  const message = says && { messageId: `${id}-says`, role: 'ROLE_AGENT', parts: [{ text: says }] };
  return {
    id,
    contextId: 'far',
    status: { state: `TASK_STATE_${state}`, ...(message ? { message } : {}) },
    artifacts: artifacts.map((text, i) => ({ artifactId: `a${i}`, parts: [{ text }] })),
  };
}

function spoken({ says }: Speech): object {
  return { message: { messageId: 'far-says', role: 'ROLE_AGENT', parts: [{ text: says }] } };
}

function answerOf(status: number, body: object): StreamOutcome {
  return {
    kind: 'stream',
    status,
    headers: { 'content-type': 'application/json' },
    chunks: (async function* () {
      yield Buffer.from(JSON.stringify(body));
    })(),
    close: () => {},
  };
}

function errorOf(
  id: unknown,
  { status, code }: { readonly status: number; readonly code?: number },
): StreamOutcome {
  return code === undefined
    ? answerOf(status, {})
    : answerOf(status, { jsonrpc: '2.0', id, error: { code, message: 'no' } });
}

/** The answer of what was acted on is lost. */
export const lostAnswer: Trouble = { acts: true, failure: RESET };
/** Nobody is there. */
export const unreachable: Trouble = {
  acts: false,
  failure: { kind: 'connect-failure', code: 'ECONNREFUSED' },
};
