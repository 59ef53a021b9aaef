import { randomUUID } from 'node:crypto';
import middy from '@middy/core';
import { executionModeStreamifyResponse } from '@middy/core/StreamifyResponse';
import { type CardSigner, createCardPublisher } from '../../shared/cards/index.ts';
import { createKmsCardSigner } from '../../shared/cards/signer-kms.ts';
import { createRegistry, type Registry } from '../../shared/registry/index.ts';
import { type Environment, readEnvironment } from '../../shared/runtime/environment.ts';
import type { Log } from '../../shared/runtime/ports.ts';
import { systemClock, systemRandom } from '../../shared/runtime/system.ts';
import { createKmsClient } from '../../shared/sealing/keys-kms.ts';
import { createDynamoClient, tableNames } from '../../shared/storage/client-dynamodb.ts';
import { createDynamoStore } from '../../shared/storage/store-dynamodb.ts';
import { createLog } from '../../shared/telemetry/log-powertools.ts';
import { type CardAnswer, type CardEvent, createRoutes, failure } from './routes.ts';

/** What tests put in the place of the adapters. */
export interface CardSeams {
  readonly registry?: Pick<Registry, 'settings' | 'profiles'>;
  readonly signer?: CardSigner;
  readonly log?: Log;
}

/**
 * The open card routes as a streaming Lambda handler; the global `awslambda` must exist when it is built. Throws when
 * the environment is incomplete. No request fails: what goes wrong is answered as JSON.
 */
export function createHandler(
  variables: Readonly<Record<string, string | undefined>>,
  seams: CardSeams = {},
) {
  const environment = readEnvironment(variables);
  const log = seams.log ?? createLog('card');
  const signer = seams.signer ?? createSigner(environment);
  const routes = createRoutes({
    registry: seams.registry ?? createRegistry({ store: createStore(environment), clock: systemClock, log }),
    publisher: createCardPublisher(signer),
    signer,
    publicUrl: environment.SEALPOST_PUBLIC_URL,
  });
  return middy<CardEvent, CardAnswer>({ executionMode: executionModeStreamifyResponse })
    .onError((request) => {
      request.response = answerFailure(request.error, log);
    })
    .handler(routes);
}

interface Failure {
  readonly name?: string;
  readonly tag?: string;
  readonly field?: string;
  readonly cause?: { readonly name?: string };
}

/** An outage of the store or of the key passes; anything else is ours, and an incomplete card the administrator's. */
function answerFailure(error: unknown, log: Log): CardAnswer {
  const { name, tag, field, cause } = (error ?? {}) as Failure;
  const correlation = randomUUID();
  // Names only: a message of a client library may hold an ARN (P10).
  log.error('a card could not be served', { correlation, error: tag ?? name, field, cause: cause?.name });
  return tag === 'StoreUnavailable' || tag === 'SigningUnavailable'
    ? failure(503, 'UNAVAILABLE', `The card cannot be served at the moment (${correlation}).`)
    : failure(500, 'INTERNAL', `The card cannot be served (${correlation}).`);
}

function createSigner(environment: Environment): CardSigner | undefined {
  const key = environment.SEALPOST_CARD_KEY;
  return key === undefined ? undefined : createKmsCardSigner(createKmsClient(environment), key);
}

function createStore(environment: Environment) {
  const client = createDynamoClient(environment);
  const tables = tableNames(environment);
  return createDynamoStore({ client, tables, clock: systemClock, random: systemRandom });
}
