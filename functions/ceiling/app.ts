import middy from '@middy/core';
import { runCeilingJob } from '../../shared/ceilings/job.ts';
import { composeTasks, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';

const MARGIN_MS = 20_000;

/** Goes on with an administrator's tightening, every minute, until it is done (design §7). */
export function createHandler(variables: Readonly<Record<string, string | undefined>>, seams: Seams = {}) {
  const environment = readEnvironment(variables);
  const tasks = composeTasks(environment, 'ceiling', seams);
  return middy<unknown, void>().handler(async (_event, context) => {
    const job = await runCeilingJob(
      tasks,
      tasks.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS,
    );
    if (job && job.doneAt === undefined) tasks.metrics.count('CeilingLooked', job.looked);
    tasks.flush();
  });
}
