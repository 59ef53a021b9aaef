import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import type { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { FunctionName } from '../bundle.ts';
import { Administration } from './administration.ts';
import { Alarms } from './alarms.ts';
import { Ceilings } from './ceilings.ts';
import { ClientRole } from './client-role.ts';
import { Dashboard } from './dashboard.ts';
import type { Foundation } from './gateway-function.ts';
import { HttpApi } from './http-api.ts';
import type { Parameters } from './parameters.ts';
import { Projection } from './projection.ts';
import { Push } from './push.ts';
import { Runs } from './runs.ts';
import { SealingKeys } from './sealing-keys.ts';
import { ServerRole } from './server-role.ts';
import { Tables } from './tables.ts';
import { Upkeep } from './upkeep.ts';
import { outputQueue } from './work-queue.ts';

/** Of `shared/telemetry/metrics-powertools.ts`; importing it would load the metrics library to synthesise. */
const METRICS_NAMESPACE = 'Sealpost';

export interface SealpostProps extends StackProps {
  readonly parameters: Parameters;
  readonly code: (name: FunctionName) => Code;
}

/** The gateway (design §3), for any account and Region. */
export class SealpostStack extends Stack {
  constructor(scope: Construct, id: string, props: SealpostProps) {
    super(scope, id, { description: 'Sealpost, an Agent2Agent (A2A) 1.0 gateway', ...props });
    const { parameters, code } = props;
    const { retain, roles } = parameters;

    const alarms = new Alarms(this, 'Alarms', parameters);
    const tables = new Tables(this, 'Tables', { retain, alarms, roles });
    const keys = new SealingKeys(this, 'SealingKeys', { retain });
    const environment: Foundation['environment'] = {
      ...tables.environment,
      ...(parameters.domainName === undefined
        ? {}
        : { SEALPOST_PUBLIC_URL: `https://${parameters.domainName}` }),
    };
    const foundation: Foundation = {
      parameters,
      alarms,
      code,
      environment,
      metricsNamespace: METRICS_NAMESPACE,
    };

    const api = new HttpApi(this, 'HttpApi', foundation);
    const runs = new Runs(this, 'Runs', foundation, { tables, keys });
    const runQueue = runs.queue;
    const push = roles.server ? new Push(this, 'Push', foundation, { tables, keys, api }) : undefined;
    const server = roles.server
      ? new ServerRole(this, 'ServerRole', foundation, { tables, keys, runQueue, api })
      : undefined;
    const client = roles.client
      ? new ClientRole(this, 'ClientRole', foundation, {
          tables,
          keys,
          runQueue,
          api,
          executor: runs.executor,
        })
      : undefined;
    const queues = { runQueue, outboxQueue: push?.queue, inboxQueue: client?.queue };
    const projection = new Projection(this, 'Projection', foundation, { tables, ...queues });
    const upkeep = new Upkeep(this, 'Upkeep', foundation, { tables, ...queues });
    const ceilings = new Ceilings(this, 'Ceilings', foundation, { tables, keys });
    const administration = new Administration(this, 'Administration', foundation, {
      tables,
      keys,
      ...queues,
      api,
    });

    new Dashboard(this, 'Dashboard', {
      alarms,
      api,
      roles,
      functions: [
        ...(server ? [server.rpc, server.card] : []),
        runs.executor,
        runs.deadLetter,
        projection.projector,
        projection.retry,
        upkeep.sweeper,
        ceilings.ceiling,
        ...(push ? [push.delivery, push.deadLetter] : []),
        ...(client ? [client.callback, client.reconciler] : []),
        administration.admin,
      ],
      projector: projection.projector,
      queues: [runQueue, projection.queue, ...(push ? [push.queue] : []), ...(client ? [client.queue] : [])],
      lost: projection.lost,
      tables,
      keys: [keys.key, tables.key],
      metricsNamespace: METRICS_NAMESPACE,
    });

    api.output(roles);
    tables.output();
    outputQueue(runQueue.queue, 'RunQueueUrl', 'Run queue');
    outputQueue(runQueue.deadLetters, 'RunDeadLettersUrl', 'Dead letters of the run queue');
    const projectionDead = projection.queue.deadLetters;
    outputQueue(projectionDead, 'ProjectionDeadLettersUrl', 'Dead letters of the projection queue');
    if (push) outputQueue(push.queue.deadLetters, 'OutboxDeadLettersUrl', 'Dead letters of the outbox queue');
    if (client)
      outputQueue(client.queue.deadLetters, 'InboxDeadLettersUrl', 'Dead letters of the inbox queue');
    new CfnOutput(this, 'RegionOutput', { value: this.region, description: 'Region' });
    new CfnOutput(this, 'DashboardName', { value: this.stackName, description: 'CloudWatch dashboard' });
  }
}
