import type { PinnedKey } from '../../shared/client/index.ts';
import type { Python } from './python.ts';

/** An agent of the Python SDK. What it does with a message stands in `python/server.py`. */
export interface PythonAgent {
  readonly cardUrl: string;
  /** The bearer that it asks of whoever calls it. */
  readonly token: string;
  /** What its card is signed with. */
  readonly key: PinnedKey;
  /** Its requests so far, the card's too. */
  seen(): Promise<readonly SeenRequest[]>;
  proceed(): Promise<void>;
  /** Drops the connections that are being answered. Resolves with their number. */
  cut(): Promise<number>;
}

export interface SeenRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly method: string | null;
  readonly params: Readonly<Record<string, unknown>> | null;
}

export async function startPythonAgent(
  python: Python,
  options: { readonly callsBack?: boolean; readonly card?: object } = {},
): Promise<PythonAgent> {
  const { agent, cardUrl, token, key } = await python.ask<
    Pick<PythonAgent, 'cardUrl' | 'token' | 'key'> & { readonly agent: number }
  >('start', { calls_back: options.callsBack ?? true, card: options.card ?? {} });
  return {
    cardUrl,
    token,
    key,
    seen: () => python.ask('seen', { agent }),
    proceed: () => python.ask('proceed', { agent }),
    cut: () => python.ask('cut', { agent }),
  };
}
