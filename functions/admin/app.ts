import middy from '@middy/core';
import { createAdmin, type TaskOperations } from '../../shared/admin/index.ts';
import { createSecretBox } from '../../shared/registry/index.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import type { Clock, KeyService, Log, Random } from '../../shared/runtime/ports.ts';
import { systemClock, systemRandom } from '../../shared/runtime/system.ts';
import { createKeyring, createSealer } from '../../shared/sealing/index.ts';
import { createKmsClient, createKmsKeyService } from '../../shared/sealing/keys-kms.ts';
import { createDynamoClient, tableNames } from '../../shared/storage/client-dynamodb.ts';
import type { Store } from '../../shared/storage/index.ts';
import { createDynamoStore } from '../../shared/storage/store-dynamodb.ts';
import { createLog } from '../../shared/telemetry/log-powertools.ts';
import { type AdminEvent, createRoute, type ProxyAnswer, refuse } from './routes.ts';

/** What tests put in the place of the adapters. */
export interface AdminSeams {
  readonly store?: Store;
  readonly keyService?: KeyService;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly tasks?: TaskOperations;
  readonly log?: Log;
}

/**
 * The administrator's route as a Lambda handler that answers with a proxy result (not in streaming form). Throws when
 * the environment is incomplete. No request fails: what goes wrong is answered as JSON.
 */
export function createHandler(
  variables: Readonly<Record<string, string | undefined>>,
  seams: AdminSeams = {},
) {
  const environment = readEnvironment(variables);
  const log = seams.log ?? createLog('admin');
  const clock = seams.clock ?? systemClock;
  const random = seams.random ?? systemRandom;
  const store =
    seams.store ??
    createDynamoStore({
      client: createDynamoClient(environment),
      tables: tableNames(environment),
      clock,
      random,
    });
  const dataKey = environment.SEALPOST_DATA_KEY;
  if (!seams.keyService && !dataKey)
    throw new Error('This environment variable is missing: SEALPOST_DATA_KEY');
  const keyService = seams.keyService ?? createKmsKeyService(createKmsClient(environment), dataKey ?? '');
  const keyring = createKeyring({ store, keyService, clock });
  const secrets = createSecretBox(createSealer({ keyring, random }));
  const admin = createAdmin({ store, clock, random, secrets, log, tasks: seams.tasks ?? withoutTasks });
  return middy<AdminEvent, ProxyAnswer>()
    .onError((request) => {
      request.response = answerFault(request.error, request.event, log);
    })
    .handler(createRoute(admin));
}

/** Names only in the log: the message of a client library may hold what was sent (P10). */
function answerFault(error: unknown, event: AdminEvent, log: Log): ProxyAnswer {
  const { name, tag } = (error ?? {}) as { readonly name?: string; readonly tag?: string };
  const request = event.requestContext?.requestId;
  log.error('an administrator was not served', { request, error: tag ?? name });
  return refuse({
    code: 'INTERNAL',
    message: `the command failed for a reason of the gateway's own; its log has more under request ${request}`,
    status: 500,
  });
}

/** Stands in until `shared/tasks` has its operators' side: each of its operations is answered as a fault. */
const unavailable = async (): Promise<never> => {
  throw Object.assign(new Error('task operations are not built in'), { tag: 'TasksMissing' });
};
const withoutTasks: TaskOperations = { show: unavailable, rebuild: unavailable, repair: unavailable };
