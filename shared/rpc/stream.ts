import { type EventNumber, formatEventNumber, lastIndex, parseEventNumber } from '../journal/events.ts';
import { isNews, readCaughtUp, watch } from '../journal/watch.ts';
import {
  type A2AFailure,
  encodeStreamResponse,
  err,
  isTerminal,
  ok,
  type Result,
} from '../protocol/index.ts';
import { openStream, type StreamPlace } from '../quotas/index.ts';
import { advance, type Head, type View } from '../tasks/formats.ts';
import { readHead, readRevisions } from '../tasks/read-head.ts';
import { snapshot } from '../tasks/snapshot.ts';
import { type Call, invalid, type StreamAnswer, type StreamPiece } from './call.ts';
import { readOwn } from './read.ts';
import { acceptSend } from './send.ts';
import { checkTenant } from './tenant.ts';

const KEEP_ALIVE_MS = 15_000;

/**
 * SendStreamingMessage: the task as this send left it, then its events up to a terminal state or INPUT_REQUIRED. A send
 * that repeats an earlier one streams the task as it stands.
 */
export async function sendStreaming(call: Call<'SendStreamingMessage'>): Promise<StreamAnswer> {
  if (!call.settings.streaming) return err(STREAMING_DISABLED);
  let place: StreamPlace | undefined;
  const answering = async (): Promise<StreamAnswer> => {
    const accepted = await acceptSend(call, async () => {
      const taken = await takePlace(call);
      if (!taken.ok) return taken.error;
      place = taken.value;
      return undefined;
    });
    if (!accepted.ok || !place) return accepted.ok ? NOT_FOUND : accepted;
    const { task, revision, repeated } = accepted.value;
    const seen = repeated ? await readCaughtUp(call.services, task) : await readAt(call, task, revision);
    if (!seen) return NOT_FOUND;
    if (repeated && call.lastEventId !== undefined) return resumed(call, seen, place, true);
    return ok(fromTask(call, seen, place, true));
  };
  let answer: StreamAnswer | undefined;
  try {
    answer = await answering();
    return answer;
  } finally {
    if (!answer?.ok) await place?.close();
  }
}

/** SubscribeToTask: the task as it stands, then its events; with `Last-Event-ID` only the events behind that one. */
export async function subscribe(call: Call<'SubscribeToTask'>): Promise<StreamAnswer> {
  const { services, client, params, settings } = call;
  if (!settings.streaming) return err(STREAMING_DISABLED);
  const refusal = (await checkTenant(services, client, params.tenant)) ?? (await call.rate());
  if (refusal) return err(refusal);
  const own = await readOwn(services, client.id, params.id, params.tenant);
  if (!own.ok) return own;
  const continues = call.lastEventId !== undefined;
  if (!continues && isTerminal(own.value.view.state)) {
    return err({ kind: 'unsupported-operation', reason: 'TASK_TERMINAL' });
  }
  const place = await takePlace(call);
  if (!place.ok) return place;
  if (!continues) return ok(fromTask(call, own.value, place.value, false));
  const answer = resumed(call, own.value, place.value, false);
  if (!answer.ok) await place.value.close();
  return answer;
}

type Streaming = Call<'SendStreamingMessage'> | Call<'SubscribeToTask'>;
type Seen = { readonly head: Head; readonly view: View };

const NOT_FOUND: StreamAnswer = err({ kind: 'task-not-found' });
const STREAMING_DISABLED: A2AFailure = { kind: 'unsupported-operation', reason: 'STREAMING_DISABLED' };

async function takePlace(call: Streaming): Promise<Result<StreamPlace, A2AFailure>> {
  const place = await openStream(call.services, call.client.id, call.settings.openStreams, deadlineOf(call));
  if ('close' in place) return ok(place);
  return err({
    kind: 'quota-exceeded',
    quota: 'OPEN_STREAMS',
    retryAfterSeconds: place.retryAfterSeconds,
  });
}

function deadlineOf(call: Streaming): number {
  return Math.min(call.services.clock.now() + call.settings.streamSeconds * 1000, call.deadline);
}

/** The task as it was at a revision, however far it has come since: the stream's first event (decisions, envelope). */
async function readAt(call: Streaming, task: string, revision: number): Promise<Seen | undefined> {
  const head = await readHead(call.services, task);
  if (!head) return undefined;
  const revisions = await readRevisions(call.services, task, 1, revision);
  let view: View | undefined;
  for (const each of revisions) view = advance(view, head, each);
  return view && { head, view };
}

/** Where nothing is missed, a sign of life goes first: the answer starts now, not with the next event. */
function resumed(call: Streaming, seen: Seen, place: StreamPlace, endAtInput: boolean): StreamAnswer {
  const after = parseEventNumber(call.lastEventId ?? '');
  if (!after || isAhead(after, seen.view)) {
    return err(invalid('Last-Event-ID', 'is not the number of an event of this task'));
  }
  const misses = isNews(seen.view, after);
  if (isTerminal(seen.view.state) && !misses) {
    return err({ kind: 'unsupported-operation', reason: 'STREAM_EXHAUSTED' });
  }
  return ok(events(call, seen.head.task, after, place, endAtInput, !misses));
}

function isAhead(number: EventNumber, view: View): boolean {
  if (number.revision !== view.revision) return number.revision > view.revision;
  return number.index > lastIndex(view);
}

async function* fromTask(
  call: Streaming,
  seen: Seen,
  place: StreamPlace,
  endAtInput: boolean,
): AsyncGenerator<StreamPiece> {
  try {
    const { services, settings } = call;
    const history = 'configuration' in call.params ? call.params.configuration?.historyLength : undefined;
    const task = await snapshot(services, seen.head, seen.view, {
      historyLength: history,
      maxHistory: settings.maxHistoryMessages,
    });
    if (task === 'withdrawn') return;
    const number = { revision: seen.view.revision, index: lastIndex(seen.view) };
    yield { id: formatEventNumber(number), result: encodeStreamResponse({ task }) };
    if (isTerminal(seen.view.state)) return;
    if (endAtInput && seen.view.state === 'TASK_STATE_INPUT_REQUIRED') return;
    yield* events(call, seen.head.task, number, place, endAtInput);
  } finally {
    await place.close();
  }
}

async function* events(
  call: Streaming,
  task: string,
  after: EventNumber,
  place: StreamPlace,
  endAtInput: boolean,
  greets = false,
): AsyncGenerator<StreamPiece> {
  try {
    if (greets) yield 'keep-alive';
    const options = { after, deadline: deadlineOf(call), endAtInput, keepAliveMs: KEEP_ALIVE_MS };
    for await (const event of watch(call.services, task, options)) {
      if (!(await call.permitted())) return;
      if (event === 'keep-alive') yield event;
      else yield { id: formatEventNumber(event.number), result: encodeStreamResponse(event.response) };
    }
  } finally {
    await place.close();
  }
}
