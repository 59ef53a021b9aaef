import type { Notice, PeerStreamEvent, PeerTaskState, UnknownMember } from '../protocol/index.ts';
import type { CallFailure } from './outcomes.ts';

/** What a stream brings, in order. The last item is always an `end`, unless the reader leaves before. */
export type StreamItem =
  | StreamEventItem
  | SkippedItem
  | InterruptionItem
  | { readonly kind: 'end'; readonly end: StreamEnd };

export interface StreamEventItem {
  readonly kind: 'event';
  readonly event: Exclude<PeerStreamEvent, UnknownMember>;
  /** The event's id, where the agent numbers its events. */
  readonly id?: string;
  readonly notices: readonly Notice[];
  /** `get-task`: asked for, because the agent did not take the subscription. */
  readonly via: 'stream' | 'get-task';
}

/** An event of a kind that this version does not know. It changes nothing. */
export interface SkippedItem {
  readonly kind: 'skipped';
  readonly notices: readonly Notice[];
}

/** The stream broke off before its end; after `waitMs` the task is subscribed to. */
export interface InterruptionItem {
  readonly kind: 'interrupted';
  readonly failure: CallFailure;
  /** Counted from 1 over the life of the stream. */
  readonly resumption: number;
  readonly waitMs: number;
}

/** How a stream ended. Only `finished` speaks of an end of the task, and its state may be FAILED. */
export type StreamEnd =
  | { readonly kind: 'finished'; readonly taskId: string; readonly state: PeerTaskState }
  /** The agent ended the stream because the task waits for somebody. */
  | { readonly kind: 'waiting'; readonly taskId: string; readonly state: PeerTaskState }
  /** The agent answered with a Message and no task. */
  | { readonly kind: 'answered' }
  /** It broke off and could not be taken up again: the task goes on, as far as anybody knows. */
  | {
      readonly kind: 'cut';
      readonly taskId: string;
      readonly lastState?: PeerTaskState;
      readonly lastEventId?: string;
      readonly failure: CallFailure;
    }
  /** It never began. */
  | CallFailure;
