import {
  type Message,
  type Notice,
  type PeerSendResult,
  type PeerTask,
  UNKNOWN_STATE,
} from '../protocol/index.ts';
import type { Clock } from '../runtime/ports.ts';
import type { A2AClient, CallParams } from './client.ts';
import type { CallFailure, CallOutcome } from './outcomes.ts';
import { DEFAULT_POLL_SCHEDULE, type PollSchedule, pollDelayMs } from './poll-schedule.ts';

export interface WaitOptions {
  readonly clock: Clock;
  /** Epoch ms. No call starts after it, and none lasts beyond it. */
  readonly deadline: number;
  readonly schedule?: PollSchedule;
  /**
   * How often the same request may be sent again after an outcome that nobody knows. 0, the default, because an agent
   * that does not know a message by its `messageId` would run it twice.
   */
  readonly resends?: number;
  /** Follow the task by a stream first; polling stays the way when the stream does not hold. */
  readonly subscribe?: boolean;
  readonly signal?: AbortSignal;
}

/** How a delegated message ended, as far as this client waited. Only `completed` and `message` are successes. */
export type WaitOutcome =
  | { readonly kind: 'completed'; readonly task: PeerTask; readonly notices: readonly Notice[] }
  | { readonly kind: 'message'; readonly message: Message; readonly notices: readonly Notice[] }
  /** The task waits for somebody: INPUT_REQUIRED or AUTH_REQUIRED. */
  | {
      readonly kind: 'waiting';
      readonly state: 'TASK_STATE_INPUT_REQUIRED' | 'TASK_STATE_AUTH_REQUIRED';
      readonly task: PeerTask;
      readonly notices: readonly Notice[];
    }
  /** The task ended without a result; `message` is its status message, where it has one (K02). */
  | {
      readonly kind: 'failed';
      readonly state: 'TASK_STATE_FAILED' | 'TASK_STATE_REJECTED' | 'TASK_STATE_CANCELED';
      readonly message?: Message;
      readonly task: PeerTask;
      readonly notices: readonly Notice[];
    }
  /** The task, where one is known, goes on as far as anybody knows. */
  | { readonly kind: 'deadline-exceeded'; readonly task?: PeerTask; readonly lastFailure?: CallFailure }
  | { readonly kind: 'stopped'; readonly task?: PeerTask }
  /** What cannot pass by waiting; `task` is the last that was seen. */
  | { readonly kind: 'call-failed'; readonly failure: CallFailure; readonly task?: PeerTask };

/**
 * Sends a message and waits until its task is over or waits for somebody (K01). The request is sent as it was handed in;
 * it is sent again only when nothing can have come of it, or as often as `resends` allows, with the same bytes. An unknown state
 * is waited through. Never throws.
 */
export async function sendAndWait(
  client: A2AClient,
  request: CallParams<'SendMessage'>,
  options: WaitOptions,
): Promise<WaitOutcome> {
  const sent = await send(client, request, options);
  if (sent.kind !== 'ok') return sent;
  const { value, notices } = sent;
  switch (value.kind) {
    case 'message':
      return { kind: 'message', message: value.message, notices };
    case 'task':
      return settled(value.task, notices) ?? (await follow(client, value.task, options));
    case 'unknown': {
      const fault = { kind: 'unknown-result', name: value.name } as const;
      const failure = { kind: 'protocol-error', fault, status: 200, mayHaveActed: true } as const;
      return { kind: 'call-failed', failure };
    }
  }
}

/** What a task's state says about it; undefined while it goes on. A task may lack everything but id and state (K04). */
export function settled(task: PeerTask, notices: readonly Notice[]): WaitOutcome | undefined {
  const { state, message } = task.status;
  switch (state) {
    case 'TASK_STATE_COMPLETED':
      return { kind: 'completed', task, notices };
    case 'TASK_STATE_FAILED':
    case 'TASK_STATE_REJECTED':
    case 'TASK_STATE_CANCELED':
      return { kind: 'failed', state, ...(message && { message }), task, notices };
    case 'TASK_STATE_INPUT_REQUIRED':
    case 'TASK_STATE_AUTH_REQUIRED':
      return { kind: 'waiting', state, task, notices };
    case 'TASK_STATE_SUBMITTED':
    case 'TASK_STATE_WORKING':
    case UNKNOWN_STATE:
      return undefined;
  }
}

type Sent = Extract<CallOutcome<PeerSendResult>, { kind: 'ok' }> | WaitOutcome;

async function send(
  client: A2AClient,
  request: CallParams<'SendMessage'>,
  options: WaitOptions,
): Promise<Sent> {
  let resends = options.resends ?? 0;
  let lastFailure: CallFailure | undefined;
  for (let attempt = 0; ; attempt++) {
    const over = overNow(options, undefined, lastFailure);
    if (over) return over;
    const outcome = await client.sendMessage(request, callOptions(options));
    if (outcome.kind === 'ok') return outcome;
    if (!mayPass(outcome)) return { kind: 'call-failed', failure: outcome };
    if (!isUndone(outcome) && resends-- <= 0) return { kind: 'call-failed', failure: outcome };
    lastFailure = outcome;
    await pause(attempt, options, outcome);
  }
}

async function follow(client: A2AClient, first: PeerTask, options: WaitOptions): Promise<WaitOutcome> {
  if (options.subscribe) await untilStreamEnds(client, first.id, options);
  let task = first;
  let lastFailure: CallFailure | undefined;
  for (let poll = options.subscribe ? -1 : 0; ; poll++) {
    // What a stream brought is looked up at once: a task read whole needs no pieces put together.
    if (poll >= 0) await pause(poll, options, lastFailure);
    const over = overNow(options, task, lastFailure);
    if (over) return over;
    const outcome = await client.getTask({ id: first.id }, callOptions(options));
    if (outcome.kind === 'ok') {
      const end = settled(outcome.value, outcome.notices);
      if (end) return end;
      task = outcome.value;
      lastFailure = undefined;
    } else if (mayPass(outcome) || options.signal?.aborted) {
      lastFailure = outcome;
    } else {
      return { kind: 'call-failed', failure: outcome, task };
    }
  }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

async function untilStreamEnds(client: A2AClient, id: string, options: WaitOptions): Promise<void> {
  const atDeadline = new AbortController();
  const done = new AbortController();
  void options.clock
    .sleep(Math.min(LONGEST_TIMER_MS, options.deadline - options.clock.now()), done.signal)
    .then(() => atDeadline.abort());
  const signal = options.signal ? AbortSignal.any([options.signal, atDeadline.signal]) : atDeadline.signal;
  try {
    for await (const _ of client.subscribeToTask({ id }, { signal })) {
      // Only its end matters here.
    }
  } finally {
    done.abort();
  }
}

function overNow(
  { clock, deadline, signal }: WaitOptions,
  task: PeerTask | undefined,
  lastFailure: CallFailure | undefined,
): WaitOutcome | undefined {
  const known = task && { task };
  if (signal?.aborted) return { kind: 'stopped', ...known };
  if (clock.now() < deadline) return undefined;
  return { kind: 'deadline-exceeded', ...known, ...(lastFailure && { lastFailure }) };
}

async function pause(number: number, options: WaitOptions, failure: CallFailure | undefined): Promise<void> {
  const { clock, deadline, signal, schedule = DEFAULT_POLL_SCHEDULE } = options;
  const asked = failure && 'retryAfterMs' in failure ? (failure.retryAfterMs ?? 0) : 0;
  const wait = Math.max(asked, pollDelayMs(number, schedule));
  await clock.sleep(Math.min(wait, deadline - clock.now()), signal);
}

function callOptions({ clock, deadline, signal }: WaitOptions) {
  return { withinMs: deadline - clock.now(), ...(signal && { signal }) };
}

/** Nothing happened, for certain: the request never arrived, or was turned away because the agent was busy. */
function isUndone(failure: CallFailure): boolean {
  if (failure.kind === 'transport-error') return !failure.mayHaveActed;
  return failure.kind === 'remote-error' && (failure.status === 429 || failure.status === 503);
}

function mayPass(failure: CallFailure): boolean {
  return failure.kind !== 'protocol-error' && failure.retryable;
}
