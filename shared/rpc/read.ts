import { extendedCard, extendedProfileCard, GATEWAY_VERSION } from '../cards/index.ts';
import { readCaughtUp } from '../journal/watch.ts';
import {
  type A2AFailure,
  encodeListTasksResponse,
  encodeTask,
  err,
  ok,
  type Result,
} from '../protocol/index.ts';
import { cancelTask } from '../tasks/cancel.ts';
import { isWithdrawn } from '../tasks/content.ts';
import type { Head, View } from '../tasks/formats.ts';
import { listTasks } from '../tasks/list.ts';
import { snapshot } from '../tasks/snapshot.ts';
import type { Answer, Call } from './call.ts';
import type { RpcServices } from './services.ts';
import { checkTenant } from './tenant.ts';

const DEFAULT_PAGE_SIZE = 50;

/** GetTask: committed state, at least as late as any event that was seen (P2). Foreign and unknown look alike (P11). */
export async function getTask(call: Call<'GetTask'>): Promise<Answer> {
  const { services, params } = call;
  const refusal = (await checkTenant(services, call.client, params.tenant)) ?? (await call.rate());
  if (refusal) return err(refusal);
  const own = await readOwn(services, call.client.id, params.id, params.tenant);
  if (!own.ok) return own;
  return taskJson(call, own.value, params.historyLength);
}

/** CancelTask: the task as it was canceled; `-32002` where it had ended. */
export async function cancel(call: Call<'CancelTask'>): Promise<Answer> {
  const { services, client, params } = call;
  const refusal = (await checkTenant(services, client, params.tenant)) ?? (await call.rate());
  if (refusal) return err(refusal);
  const own = await readOwn(services, client.id, params.id, params.tenant);
  if (!own.ok) return own;
  const canceled = await cancelTask(services, client.id, params.id);
  if (canceled.kind === 'unknown') return err({ kind: 'task-not-found' });
  if (canceled.kind === 'terminal') return err({ kind: 'task-not-cancelable' });
  services.metrics.count('TaskEnded', 1, { state: 'TASK_STATE_CANCELED' });
  const seen = await readCaughtUp(services, params.id);
  if (!seen) return err({ kind: 'task-not-found' });
  return taskJson(call, seen, undefined);
}

export async function list(call: Call<'ListTasks'>): Promise<Answer> {
  const { services, client, params, settings } = call;
  const refusal = (await checkTenant(services, client, params.tenant)) ?? (await call.rate());
  if (refusal) return err(refusal);
  const pageSize = params.pageSize ?? DEFAULT_PAGE_SIZE;
  const artifacts = params.includeArtifacts ?? false;
  const listed = await listTasks(services, {
    client: client.id,
    profile: params.tenant,
    context: params.contextId,
    state: params.status,
    since: params.statusTimestampAfter,
    pageSize,
    pageToken: params.pageToken,
    historyLength: params.historyLength,
    artifacts,
    maxHistory: settings.maxHistoryMessages,
  });
  if (listed.kind === 'page-token-invalid') {
    return err({
      kind: 'invalid-params',
      reason: 'PAGE_TOKEN_INVALID',
      violations: [{ field: 'pageToken', description: 'is not valid for this caller and these filters' }],
    });
  }
  const response = {
    tasks: [...listed.tasks],
    nextPageToken: listed.next,
    pageSize,
    totalSize: listed.total,
  };
  return ok(encodeListTasksResponse(response, { includeArtifacts: artifacts }));
}

export async function getExtendedCard(call: Call<'GetExtendedAgentCard'>): Promise<Answer> {
  const { services, client, params, settings, baseUrl } = call;
  const refusal = await checkTenant(services, client, params.tenant);
  if (refusal) return err(refusal);
  if (!settings.extendedCard) return err({ kind: 'unsupported-operation', reason: 'EXTENDED_CARD_DISABLED' });
  const over = await call.rate();
  if (over) return err(over);
  const profiles = await services.registry.profiles();
  const input = {
    settings,
    profiles,
    baseUrl,
    push: settings.pushNotifications,
    version: GATEWAY_VERSION,
    client,
  };
  const card =
    params.tenant === undefined
      ? extendedCard(input)
      : extendedProfileCard({ ...input, profile: params.tenant });
  // Nothing granted: there is no extended card for this caller.
  if (!card || card.skills.length === 0) return err({ kind: 'extended-card-not-configured' });
  const published = await services.cards.publish(card, baseUrl);
  return ok(await published.json());
}

/** A task of this client, and of this tenant where one is named; its view is caught up. One that waits for its purge is gone. */
export async function readOwn(
  services: RpcServices,
  client: string,
  task: string,
  tenant: string | undefined,
): Promise<Result<{ readonly head: Head; readonly view: View }, A2AFailure>> {
  const seen = await readCaughtUp(services, task);
  const own = seen && seen.head.client === client && (tenant === undefined || tenant === seen.head.profile);
  return own && !(await isWithdrawn(services, seen.head)) ? ok(seen) : err({ kind: 'task-not-found' });
}

async function taskJson(
  call: Call<'GetTask' | 'CancelTask'>,
  seen: { readonly head: Head; readonly view: View },
  historyLength: number | undefined,
): Promise<Answer> {
  const task = await snapshot(call.services, seen.head, seen.view, {
    historyLength,
    maxHistory: call.settings.maxHistoryMessages,
  });
  return task === 'withdrawn' ? err({ kind: 'task-not-found' }) : ok(encodeTask(task));
}
