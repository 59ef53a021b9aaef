import * as z from 'zod';
import { auditEntry } from '../registry/index.ts';
import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import { isTombstone } from '../tasks/formats.ts';
import type { AdminFailure } from './failures.ts';
import { done, failed, notFound, type OperationParts, type Operations, operation } from './operation.ts';

/**
 * What operators may do with webhooks; `shared/push` implements it. Answers are plain JSON: ids, states, times, classes
 * and status codes; no URL, no body, no credential (P10). `audit` is part of the transaction that does the deed.
 */
export interface PushOperations {
  /** Paused and stopped configs, newest first, at most 200 of a state. */
  listHalted(states: readonly HaltedState[]): Promise<readonly PushConfigShown[]>;
  listOfTask(task: string): Promise<readonly PushConfigShown[]>;
  show(task: string, config: string): Promise<object | undefined>;
  resume(task: string, config: string, audit: Action): Promise<'resumed' | 'active' | 'stopped' | 'unknown'>;
  retry(
    task: string,
    config: string,
    revision: number,
    audit: Action,
  ): Promise<
    | { readonly job: string; readonly deadline: string }
    | 'unknown'
    | 'open'
    | 'delivered'
    | 'paused'
    | 'stopped'
  >;
}

export type HaltedState = 'paused' | 'stopped';
export interface PushConfigShown {
  readonly state: string;
}

const HALTED: readonly HaltedState[] = ['paused', 'stopped'];
const MOST_REVISION = 99_999_999;

const taskId = z.string().min(1).max(128);
const listing = z.strictObject({ state: z.exactOptional(z.enum(HALTED)), task: z.exactOptional(taskId) });
const configName = z
  .string()
  .max(300)
  .regex(/^[^/]{1,128}\/[A-Za-z0-9]{1,64}$/, {
    error: 'must be a config as push list names it, <task>/<config>',
  })
  .transform((name) => {
    const [task, config] = name.split('/') as [string, string];
    return { name, task, config };
  });
const jobName = z
  .string()
  .max(300)
  .regex(/^[^/]{1,128}\/[A-Za-z0-9]{1,64}\/[0-9]{1,8}$/, {
    error:
      'must be a job as push show names it, <task>/<config>/<revision>; of a retry, the job that it retries',
  })
  .transform((name) => {
    const [task, config, revision] = name.split('/') as [string, string, string];
    return { name, task, config, revision: Math.min(MOST_REVISION, Number(revision)) };
  });

export function pushOperations(parts: OperationParts): Operations {
  const { push, store } = parts;
  const isThere = async (task: string) => {
    const item = await store.get('state', keys.head(task), { consistent: true });
    return item !== undefined && !isTombstone(item);
  };
  return {
    'push.list': operation(listing, async ({ state, task }) => {
      const configs =
        task === undefined ? await push.listHalted(state ? [state] : HALTED) : await push.listOfTask(task);
      if (task !== undefined && configs.length === 0 && !(await isThere(task)))
        return failed(notFound('task', task));
      return done({ configs: configs.filter((config) => state === undefined || config.state === state) });
    }),

    'push.show': operation(z.strictObject({ config: configName }), async ({ config }) => {
      const shown = await push.show(config.task, config.config);
      return shown ? done(shown) : failed(notFound('push config', config.name));
    }),

    'push.resume': operation(z.strictObject({ config: configName }), async ({ config }, deed) => {
      const audit = auditEntry(parts, deed, { kind: 'push', id: config.name });
      const resumed = await push.resume(config.task, config.config, audit);
      switch (resumed) {
        case 'resumed':
          return done({ config: config.name, state: 'active' });
        case 'active':
          return failed(refused('config: is active already, there is nothing to resume'));
        case 'stopped':
          return failed(
            refused('config: was stopped, which is for good; the client has to register its webhook again'),
          );
        case 'unknown':
          return failed(notFound('push config', config.name));
      }
    }),

    'push.retry': operation(z.strictObject({ job: jobName }), async ({ job }, deed) => {
      const audit = auditEntry(parts, deed, { kind: 'push', id: job.name });
      const retried = await push.retry(job.task, job.config, job.revision, audit);
      switch (retried) {
        case 'unknown':
          return failed(notFound('push job', job.name));
        case 'open':
          return failed(refused('job: has not ended, it is delivered or given up by itself', 'job'));
        case 'delivered':
          return failed(refused('job: was delivered, there is nothing to retry', 'job'));
        case 'paused':
          return failed(refused('job: its config is paused; resume that first', 'job'));
        case 'stopped':
          return failed(
            refused('job: its config was stopped, and a stopped config gets nothing more', 'job'),
          );
        default:
          return done(retried);
      }
    }),
  };
}

function refused(message: string, field = 'config'): AdminFailure {
  return { kind: 'refused', field, message };
}
