/** The A2A 1.0 client of the client role (design §8): cards, the eleven methods, and waiting for a result. */
export {
  type CachedCard,
  type CardCache,
  type CardFailure,
  type CardOutcome,
  type FetchCardOptions,
  type FetchedCard,
  fetchAgentCard,
  type UnchangedCard,
} from './card.ts';
export type { PinnedKey, SignatureVerdict } from './card-signature.ts';
export {
  type A2AClient,
  type A2AClientOptions,
  type CallOptions,
  type CallParams,
  createA2AClient,
  type StreamOptions,
  type SubscribeOptions,
  UnusableClientOptions,
} from './client.ts';
export { type InterfaceChoice, isCompatible, type OfferedInterface, selectInterface } from './interfaces.ts';
export { type ClientLimits, type ClientTimeouts, DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from './limits.ts';
export type * from './outcomes.ts';
export { DEFAULT_POLL_SCHEDULE, type PollSchedule, pollDelayMs } from './poll-schedule.ts';
export { sendAndWait, settled, type WaitOptions, type WaitOutcome } from './send-and-wait.ts';
export type * from './stream-items.ts';
