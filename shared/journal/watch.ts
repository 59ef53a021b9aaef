import { isInterrupted, isTerminal } from '../protocol/index.ts';
import { keys } from '../storage/keys.ts';
import { isWithdrawn } from '../tasks/content.ts';
import { type Head, type Revision, revisionOf, type View } from '../tasks/formats.ts';
import { type HeadAndView, readHead, readHeadAndView } from '../tasks/read-head.ts';
import type { StateServices, TaskServices } from '../tasks/services.ts';
import { type EventNumber, eventsOf, lastIndex, type TaskEvent } from './events.ts';
import { project } from './project.ts';

/** A waiting reader projects only what is late by this much, ms; the projector is faster as a rule (design §4). */
const LATE_MS = 200;
/** Pauses of a waiting reader, ms: short while an answer is near, then a second. */
const PAUSES = [15, 25, 40, 60, 80, 100, 150, 200, 250, 300, 400, 500];
const LONG_PAUSE = 1000;

/**
 * Head and view with a view that exists and is not behind: an id that was handed out is never unknown, and who asks
 * sees what was committed before. `undefined`: no such task.
 */
export async function readCaughtUp(
  services: StateServices,
  task: string,
): Promise<{ readonly head: Head; readonly view: View } | undefined> {
  const { head, view } = await readHeadAndView(services, task);
  if (!head) return undefined;
  if (view && view.revision >= head.revision) return { head, view };
  const caughtUp = await project(services, task);
  return caughtUp.head && caughtUp.view ? { head: caughtUp.head, view: caughtUp.view } : undefined;
}

/**
 * Waits until the task, at `revision` or later, is terminal or interrupted, or until the deadline; then what is seen.
 * `undefined`: the task is gone.
 */
export async function waitForRest(
  services: StateServices,
  task: string,
  revision: number,
  deadline: number,
): Promise<{ readonly head: Head; readonly view: View } | undefined> {
  for (let round = 0; ; round++) {
    const { head, view } = await readProjectingLate(services, task);
    if (!head) return undefined;
    const rests = view && view.revision >= revision && (isTerminal(view.state) || isInterrupted(view.state));
    if (view && rests) return { head, view };
    const left = deadline - services.clock.now();
    if (left <= 0) return view ? { head, view } : readCaughtUp(services, task);
    await services.clock.sleep(Math.min(left, PAUSES[round] ?? LONG_PAUSE));
  }
}

export interface WatchOptions {
  /** Events after this one. */
  readonly after: EventNumber;
  /** Epoch ms; the stream ends then, wherever it is. */
  readonly deadline: number;
  /** Whether INPUT_REQUIRED ends the stream (SendStreamingMessage) or not (SubscribeToTask). */
  readonly endAtInput: boolean;
  readonly keepAliveMs: number;
}

/**
 * The events of a task from the journal, in order, without gaps, each once (P2); `keep-alive` where nothing came for a
 * while. Ends at a terminal state. The salt is read again for each entry (design §4).
 */
export async function* watch(
  services: TaskServices,
  task: string,
  options: WatchOptions,
): AsyncGenerator<TaskEvent | 'keep-alive'> {
  let seen = options.after;
  let silentSince = services.clock.now();
  for (let round = 0; ; round++) {
    const { head, view } = await readProjectingLate(services, task);
    if (!head) return;
    if (view && isNews(view, seen)) {
      const entries = await readJournal(services, task, seen, view.revision);
      for (const entry of entries) {
        const now = await readHead(services, task);
        if (!now || (await isWithdrawn(services, now))) return;
        const events = await eventsOf(services, now, entry);
        // Its result went since the head was read, and the task with it: COMPLETED without it would be wrong (P1).
        if (entry.state === 'TASK_STATE_COMPLETED' && events.length <= lastIndex(entry)) return;
        for (const event of events) {
          if (!isAfter(event.number, seen)) continue;
          yield event;
          seen = event.number;
        }
        if (isTerminal(entry.state)) return;
        if (
          options.endAtInput &&
          entry.state === 'TASK_STATE_INPUT_REQUIRED' &&
          entry.revision === view.revision
        )
          return;
      }
      if (entries.length > 0) {
        round = 0;
        silentSince = services.clock.now();
      }
    }
    const now = services.clock.now();
    if (now >= options.deadline) return;
    if (now - silentSince >= options.keepAliveMs) {
      yield 'keep-alive';
      silentSince = services.clock.now();
    }
    const untilKeepAlive = Math.max(1, silentSince + options.keepAliveMs - now);
    await services.clock.sleep(Math.min(PAUSES[round] ?? LONG_PAUSE, untilKeepAlive, options.deadline - now));
  }
}

/** Whether any event remains behind `seen`, as far as the view has come. */
export function isNews(view: View, seen: EventNumber): boolean {
  if (view.revision > seen.revision) return true;
  // Of the revision seen last, artifact updates may have been sent and the rest not.
  return view.revision === seen.revision && view.result !== undefined && seen.index < view.result.artifacts;
}

function isAfter(number: EventNumber, seen: EventNumber): boolean {
  return number.revision > seen.revision || (number.revision === seen.revision && number.index > seen.index);
}

async function readProjectingLate(services: StateServices, task: string): Promise<HeadAndView> {
  const read = await readHeadAndView(services, task);
  const { head, view } = read;
  if (!head || (view && view.revision >= head.revision)) return read;
  return services.clock.now() - head.statusAt >= LATE_MS ? project(services, task) : read;
}

/**
 * The entries from the one seen last (its artifact updates may have been sent and the rest not) up to `to`. The view may
 * be visible before its journal entry: what stands behind a gap is left for the next read.
 */
async function readJournal(
  services: StateServices,
  task: string,
  seen: EventNumber,
  to: number,
): Promise<readonly Revision[]> {
  const from = Math.max(1, seen.revision);
  const page = await services.store.query({
    table: 'view',
    partition: keys.view(task).pk,
    sort: { from: keys.journal(task, from).sk, to: keys.journal(task, to).sk },
    consistent: true,
  });
  const entries = page.items.map(revisionOf);
  const gap = entries.findIndex((entry, i) => entry.revision !== from + i);
  return gap < 0 ? entries : entries.slice(0, gap);
}
