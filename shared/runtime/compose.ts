import { createPrivacy } from '../ceilings/privacy.ts';
import type { InboxMessage } from '../delegation/services.ts';
import type { GuardOptions } from '../guard/index.ts';
import type { OutboxMessage } from '../push/services.ts';
import { createPatternRedactor, type Redactor, redactorByMethod } from '../redaction/index.ts';
import { createComprehendClient, createComprehendRedactor } from '../redaction/redactor-comprehend.ts';
import { createRegistry, type Registry } from '../registry/index.ts';
import { createKeyring, createSealer } from '../sealing/index.ts';
import { createKmsClient, createKmsKeyService } from '../sealing/keys-kms.ts';
import { withoutTables } from '../storage/absent-tables.ts';
import { createDynamoClient, tableNames } from '../storage/client-dynamodb.ts';
import type { Store } from '../storage/port.ts';
import { createDynamoStore } from '../storage/store-dynamodb.ts';
import { type TableName, tables } from '../storage/tables.ts';
import type { StateServices, TaskServices } from '../tasks/services.ts';
import { createLog } from '../telemetry/log-powertools.ts';
import { createMetrics } from '../telemetry/metrics-powertools.ts';
import type { Environment } from './environment.ts';
import type { Clock, KeyService, Log, Metrics, Random, RunMessage, WorkQueue } from './ports.ts';
import { hasTable, rolesOf } from './roles.ts';
import { systemClock, systemRandom } from './system.ts';

/**
 * What tests and the local host put in the place of the adapters. Only code can: no environment variable reaches any
 * of these (design §9).
 */
export interface Seams {
  readonly store?: Store;
  readonly keyService?: KeyService;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  readonly metrics?: Metrics & { flush?(): void };
  readonly runQueue?: WorkQueue<RunMessage>;
  readonly projectionQueue?: WorkQueue<RunMessage>;
  readonly outboxQueue?: WorkQueue<OutboxMessage>;
  readonly inboxQueue?: WorkQueue<InboxMessage>;
  readonly redactor?: Redactor;
  /** The local host's `--allow-loopback`, and a resolver or a CA of a test. */
  readonly outbound?: Omit<GuardOptions, 'ownHosts'>;
}

export interface Flushing {
  /** Writes the metrics gathered by this invocation. */
  flush(): void;
}

/** For functions that open no content: they have no key service, so they could not (P10). */
export function composeState(environment: Environment, name: string, seams: Seams): StateServices & Flushing {
  const clock = seams.clock ?? systemClock;
  const random = seams.random ?? systemRandom;
  const metrics = seams.metrics ?? createMetrics(name);
  const store =
    seams.store ??
    createDynamoStore({
      client: createDynamoClient(environment),
      tables: tableNames(environment),
      clock,
      random,
    });
  const roles = rolesOf(environment);
  const absent = (Object.keys(tables) as TableName[]).filter((table) => !hasTable(roles, table));
  return {
    clock,
    random,
    metrics,
    log: seams.log ?? createLog(name),
    store: withoutTables(store, absent),
    flush: () => metrics.flush?.(),
  };
}

/** `agents`: whether the function has to do with remote agents; without the client role none has. */
export function composeTasks(
  environment: Environment,
  name: string,
  seams: Seams,
  { agents }: { readonly agents: boolean } = { agents: true },
): TaskServices & Flushing & { readonly registry: Registry } {
  const state = composeState(environment, name, seams);
  const keyService =
    seams.keyService ??
    createKmsKeyService(
      createKmsClient(environment),
      required(environment.SEALPOST_DATA_KEY, 'SEALPOST_DATA_KEY'),
    );
  const keyring = createKeyring({ store: state.store, keyService, clock: state.clock });
  const registry = createRegistry({
    store: state.store,
    clock: state.clock,
    log: state.log,
    agents: agents && rolesOf(environment).client,
  });
  return {
    ...state,
    keyring,
    registry,
    sealer: createSealer({ keyring, random: state.random }),
    privacy: createPrivacy(registry, seams.redactor ?? redactorOf(environment)),
  };
}

/** Patterns, and Amazon Comprehend for profiles that ask for it. */
function redactorOf(environment: Environment): Redactor {
  return redactorByMethod({
    pattern: createPatternRedactor(),
    comprehend: createComprehendRedactor(createComprehendClient(environment)),
  });
}

/** A variable that this function cannot do without. */
export function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new Error(`This environment variable is missing: ${name}`);
  return value;
}
