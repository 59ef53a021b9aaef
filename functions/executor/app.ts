import middy from '@middy/core';
import { createGuard, guardedFetch } from '../../shared/guard/index.ts';
import { createProviderAdapters } from '../../shared/providers/adapter.ts';
import { createLambdaClient } from '../../shared/providers/function-lambda.ts';
import { createSecretBox } from '../../shared/registry/index.ts';
import { type ExecutorServices, executeRun } from '../../shared/runs/execute.ts';
import { nameOf } from '../../shared/runs/recover.ts';
import { composeTasks, required, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { type BatchAnswer, eachTask, type QueueEvent } from '../../shared/runtime/queue-event.ts';
import { createSqsClient, keepInvisible } from '../../shared/runtime/queue-sqs.ts';
import { composeInboxQueue } from '../../shared/runtime/queues.ts';

/** The run is given back this long before the platform would stop the function, ms. */
const MARGIN_MS = 15_000;
const MAX_ANSWER_BYTES = 8_000_000;

/** Takes runs from the run queue to their end (design §5, execute). */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const tasks = composeTasks(environment, 'executor', seams);
  const sqs = createSqsClient(environment);
  const url = required(environment.SEALPOST_RUN_QUEUE, 'SEALPOST_RUN_QUEUE');
  const secrets = createSecretBox(tasks.sealer);
  const guard = createGuard({ ownHosts: ownHosts(environment.SEALPOST_PUBLIC_URL), ...seams.outbound });
  const services: ExecutorServices = {
    ...tasks,
    inboxQueue: composeInboxQueue(environment, seams),
    adapterFor: createProviderAdapters({
      lambda: createLambdaClient(environment),
      fetchFor: (provider) =>
        guardedFetch(guard, {
          policy: {
            purpose: 'provider',
            ...(provider.kind === 'openai' ? { trustedHosts: provider.trustedHosts } : {}),
          },
          headersDeadlineMs: provider.timeoutSeconds * 1000,
          idleMs: provider.timeoutSeconds * 1000,
          maxResponseBytes: MAX_ANSWER_BYTES,
        }),
      openSecret: (provider, secret) => secrets.open(provider, secret),
      noteFlaw: (flaw) => tasks.log.warn('an answer of a function does not fit its contract', flaw),
      environment,
    }),
  };
  return middy<QueueEvent, BatchAnswer>().handler(async (event, context) => {
    const until = services.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS;
    const answer = await eachTask(
      event,
      async (task, record) => {
        const hide = (seconds: number) => keepInvisible(sqs, url, record.receiptHandle, seconds);
        const executed = await executeRun(services, task, { extend: hide }, until);
        if (executed.kind === 'done') return 'done';
        await hide(executed.delaySeconds).catch(() => {});
        return 'again';
      },
      (task, error) => services.log.error('a run could not be taken', { task, error: nameOf(error) }),
    );
    tasks.flush();
    return answer;
  });
}

function ownHosts(publicUrl: string | undefined): string[] {
  return publicUrl === undefined ? [] : [new URL(publicUrl).host];
}
