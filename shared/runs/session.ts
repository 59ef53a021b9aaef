import { rewriteRedacted } from '../ceilings/index.ts';
import { isTerminal, type Message, type Part } from '../protocol/index.ts';
import { type AnswerLevel, isRetainable, tighter } from '../registry/index.ts';
import { type Committed, commit, type Step } from '../tasks/commit.ts';
import type { Head } from '../tasks/formats.ts';
import { keptMessage } from '../tasks/kept.ts';
import { readHead } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';
import { holds, LEASE_MS, RENEW_MS, renew, tightenHeld } from './lease.ts';
import { nameOf, projectQuietly } from './recover.ts';

/** The executor's own queue message: kept invisible while the lease is held (design §5). */
export interface OwnMessage {
  extend(seconds: number): Promise<void>;
}

/** A run that takes longer than this is committed as WORKING, ms. */
export const WORKING_AFTER_MS = 1_000;

/** How often a commit is decided anew before the run is left to its next execution. */
const TRIES = 8;

export type Ending = 'committed' | 'lost';

/**
 * One execution of a run that this executor claimed. Commits go one after another, each on the condition that the lease
 * is still its own and the ceiling the one that was read; once it is lost, `signal` aborts and nothing more is written.
 */
export class RunSession {
  /** The provider that was tried last. */
  provider = '';
  /** Number of the message that started the run. */
  message = 1;
  /** Turns in which it handed steps on for that message so far. */
  turns = 0;
  /** Gateways that the message came over. */
  hops = 0;
  readonly #services: TaskServices;
  readonly #token: string;
  readonly #maxMessages: number;
  readonly #lost = new AbortController();
  readonly #over = new AbortController();
  #head: Head;
  #line: Promise<unknown> = Promise.resolve();
  #beats: Promise<unknown>[] = [];
  /** Words of status messages that were committed for this run, and those that this attempt has said. */
  #told: string[] = [];
  #repeated: string[] = [];

  constructor(services: TaskServices, head: Head, maxMessages: number) {
    this.#services = services;
    this.#head = head;
    this.#token = head.lease!.token;
    this.#maxMessages = maxMessages;
  }

  get head(): Head {
    return this.#head;
  }

  /** Aborts when the run is no longer ours: canceled, ended, or claimed by another executor. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Starts renewing lease and queue message, and the timer for WORKING. */
  start(own: OwnMessage): void {
    this.#beats = [this.#renewing(own), this.#working()];
  }

  /** Ends the timers; what is being committed is waited for. */
  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.allSettled([...this.#beats, this.#line]);
  }

  /**
   * Another attempt begins, by another provider or after one that did not live: `told` is what earlier ones said. What it
   * says again is told no second time (design §5: each once, in order).
   */
  beginAttempt(told: readonly string[] = this.#told): void {
    this.#told = [...told];
    this.#repeated = [];
  }

  /** As often as it was told before, a text that an attempt says is that one again. */
  #isTold(text: string): boolean {
    const count = (all: readonly string[]) => all.filter((one) => one === text).length;
    if (count(this.#repeated) >= count(this.#told)) return false;
    this.#repeated.push(text);
    return true;
  }

  /** Commits a status message while the run goes on. Over the bound of messages the words are dropped, the run is not. */
  progress(words: string): Promise<void> {
    const text = words.toWellFormed();
    return this.#inLine(async () => {
      if (this.lost.aborted || this.#over.signal.aborted) return;
      if (this.#isTold(text)) return;
      // There is to be room for a question and its answer.
      if (this.#head.messages >= this.#maxMessages - 2) return;
      this.#told.push(text);
      this.#repeated.push(text);
      await this.#commitSpoken([{ text }], {
        state: 'TASK_STATE_WORKING',
        run: 'running',
        keepLease: true,
      });
    });
  }

  /**
   * Commits how this execution ends. `step` is built for the head it is given, and built anew when the case has to be
   * decided anew because something of the head changed meanwhile.
   */
  end(step: (head: Head) => Promise<Step>): Promise<Ending> {
    return this.#inLine(async () => {
      for (let tries = 0; tries < TRIES; tries++) {
        await this.#rewrite();
        if (this.lost.aborted) return 'lost';
        const committed = await this.#commit(await step(this.#head));
        if (committed.kind === 'committed') return 'committed';
      }
      return 'lost';
    });
  }

  /** The step of a message to the client, kept in the form of the task. */
  async spoken(head: Head, parts: readonly Part[], step: Omit<Step, 'message' | 'with'>): Promise<Step> {
    const message = this.say(head, parts);
    const written = await keptMessage(this.#services, head, head.messages + 1, { message });
    return { ...step, message: { ref: written.ref, spoken: true }, with: written.actions };
  }

  /**
   * Brings the run to a level: tightens the ceiling in a write of its own, before the attempt that needs it, and notes the
   * provider where it was not tried before (design §7). A level of `redacted` rewrites the history before the run goes on.
   * Writes nothing where all of that holds already. Throws `RedactionUnavailable`.
   */
  tighten(level: AnswerLevel, provider?: string): Promise<void> {
    return this.#inLine(async () => {
      if (this.lost.aborted) return;
      const { ceiling, tried } = this.#head;
      const noted = provider === undefined || tried.includes(provider) ? undefined : provider;
      if (tighter(ceiling, level) !== ceiling || noted !== undefined) {
        const tightened = await tightenHeld(this.#services, this.#head, this.#token, level, noted);
        if (!tightened) return this.#lost.abort();
        this.#head = tightened;
      }
      await this.#rewrite();
    });
  }

  say(head: Head, parts: readonly Part[]): Message {
    return {
      messageId: this.#services.random.uuid(),
      contextId: head.context,
      taskId: head.task,
      role: 'ROLE_AGENT',
      parts: [...parts],
    };
  }

  async #commitSpoken(parts: readonly Part[], step: Omit<Step, 'message' | 'with'>): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      await this.#rewrite();
      // Where nothing may be kept there is nothing to say; the run ends at its next attempt or at its end.
      if (this.lost.aborted || !isRetainable(this.#head.ceiling)) return;
      const committed = await this.#commit(await this.spoken(this.#head, parts, step));
      if (committed.kind === 'committed') return;
    }
  }

  /** Nothing more is written in full once it has to be redacted, also where an administrator's job lowered the ceiling. */
  async #rewrite(): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      if (this.#head.ceiling !== 'redacted' || this.#head.form === 'redacted' || this.lost.aborted) return;
      const rewritten = await rewriteRedacted(this.#services, this.#head);
      if (rewritten) this.#head = rewritten;
      else await this.#readAgain();
    }
  }

  /** One try; on a refusal the head is read anew, and the run is lost unless it still is ours. */
  async #commit(step: Step): Promise<Committed> {
    const committed = await commit(this.#services, this.#head, step, [holds(this.#token)]);
    if (committed.kind === 'committed') {
      this.#head = committed.head;
      await projectQuietly(this.#services, this.#head.task);
      return committed;
    }
    await this.#readAgain();
    return committed;
  }

  async #readAgain(): Promise<void> {
    const found = await readHead(this.#services, this.#head.task);
    if (found?.lease?.token === this.#token && !isTerminal(found.state)) this.#head = found;
    else this.#lost.abort();
  }

  async #working(): Promise<void> {
    await this.#services.clock.sleep(WORKING_AFTER_MS, this.#over.signal);
    await this.#inLine(async () => {
      if (this.#over.signal.aborted || this.lost.aborted) return;
      // One that goes on from agents may still show what one of them asked before it went on by itself.
      if (this.#head.state === 'TASK_STATE_WORKING' || this.#head.approval) return;
      await this.#commit({ state: 'TASK_STATE_WORKING', run: 'running', keepLease: true });
    }).catch((error: unknown) => this.#note('a run could not be shown as working', error));
  }

  async #renewing(own: OwnMessage): Promise<void> {
    let held = this.#services.clock.now() + LEASE_MS;
    while (!this.#over.signal.aborted && !this.lost.aborted) {
      await this.#services.clock.sleep(RENEW_MS, this.#over.signal);
      if (this.#over.signal.aborted || this.lost.aborted) return;
      try {
        const renewed = await renew(this.#services, this.#head.task, this.#token);
        if (!renewed) return this.#lost.abort();
        held = renewed.lease?.until ?? held;
      } catch (error) {
        this.#note('a lease could not be renewed', error);
        if (this.#services.clock.now() >= held) return this.#lost.abort();
      }
      await own
        .extend(LEASE_MS / 1000)
        .catch((error: unknown) => this.#note('a queue message could not be kept invisible', error));
    }
  }

  #inLine<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#line.then(work);
    this.#line = turn.catch(() => {});
    return turn;
  }

  #note(message: string, error: unknown): void {
    this.#services.log.warn(message, { task: this.#head.task, error: nameOf(error) });
  }
}
