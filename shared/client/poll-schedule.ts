/** When a task of a remote agent is asked for: after `firstMs`, then each time twice as long, up to `maxMs`. */
export interface PollSchedule {
  readonly firstMs: number;
  readonly maxMs: number;
}

export const DEFAULT_POLL_SCHEDULE: PollSchedule = { firstMs: 5_000, maxMs: 300_000 };

/** Milliseconds to wait before poll number `poll`, counted from 0 (design §8: 5 s to 5 min). */
export function pollDelayMs(poll: number, { firstMs, maxMs }: PollSchedule = DEFAULT_POLL_SCHEDULE): number {
  return Math.min(maxMs, firstMs * 2 ** poll);
}
