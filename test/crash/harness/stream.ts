import type { StreamEvent } from '../../../functions/projector/event.ts';
import type { Key } from '../../../shared/storage/index.ts';
import type { VirtualClock } from './clock.ts';
import type { Deliveries } from './deliveries.ts';

export interface StreamOptions {
  readonly clock: VirtualClock;
  readonly deliveries: Deliveries;
  /** Default 150. */
  readonly latencyMs?: number;
  /** Resolves true when the batch was handled; rejects when its consumer died. */
  readonly consume: (event: StreamEvent) => Promise<boolean>;
}

/** What the platform takes from a commit to the function, ms. */
const LATENCY_MS = 150;
/** Between a batch that failed and its repeat, ms, and how often it is repeated, as in the stack. */
const REPEAT_MS = 1_000;
const REPEATS = 10;

/**
 * The state table's stream and its mapping to the projector: keys only, revisions only. Records are made from the writes
 * as they take effect; that they are those of the engine's own stream is a test of its own.
 */
export class VirtualStream {
  readonly #options: StreamOptions;
  #serial = 0;

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  publish(key: Key): void {
    const record = recordOf(key, String(++this.#serial).padStart(21, '0'));
    for (const extra of this.#options.deliveries()) {
      this.#options.clock.after((this.#options.latencyMs ?? LATENCY_MS) + extra, () =>
        this.#deliver({ Records: [record] }, REPEATS),
      );
    }
  }

  #deliver(event: StreamEvent, repeats: number): void {
    const again = () => {
      if (repeats > 0) this.#options.clock.after(REPEAT_MS, () => this.#deliver(event, repeats - 1));
    };
    void this.#options.consume(event).then((handled) => handled || again(), again);
  }
}

export function recordOf(key: Key, sequenceNumber: string): StreamEvent['Records'][number] {
  return {
    dynamodb: { Keys: { pk: { S: key.pk }, sk: { S: key.sk } }, SequenceNumber: sequenceNumber },
  };
}
