import type { RpcAnswer } from '../../server/rig.ts';
import type { RpcResponse } from './functions.ts';
import { Died } from './instance.ts';
import type { World } from './world.ts';

/** A task as a client was shown it, with the places in the order of effects between which it was. */
export interface Sight {
  readonly task: string;
  readonly state: string;
  readonly timestamp: string;
  readonly artifacts: number;
  /** An event of a stream may be behind what others saw; an answer may not. */
  readonly by: 'answer' | 'event';
  readonly from: number;
  readonly to: number;
}

/** One connection of a stream. */
export interface Connection {
  readonly method: 'SendStreamingMessage' | 'SubscribeToTask';
  /** `Last-Event-ID`. */
  readonly after?: string;
  readonly events: {
    readonly id: string;
    readonly kind: string;
    readonly task: string;
    readonly state?: string;
  }[];
  /** `closed`: by the gateway, as ended. `cut`: by a death or a fault. `refused`: an error in place of a stream. */
  end?: 'closed' | 'cut' | 'refused';
}

/** What the gateway said that no client should ever hear, whatever happens to it. */
const INTERNAL = -32603;
/** Unavailable, over quota: the same call later. */
const PASSING = new Set([-32092, -32093]);
/** A client gives up waiting for an answer after this long. */
const PATIENCE_MS = 35_000;
/** A client whose connection broke comes again before the stream's record has reached the projector. */
const AGAIN_MS = 50;
const MOST_TRIES = 60;

/** A remote client that loses its connections when the gateway dies, and then does what a client should: it repeats. */
export class RemoteClient {
  readonly id: string;
  readonly sights: Sight[] = [];
  readonly connections: Connection[] = [];
  /** Ids of tasks that this client was ever given. */
  readonly handed = new Set<string>();
  readonly internal: RpcAnswer[] = [];
  readonly #world: World;
  #serial = 0;

  constructor(world: World, id = 'alice') {
    this.#world = world;
    this.id = id;
  }

  /** A message of its own id; the same text and number in every run. */
  message(text: string, more: object = {}): object {
    return { messageId: `m${++this.#serial}-${this.id}`, role: 'ROLE_USER', parts: [{ text }], ...more };
  }

  sleep(ms: number): Promise<void> {
    return this.#world.clock.sleep(ms);
  }

  /** One call, repeated with the same words until it is answered. */
  async call(method: string, params: object): Promise<RpcAnswer> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const from = this.#world.ledger.effects.length;
      let text = '';
      const post = this.#post(method, params, (piece) => {
        text += piece;
      });
      if ((await this.#inTime(post)) !== 'cut') {
        const answer = JSON.parse(text) as RpcAnswer;
        if (!this.#mustRepeat(answer)) {
          this.#see(answer.result?.task ?? answer.result, 'answer', from);
          return answer;
        }
        await this.sleep(500);
      } else await this.sleep(AGAIN_MS);
    }
    throw new Error(`${method} was never answered`);
  }

  /** Sends and has the task; throws if that is refused. */
  // biome-ignore lint/suspicious/noExplicitAny: the wire is untyped on purpose, tests look into it.
  async send(message: object, configuration: object = {}): Promise<any> {
    const { result, error } = await this.call('SendMessage', { message, configuration });
    if (error) throw new Error(`a message was refused: ${JSON.stringify(error)}`);
    return result.task;
  }

  /** Asks for the task every so often until it has one of the states. */
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  async until(task: string, states: readonly string[], everyMs = 20_000): Promise<any> {
    for (let tries = 0; tries < 2_000; tries++) {
      const { result, error } = await this.call('GetTask', { id: task });
      if (error) throw new Error(`a task was not shown: ${JSON.stringify(error)}`);
      if (states.some((state) => result.status.state === `TASK_STATE_${state}`)) return result;
      await this.sleep(everyMs);
    }
    throw new Error(`the task never was ${states.join(' or ')}`);
  }

  /**
   * Sends and follows the events until the stream ends; goes on behind the last event it had, where it was cut. With
   * `looking` it asks for the task after each event.
   */
  async follow(message: object, looking = false): Promise<void> {
    let task: string | undefined;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const last = this.connections.findLast(({ events }) => events.length > 0)?.events.at(-1)?.id;
      const connection =
        task === undefined || last === undefined
          ? await this.#connect({ method: 'SendStreamingMessage', events: [] }, { message }, looking)
          : await this.#connect(
              { method: 'SubscribeToTask', after: last, events: [] },
              { id: task },
              looking,
            );
      if (connection.end !== 'cut') return;
      task ??= connection.events[0]?.task;
      await this.sleep(AGAIN_MS);
    }
    throw new Error('a stream never ended');
  }

  /** Watches a task from now on, until the stream ends or is cut. */
  async watch(task: string): Promise<void> {
    await this.#connect({ method: 'SubscribeToTask', events: [] }, { id: task }, false);
  }

  async #connect(connection: Connection, params: object, looking: boolean): Promise<Connection> {
    this.connections.push(connection);
    const looks: Promise<unknown>[] = [];
    const onPiece = (piece: string) => {
      if (piece.startsWith('{')) {
        connection.end = this.#mustRepeat(JSON.parse(piece)) ? 'cut' : 'refused';
      } else if (piece.startsWith('event: error')) {
        connection.end = 'cut';
        this.#mustRepeat(JSON.parse(piece.slice(piece.indexOf('data: ') + 6)));
      } else if (piece.startsWith('id: ')) {
        const task = this.#event(connection, piece);
        if (looking) looks.push(this.call('GetTask', { id: task }));
      }
    };
    const headers = connection.after === undefined ? {} : { 'last-event-id': connection.after };
    const post = this.#post(connection.method, params, onPiece, headers);
    await post.then(
      () => {
        connection.end ??= 'closed';
      },
      (error: unknown) => {
        if (!(error instanceof Died)) throw error;
        connection.end = 'cut';
      },
    );
    await Promise.all(looks);
    return connection;
  }

  #event(connection: Connection, piece: string): string {
    const id = /^id: (\S+)/.exec(piece)?.[1] ?? '';
    const { result } = JSON.parse(piece.slice(piece.indexOf('data: ') + 6)) as RpcAnswer;
    const [kind, content] = Object.entries(result)[0] as [
      string,
      { id?: string; taskId?: string; status?: { state: string } },
    ];
    const task = content.id ?? content.taskId ?? '';
    connection.events.push({ id, kind, task, ...(content.status ? { state: content.status.state } : {}) });
    if (kind === 'task') this.#see(content, 'event', this.#world.ledger.effects.length);
    else if (kind === 'statusUpdate')
      this.#see({ id: task, status: content.status }, 'event', this.#world.ledger.effects.length);
    return task;
  }

  #post(
    method: string,
    params: object,
    emit: (text: string) => void,
    headers: Record<string, string> = {},
  ): Promise<RpcResponse> {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    return this.#world.invoke<RpcResponse>('rpc', {
      headers: {
        authorization: `Bearer ${this.#world.gateway.token(this.id)}`,
        'content-type': 'application/json',
        'a2a-version': '1.0',
        ...headers,
      },
      query: {},
      body,
      baseUrl: 'https://gateway.example',
      emit,
    });
  }

  async #inTime(post: Promise<RpcResponse>): Promise<'answered' | 'cut'> {
    const waiting = new AbortController();
    const late = this.#world.clock.sleep(PATIENCE_MS, waiting.signal).then(() => 'cut' as const);
    const answered = post.then(
      () => 'answered' as const,
      (error: unknown) => {
        if (error instanceof Died) return 'cut' as const;
        throw error;
      },
    );
    try {
      return await Promise.race([answered, late]);
    } finally {
      waiting.abort();
    }
  }

  #mustRepeat(answer: RpcAnswer): boolean {
    const code = answer.error?.code;
    if (code === undefined) return false;
    if (code === INTERNAL) this.internal.push(answer);
    return code === INTERNAL || PASSING.has(code);
  }

  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  #see(task: any, by: Sight['by'], from: number): void {
    if (typeof task?.id !== 'string' || task.status === undefined) return;
    this.handed.add(task.id);
    const { state, timestamp } = task.status;
    const artifacts = task.artifacts?.length ?? 0;
    this.sights.push({
      task: task.id,
      state,
      timestamp,
      artifacts,
      by,
      from,
      to: this.#world.ledger.effects.length,
    });
  }
}
