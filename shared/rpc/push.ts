import { checkText, REFUSAL_MESSAGE } from '../guard/index.ts';
import {
  type A2AFailure,
  encodePushConfig,
  encodePushConfigList,
  err,
  ok,
  type TaskPushNotificationConfig,
} from '../protocol/index.ts';
import { MAX_CONFIGS } from '../push/formats.ts';
import { createConfig, deleteConfig, isIdentical, listConfigs, placeConfigs } from '../push/manage.ts';
import { auditEntryOfMinute, GATEWAY_ACTOR } from '../registry/audit.ts';
import type { Head } from '../tasks/formats.ts';
import { readPageToken, writePageToken } from '../tasks/page-token.ts';
import { type Answer, type Call, invalid } from './call.ts';
import { readOwn } from './read.ts';
import { checkTenant } from './tenant.ts';

type PushCall =
  | Call<'CreateTaskPushNotificationConfig'>
  | Call<'GetTaskPushNotificationConfig'>
  | Call<'ListTaskPushNotificationConfigs'>
  | Call<'DeleteTaskPushNotificationConfig'>;

const NOT_FOUND: A2AFailure = { kind: 'task-not-found' };
const tooMany = (field: string, who: string): A2AFailure => ({
  kind: 'invalid-params',
  reason: 'TOO_MANY_PUSH_CONFIGS',
  violations: [{ field, description: `${who} ${MAX_CONFIGS} push configs, as many as a task may have` }],
});
const ID_TAKEN = 'names a push config that differs; delete it first';

/** CreateTaskPushNotificationConfig (design §6). The fence is the task's revision; a terminal task gets `-32004`. */
export async function createPushConfig(call: Call<'CreateTaskPushNotificationConfig'>): Promise<Answer> {
  const { services, client, params } = call;
  const taskId = params.taskId ?? '';
  const refusal = (await refusalOfCall(call, taskId)) ?? (await refusalOfWebhook(call, params, ''));
  if (refusal) return err(refusal);
  const created = await createConfig(services, client.id, { ...params, taskId });
  switch (created.kind) {
    case 'created':
      return ok(encodePushConfig(created.config));
    case 'unknown':
      return err(NOT_FOUND);
    case 'terminal':
      return err({ kind: 'unsupported-operation', reason: 'TASK_TERMINAL' });
    case 'too-many':
      return err(tooMany('taskId', 'has'));
    case 'id-taken':
      return err(invalid('id', ID_TAKEN));
  }
}

/** An unknown config of an own task is answered like an unknown task (decisions, push config). */
export async function getPushConfig(call: Call<'GetTaskPushNotificationConfig'>): Promise<Answer> {
  const refusal = await refusalOfCall(call, call.params.taskId);
  if (refusal) return err(refusal);
  const configs = await listConfigs(call.services, call.client.id, call.params.taskId);
  const found = configs?.find(({ id }) => id === call.params.id);
  return found ? ok(encodePushConfig(found)) : err(NOT_FOUND);
}

export async function listPushConfigs(call: Call<'ListTaskPushNotificationConfigs'>): Promise<Answer> {
  const { services, client, params } = call;
  const refusal = await refusalOfCall(call, params.taskId);
  if (refusal) return err(refusal);
  const configs = await placeConfigs(services, client.id, params.taskId);
  if (!configs) return err(NOT_FOUND);
  const scope = { client: client.id, filters: { configsOf: params.taskId } };
  let left = configs;
  if (params.pageToken) {
    const position = await readPageToken(services, scope, params.pageToken);
    if (!position) {
      return err({
        kind: 'invalid-params',
        reason: 'PAGE_TOKEN_INVALID',
        violations: [{ field: 'pageToken', description: 'is not valid for this caller and this task' }],
      });
    }
    left = configs.filter(({ place }) => place > position.order);
  }
  const page = left.slice(0, params.pageSize || MAX_CONFIGS);
  const last = page.at(-1);
  const nextPageToken =
    last && page.length < left.length
      ? await writePageToken(services, scope, {
          order: last.place,
          task: params.taskId,
          total: configs.length,
        })
      : '';
  return ok(
    encodePushConfigList({
      configs: page.map(({ shown }) => shown),
      ...(nextPageToken ? { nextPageToken } : {}),
    }),
  );
}

export async function deletePushConfig(call: Call<'DeleteTaskPushNotificationConfig'>): Promise<Answer> {
  const { services, client, params } = call;
  const refusal = await refusalOfCall(call, params.taskId);
  if (refusal) return err(refusal);
  const deleted = await deleteConfig(services, client.id, params.taskId, params.id);
  return deleted ? ok({}) : err(NOT_FOUND);
}

/** Capability, tenant, rate, ownership: the same for all four. */
async function refusalOfCall(call: PushCall, task: string): Promise<A2AFailure | undefined> {
  const { services, client, params, settings } = call;
  if (!settings.pushNotifications) return { kind: 'push-not-supported' };
  const refusal = (await checkTenant(services, client, params.tenant)) ?? (await call.rate());
  if (refusal) return refusal;
  const own = await readOwn(services, client.id, task, params.tenant);
  return own.ok ? undefined : own.error;
}

/**
 * Whether a webhook may be registered: the guard's rule 1, text only, no look-up in a request path. The caller learns
 * one generic sentence; which rule it was goes to log and audit (guard, rule 7), there once a minute at most for a client
 * and a rule.
 */
export async function refusalOfWebhook(
  call: Pick<Call<'SendMessage'>, 'services' | 'client' | 'settings' | 'baseUrl'>,
  wanted: TaskPushNotificationConfig,
  path: string,
): Promise<A2AFailure | undefined> {
  const { services, client, settings, baseUrl } = call;
  if (!settings.pushNotifications) return { kind: 'push-not-supported' };
  const verdict = checkText(wanted.url, {
    ownHosts: [new URL(baseUrl).host],
    allowedPorts: client.webhookPorts ?? [],
    loopback: services.loopbackWebhooks ?? false,
    ...(client.webhookHosts ? { allowHosts: client.webhookHosts } : {}),
  });
  if (verdict.verdict === 'allow') return undefined;
  services.metrics.count('GuardRefused', 1, { rule: verdict.rule });
  services.log.warn('a webhook was refused at its registration', { client: client.id, rule: verdict.rule });
  const deed = { actor: GATEWAY_ACTOR, operation: 'push.refuse' };
  const facts = { kind: 'client', id: client.id, rule: verdict.rule };
  await services.store.write(auditEntryOfMinute(services, deed, facts));
  return invalid(`${path}url`, REFUSAL_MESSAGE);
}

/**
 * Whether a config that comes with a follow-up message fits beside those of its task, or `stands` there already. One that
 * was stopped makes room, as where it is created anew: it would stay silent for ever.
 */
export async function refusalOfConfig(
  call: Pick<Call<'SendMessage'>, 'services' | 'client'>,
  head: Head,
  wanted: TaskPushNotificationConfig | undefined,
): Promise<A2AFailure | 'stands' | undefined> {
  if (!wanted) return undefined;
  const configs = (await placeConfigs(call.services, call.client.id, head.task)) ?? [];
  const same = wanted.id ? configs.find(({ shown }) => shown.id === wanted.id) : undefined;
  if (same) {
    const field = 'configuration.taskPushNotificationConfig.id';
    if (!isIdentical(wanted, same.shown)) return invalid(field, ID_TAKEN);
    if (!same.stopped) return 'stands';
    await deleteConfig(call.services, call.client.id, head.task, wanted.id!);
    return undefined;
  }
  return configs.length >= MAX_CONFIGS
    ? tooMany('configuration.taskPushNotificationConfig', 'is one too many: the task has')
    : undefined;
}
