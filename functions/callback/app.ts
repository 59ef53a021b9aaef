import middy from '@middy/core';
import { acceptCallback } from '../../shared/delegation/callback.ts';
import { nameOf } from '../../shared/runs/recover.ts';
import { composeState, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { composeInboxQueue } from '../../shared/runtime/queues.ts';

/** What is read of an API Gateway REST proxy event. */
export interface CallbackEvent {
  readonly pathParameters?: Readonly<Record<string, string | undefined>> | null;
  readonly headers?: Readonly<Record<string, string | undefined>> | null;
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
}

export interface ProxyAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Takes the callbacks of remote agents (design §8). It opens no content and has no key. */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const state = composeState(environment, 'callback', seams);
  const services = { ...state, inboxQueue: composeInboxQueue(environment, seams) };
  return middy<CallbackEvent, ProxyAnswer>()
    .onError((request) => {
      services.log.error('a callback failed', { error: nameOf(request.error) });
      request.response = answer(503, { 'Retry-After': '1' });
    })
    .handler(async (event) => {
      const id = event.pathParameters?.['registration'] ?? '';
      const body = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8');
      const accepted = await acceptCallback(services, id, header(event, 'authorization'), body);
      state.flush();
      switch (accepted.status) {
        case 200:
          return answer(200);
        case 401:
          return answer(401, { 'WWW-Authenticate': 'Bearer realm="sealpost"' });
        case 413:
          return answer(413);
        case 429:
          return answer(429, { 'Retry-After': String(accepted.retryAfterSeconds) });
      }
    });
}

function answer(statusCode: number, headers: Readonly<Record<string, string>> = {}): ProxyAnswer {
  return {
    statusCode,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers },
    body: '{}',
  };
}

function header(event: CallbackEvent, name: string): string | undefined {
  return Object.entries(event.headers ?? {}).find(([key]) => key.toLowerCase() === name)?.[1];
}
