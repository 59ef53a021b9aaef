import { createHash } from 'node:crypto';
import type { DelegateCall, ValidResult } from '../providers/index.ts';
import type { RemoteAgent } from '../registry/index.ts';
import { keys } from '../storage/keys.ts';
import type { Action } from '../storage/port.ts';
import type { Step } from '../tasks/commit.ts';
import type { Head, WorkingRef } from '../tasks/formats.ts';
import type { TaskServices } from '../tasks/services.ts';
import { beginWorking, type WorkingValues, workingActions, workingName } from '../tasks/working.ts';
import { countRegistrations, noteFull, roomForRegistrations } from './count.ts';
import {
  type Dependency,
  dependencyId,
  dependencyItem,
  type Registration,
  registrationItem,
} from './formats.ts';
import { waitsUntil } from './reply.ts';

type Delegated = Extract<ValidResult, { kind: 'delegated' }>;

/** Who hands steps on, for which message of the client, for the how many-th time, and as which hop of that message. */
interface Delegating {
  readonly provider: string;
  readonly message: number;
  readonly turns: number;
  readonly hops: number;
}

/** A step that nobody sent is looked at again after this, ms: the queue message for it may have been lost. */
const SEND_AGAIN_MS = 20_000;
/**
 * The suspension of a run that hands steps on (design §8): all dependencies of the turn with their outgoing messages,
 * pending registrations and what the provider left for itself, in the transaction that suspends. Nothing was sent yet;
 * each send can be repeated with the same id and body. Push is only a signal: where no more callback addresses may be
 * opened, the step is polled. `undefined`: an agent is not there or disabled.
 */
export async function suspendForAgents(
  services: TaskServices & { readonly agent: (id: string) => Promise<RemoteAgent | undefined> },
  head: Head,
  { hops, ...who }: Delegating,
  { calls, transcript }: Delegated,
): Promise<Step | undefined> {
  const working = head.working ?? (await beginWorking(services, head.client, head.task));
  const turn = head.turns + 1;
  const now = services.clock.now();
  const actions: Action[] = [];
  const dependencies: Dependency[] = [];
  let registrations = 0;
  let room: number | undefined;
  for (const [i, call] of calls.entries()) {
    const agent = await services.agent(call.agent);
    if (!agent || agent.disabled) return undefined;
    if (agent.push === 'embedded') room ??= await roomForRegistrations(services);
    const push = agent.push === 'embedded' && registrations === room ? 'off' : agent.push;
    const dependency = dependencyFor(services, head, { ...agent, push }, call, dependencyId(turn, i), now);
    if (push !== agent.push) noteFull(services, dependency);
    dependencies.push(dependency);
    const outgoing = { parts: call.parts, hops };
    const prepared = await prepare(services, head, working, dependency, outgoing);
    registrations += prepared.registration ? 1 : 0;
    actions.push(...prepared.actions);
  }
  const left = { ...who, calls: calls.map(({ id, agent }) => ({ id, agent })), transcript };
  actions.push(
    ...(await workingActions(services, head, working, workingName.turn(), left)),
    ...(registrations > 0 ? [countRegistrations(registrations)] : []),
  );
  return {
    state: 'TASK_STATE_WORKING',
    run: 'suspended',
    deadline: waitsUntil(dependencies),
    working,
    turn: { number: turn, waiting: calls.length },
    with: actions,
  };
}

function dependencyFor(
  services: TaskServices,
  head: Head,
  agent: RemoteAgent,
  call: DelegateCall,
  id: string,
  now: number,
): Dependency {
  return {
    task: head.task,
    id,
    agent: agent.id,
    call: call.id,
    state: 'new',
    messageId: services.random.uuid(),
    push: agent.push,
    registered: false,
    ...(agent.push === 'embedded' ? { registration: registrationId(services) } : {}),
    createdAt: now,
    deadline: now + agent.waitSeconds * 1000,
    tries: 0,
    polls: 0,
    due: keys.dueAt(now + SEND_AGAIN_MS),
  };
}

async function prepare(
  services: TaskServices,
  head: Head,
  working: WorkingRef,
  dependency: Dependency,
  goes: WorkingValues['outgoing'],
): Promise<{ readonly actions: readonly Action[]; readonly registration: boolean }> {
  const { id, registration } = dependency;
  const item = { kind: 'put', table: 'delegation', item: dependencyItem(dependency) } as const;
  const outgoing = await workingActions(services, head, working, workingName.outgoing(id), goes);
  if (!registration) return { actions: [item, ...outgoing], registration: false };
  const pending = await pendingRegistration(services, head, working, dependency, registration);
  return { actions: [item, ...outgoing, ...pending], registration: true };
}

/**
 * A pending registration: the hash of its credential, and the credential itself sealed in the working state until the
 * remote acknowledged it.
 */
export async function pendingRegistration(
  services: TaskServices,
  head: Head,
  working: WorkingRef,
  dependency: Pick<Dependency, 'id'>,
  id: string,
): Promise<readonly Action[]> {
  const credential = Buffer.from(services.random.bytes(32)).toString('base64url');
  const registration: Registration = {
    id,
    task: head.task,
    dependency: dependency.id,
    hash: hashCredential(credential),
    state: 'open',
    signals: 0,
  };
  return [
    { kind: 'put', table: 'delegation', item: registrationItem(registration) },
    ...(await workingActions(services, head, working, workingName.credential(dependency.id), { credential })),
  ];
}

export function registrationId(services: Pick<TaskServices, 'random'>): string {
  return Buffer.from(services.random.bytes(18)).toString('base64url');
}

/** SHA-256, base64url: the credential has 256 random bits. */
export function hashCredential(credential: string): string {
  return createHash('sha256').update(credential).digest('base64url');
}
