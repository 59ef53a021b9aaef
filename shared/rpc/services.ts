import type { CardPublisher } from '../cards/index.ts';
import type { Registry } from '../registry/index.ts';
import type { RunMessage, WorkQueue } from '../runtime/ports.ts';
import type { TaskServices } from '../tasks/services.ts';

export interface RpcServices extends TaskServices {
  readonly registry: Registry;
  readonly runQueue: WorkQueue<RunMessage>;
  readonly cards: CardPublisher;
  /** The local host's `--allow-loopback`: webhooks on this machine, http among them. */
  readonly loopbackWebhooks?: boolean;
}

/** An HTTP request as the RPC endpoint sees it; header names in lower case. */
export interface RpcHttpRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  /** Of the gateway as the caller reaches it, for URLs in cards. */
  readonly baseUrl: string;
}

/** A stream's text is flushed piece by piece. */
export interface RpcHttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<string>;
}
