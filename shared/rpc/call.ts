import type { A2AFailure, JsonObject, Method, MethodParams, Result } from '../protocol/index.ts';
import type { Client, Settings } from '../registry/index.ts';
import type { RpcServices } from './services.ts';

/** One authenticated, decoded call. */
export interface Call<M extends Method> {
  readonly services: RpcServices;
  readonly client: Client;
  readonly settings: Settings;
  readonly params: MethodParams[M];
  /** URIs named in `A2A-Extensions`. */
  readonly extensions: readonly string[];
  readonly lastEventId: string | undefined;
  readonly baseUrl: string;
  /** Epoch ms at which the function has to have answered. */
  readonly deadline: number;
  /** Resolves to the failure when the client is over its requests a minute; each method asks at its place (design §5). */
  readonly rate: () => Promise<A2AFailure | undefined>;
  /** Whether the caller's credential still holds; asked again while a call waits or streams, a second old at most. */
  readonly permitted: () => Promise<boolean>;
}

export type Answer = Result<JsonObject, A2AFailure>;

/** One piece of a stream: an event with its number, or nothing but a sign of life. */
export type StreamPiece = { readonly id: string; readonly result: JsonObject } | 'keep-alive';
export type StreamAnswer = Result<AsyncIterable<StreamPiece>, A2AFailure>;

export function invalid(field: string, description: string): A2AFailure {
  return { kind: 'invalid-params', violations: [{ field, description }] };
}
