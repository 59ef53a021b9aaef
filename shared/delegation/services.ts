import type { A2AClient } from '../client/index.ts';
import type { Registry, RemoteAgent } from '../registry/index.ts';
import type { RunMessage, WorkQueue } from '../runtime/ports.ts';
import type { StateServices, TaskServices } from '../tasks/services.ts';

/** Wakes what a dependency has to do next; ids only (design §4). */
export interface InboxMessage {
  readonly task: string;
  readonly dependency: string;
}

export interface InboxServices extends StateServices {
  readonly inboxQueue: WorkQueue<InboxMessage>;
}

export interface ReconcilerServices extends TaskServices, InboxServices {
  readonly registry: Registry;
  readonly runQueue: WorkQueue<RunMessage>;
  /** A client for an agent, with its credential; it is the only thing here that leaves the gateway. */
  readonly clientOf: (agent: RemoteAgent) => Promise<A2AClient>;
  /** Public base URL of this gateway, without a trailing slash; absent: nobody can call back. */
  readonly publicUrl?: string | undefined;
}
