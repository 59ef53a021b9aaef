import middy from '@middy/core';
import { countApprovals } from '../../shared/ceilings/approvals.ts';
import { sweepDependencies } from '../../shared/delegation/wake.ts';
import { sweepOutbox } from '../../shared/push/sweep.ts';
import { sweep } from '../../shared/runs/recover.ts';
import { composeState, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import { composeInboxQueue, composeOutboxQueue, composeRunQueue } from '../../shared/runtime/queues.ts';
import { rolesOf } from '../../shared/runtime/roles.ts';

/** What is left for the next minute when a sweep takes too long, ms. */
const MARGIN_MS = 5_000;

/** Goes through the due index every minute (design §4, time; P6). */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const roles = rolesOf(environment);
  const state = composeState(environment, 'sweeper', seams);
  const services = {
    ...state,
    runQueue: composeRunQueue(environment, seams),
    outboxQueue: composeOutboxQueue(environment, seams),
    inboxQueue: composeInboxQueue(environment, seams),
  };
  return middy<unknown, void>().handler(async (_event, context) => {
    const until = services.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS;
    const swept = await sweep(services, until);
    services.metrics.count('DueLooked', swept.looked);
    services.metrics.count('DueQueued', swept.queued);
    services.metrics.count('DueEnded', swept.ended);
    services.metrics.count('DuePurged', swept.purged);
    services.metrics.count('ApprovalsWaiting', await countApprovals(services));
    if (roles.server) await sweepOutbox(services, until);
    if (roles.client) await sweepDependencies(services, until);
    state.flush();
  });
}
