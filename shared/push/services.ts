import type { Guard, WebhookPolicy } from '../guard/index.ts';
import type { WorkQueue } from '../runtime/ports.ts';
import type { StateServices, TaskServices } from '../tasks/services.ts';

/** Wakes the delivery of a config: ids, and nothing of what is delivered (design §4). */
export interface OutboxMessage {
  readonly task: string;
  readonly config: string;
  /** An operator's retry instead of the config's own order. */
  readonly retry?: { readonly id: string; readonly revision: number };
  /** The due time that this message waits for, epoch ms; see `wake`. */
  readonly due?: number;
}

export interface OutboxServices extends StateServices {
  readonly outboxQueue: WorkQueue<OutboxMessage>;
}

export interface DeliveryServices extends TaskServices, OutboxServices {
  readonly guard: Guard;
  /** What an operator allows this client's webhooks; `undefined`: the client is disabled. */
  readonly policyOf: (client: string) => Promise<WebhookPolicy | undefined>;
}
