import middy from '@middy/core';
import {
  type AgentOperations,
  type ApprovalOperations,
  type CeilingOperations,
  createAdmin,
  type DependencyOperations,
  type PurgeOperation,
  type PushOperations,
  type RunOperations,
  type TaskOperations,
} from '../../shared/admin/index.ts';
import {
  approve,
  countProposed,
  listApprovals,
  reject,
  showApproval,
  showCeilingJob,
  startOfCeilingJob,
  tighteningInForceAt,
} from '../../shared/ceilings/index.ts';
import { readAgentCard, testAgent } from '../../shared/delegation/agents.ts';
import { createClientOf } from '../../shared/delegation/client-of.ts';
import {
  cancelDependency,
  listDependencies,
  listOpenDependencies,
  pollDependency,
  showDependency,
} from '../../shared/delegation/operate.ts';
import { createGuard } from '../../shared/guard/index.ts';
import { listHalted, listOfTask, resumeConfig, retryJob, showConfig } from '../../shared/push/operate.ts';
import { createSecretBox } from '../../shared/registry/index.ts';
import { purgeSelected } from '../../shared/retention/index.ts';
import { rebuildTask, repairAll, showTask } from '../../shared/runs/operate.ts';
import { cancelRun, planRun, replyToRun, showRun, startRun } from '../../shared/runs/started.ts';
import { composeTasks, type Seams } from '../../shared/runtime/compose.ts';
import { readEnvironment } from '../../shared/runtime/environment.ts';
import type { Log } from '../../shared/runtime/ports.ts';
import { composeInboxQueue, composeOutboxQueue, composeRunQueue } from '../../shared/runtime/queues.ts';
import { rolesOf } from '../../shared/runtime/roles.ts';
import { type AdminEvent, createRoute, type ProxyAnswer, refuse } from './routes.ts';

/** What tests put in the place of the adapters. */
export interface AdminSeams extends Seams {
  readonly tasks?: TaskOperations;
  readonly push?: PushOperations;
}

/** A walk over tasks answers after this, ms, with where to go on: API Gateway waits 29 s. */
const WALK_MS = 12_000;

/**
 * The administrator's route as a Lambda handler that answers with a proxy result (not in streaming form). Throws when
 * the environment is incomplete. No request fails: what goes wrong is answered as JSON.
 */
export function createHandler(
  variables: Readonly<Record<string, string | undefined>>,
  seams: AdminSeams = {},
) {
  const environment = readEnvironment(variables);
  const services = composeTasks(environment, 'admin', seams);
  const { store, clock, random, log } = services;
  const secrets = createSecretBox(services.sealer);
  const recovery = {
    ...services,
    runQueue: composeRunQueue(environment, seams),
    outboxQueue: composeOutboxQueue(environment, seams),
    inboxQueue: composeInboxQueue(environment, seams),
  };
  const tasks: TaskOperations = {
    show: (task) => showTask(services, task),
    rebuild: (task) => rebuildTask(services, task),
    repair: () => repairAll(recovery),
  };
  const push: PushOperations = {
    listHalted: (states) => listHalted(services, states),
    listOfTask: (task) => listOfTask(services, task),
    show: (task, config) => showConfig(services, task, config),
    resume: (task, config, audit) => resumeConfig(recovery, task, config, audit),
    retry: (task, config, revision, audit) => retryJob(recovery, task, config, revision, audit),
  };
  const ceilings: CeilingOperations = {
    start: (tightened) => startOfCeilingJob(services, tightened),
    inForceAt: () => tighteningInForceAt(services),
    show: () => showCeilingJob(services),
    count: (proposed, cursor) => countProposed(services, proposed, cursor, clock.now() + WALK_MS),
  };
  const approvals: ApprovalOperations = {
    list: () => listApprovals(services),
    show: (task) => showApproval(services, task),
    approve: (task, revision, audit) => approve(recovery, task, revision, audit),
    reject: (task, revision, audit) => reject(services, task, revision, audit),
  };
  const purge: PurgeOperation = (selection, cursor, dryRun) =>
    purgeSelected(services, selection, cursor, clock.now() + WALK_MS, dryRun);
  const agentSecrets = createSecretBox(services.sealer, 'agent');
  const publicUrl = environment.SEALPOST_PUBLIC_URL;
  const guard = createGuard({ ownHosts: publicUrl ? [new URL(publicUrl).host] : [], ...seams.outbound });
  const clientOf = createClientOf({ guard, secrets: agentSecrets, clock, random });
  const agents: AgentOperations = {
    readCard: (agent, knownEtag) => readAgentCard({ guard, clock }, agent, knownEtag),
    test: (agent) => testAgent({ guard, clock, random, clientOf }, agent),
  };
  const dependencies: DependencyOperations = {
    list: (task, filter) => listDependencies(recovery, task, filter),
    listOpen: (agent) => listOpenDependencies(recovery, agent),
    show: (task, id) => showDependency(recovery, task, id),
    poll: (task, id, audit) => pollDependency(recovery, task, id, audit),
    cancel: (task, id, audit) => cancelDependency(recovery, task, id, audit),
  };
  const runs: RunOperations = {
    start: (run) => startRun(recovery, run),
    plan: (actor) => planRun(services, actor),
    show: (task, actor, waitMs) => showRun(recovery, task, actor, waitMs),
    reply: (task, text, actor) => replyToRun(recovery, task, text, actor),
    cancel: (task) => cancelRun(recovery, task),
  };
  const admin = createAdmin({
    store,
    clock,
    random,
    secrets,
    log,
    tasks: seams.tasks ?? tasks,
    push: seams.push ?? push,
    ceilings,
    approvals,
    purge,
    agentSecrets,
    agents,
    dependencies,
    runs,
    clientRole: rolesOf(environment).client,
  });
  return middy<AdminEvent, ProxyAnswer>()
    .onError((request) => {
      request.response = answerFault(request.error, request.event, log);
    })
    .after(() => services.flush())
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
