import type { VirtualClock } from './clock.ts';
import type { Deliveries } from './deliveries.ts';

export interface Received {
  readonly id: string;
  readonly body: string;
}

export interface QueueOptions {
  readonly name: string;
  readonly clock: VirtualClock;
  readonly deliveries: Deliveries;
  /** A received message is invisible for this long. */
  readonly visibilityMs: number;
  /** Receives before a message is moved to `deadLetters`; without them it is simply dropped then. */
  readonly receives: number;
  readonly deadLetters?: VirtualQueue;
  /** Resolves true when the message was handled and may go; rejects when its consumer died. */
  readonly consume: (message: Received) => Promise<boolean>;
}

interface Message extends Received {
  receives: number;
  cancel: () => void;
}

/** A standard queue and its mapping to a function: visibility, delays, redelivery, dead letters. */
export class VirtualQueue {
  readonly #options: QueueOptions;
  readonly #messages = new Map<string, Message>();
  #serial = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  send(body: string, delaySeconds = 0): void {
    for (const extra of this.#options.deliveries()) {
      const id = `${this.#options.name}-${++this.#serial}`;
      const message: Message = { id, body, receives: 0, cancel: () => {} };
      this.#messages.set(id, message);
      this.#showAfter(message, delaySeconds * 1000 + extra);
    }
  }

  /** ChangeMessageVisibility, counted from now; of a message that is gone it does nothing. */
  hide(id: string, seconds: number): void {
    const message = this.#messages.get(id);
    if (message) this.#showAfter(message, seconds * 1000);
  }

  #showAfter(message: Message, ms: number): void {
    message.cancel();
    message.cancel = this.#options.clock.after(ms, () => this.#receive(message));
  }

  #receive(message: Message): void {
    const { receives, deadLetters, visibilityMs, consume } = this.#options;
    if (message.receives >= receives) {
      this.#messages.delete(message.id);
      deadLetters?.send(message.body);
      return;
    }
    message.receives++;
    this.#showAfter(message, visibilityMs);
    void consume({ id: message.id, body: message.body }).then(
      (handled) => handled && this.#remove(message),
      () => {},
    );
  }

  #remove(message: Message): void {
    message.cancel();
    this.#messages.delete(message.id);
  }
}
