import { hopsOf } from '../delegation/hops.ts';
import { readTurn, type Turn } from '../delegation/outcomes.ts';
import type { InboxServices } from '../delegation/services.ts';
import { wakeTurn } from '../delegation/wake.ts';
import { type ProviderAdapter, runChain, type ValidResult } from '../providers/index.ts';
import {
  agentsOf,
  isRetainable,
  type Profile,
  type Provider,
  type Registry,
  type Settings,
  tighter,
} from '../registry/index.ts';
import { given, type Head } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';
import { readWorking, workingName } from '../tasks/working.ts';
import { stepOf } from './conclude.ts';
import { needOf } from './decide.ts';
import { claim, release } from './lease.ts';
import { loadRun } from './load.ts';
import { endRun, nameOf } from './recover.ts';
import { type OwnMessage, RunSession } from './session.ts';

export interface ExecutorServices extends TaskServices, InboxServices {
  readonly registry: Pick<Registry, 'profile' | 'provider' | 'settings' | 'agent'>;
  readonly adapterFor: (provider: Provider) => ProviderAdapter;
}

/** `again`: the queue delivers the message once more after the delay; else it is acknowledged. */
export type Executed = { readonly kind: 'done' } | { readonly kind: 'again'; readonly delaySeconds: number };

const DONE: Executed = { kind: 'done' };
/** Waits between executions of one run, seconds, by executions so far. */
const BACKOFF_SECONDS = [0, 2, 5, 15, 30, 60];

/**
 * Takes one message of the run queue to its end (design §5, execute): claims the run, calls its providers and commits
 * what came out in one transaction (P1). A message for a run that ended, waits, or has a live lease is acknowledged and
 * forgotten. `until`: epoch ms by which this function must be done; the run is then given back, not lost.
 */
export async function executeRun(
  services: ExecutorServices,
  task: string,
  own: OwnMessage,
  until: number,
): Promise<Executed> {
  const head = await readHead(services, task);
  if (!head) return DONE;
  const need = needOf(head, services.clock.now());
  if (need.kind === 'end') await endRun(services, head, need.reason);
  if (need.kind !== 'execute') return DONE;
  const claimed = await claim(services, head);
  if (!claimed) return DONE;
  services.metrics.milliseconds('RunQueued', services.clock.now() - claimed.statusAt);

  const settings = await services.registry.settings();
  const session = new RunSession(services, claimed, settings.maxTaskMessages);
  session.start(own);
  try {
    const profile = await services.registry.profile(claimed.profile);
    const result = await resultOf(services, session, profile, settings, until);
    return await finish(services, session, profile, settings, result);
  } catch (error) {
    // Ours, not the provider's: the run is given back, and its attempt stays counted.
    services.log.error('an execution failed', { task, error: nameOf(error) });
    services.metrics.count('ExecutionFault');
    return await giveBack(services, session);
  } finally {
    await session.stop();
  }
}

/** An approved run has its result; any other gets it from its providers. */
async function resultOf(
  services: ExecutorServices,
  session: RunSession,
  profile: Profile | undefined,
  settings: Settings,
  until: number,
): Promise<ValidResult> {
  // What is kept of none of them is not asked for.
  if (!isRetainable(await services.privacy.levelOf(session.head))) return NOTHING_KEPT;
  if (session.head.approval === 'given') return readDraft(services, session.head);
  if (!profile) return { kind: 'failed', retryable: false, reason: 'configuration' };
  return callProviders(services, session, profile, settings, until);
}

/** Whatever it says, the run ends because nothing of it may be kept. */
const NOTHING_KEPT: ValidResult = { kind: 'failed', retryable: false, reason: 'aborted' };

async function callProviders(
  services: ExecutorServices,
  session: RunSession,
  profile: Profile,
  settings: Settings,
  until: number,
): Promise<ValidResult> {
  const { head } = session;
  const turn = await readTurn(services, head);
  const input = await loadRun(services, head, settings, turn?.message);
  session.message = input.number;
  // A turn after a delegation says what it has to say anew.
  session.beginAttempt(turn ? [] : input.told);
  session.turns = turn?.turns ?? 0;
  session.hops = hopsOf(input.message);
  const found = await Promise.all(profile.providers.map((id) => services.registry.provider(id)));
  const providers = found.filter((provider) => provider !== undefined);
  // A run that goes on after a delegation goes on with who delegated; only what stands behind it is its fallback.
  const from = turn
    ? Math.max(
        0,
        providers.findIndex(({ id }) => id === turn.provider),
      )
    : 0;
  return runChain({
    providers: providers.slice(from),
    adapterFor: (provider) => withAgents(services, provider, turn),
    metrics: services.metrics,
    clock: services.clock,
    newId: () => services.random.uuid(),
    // What is in force may have tightened since the task was accepted, and each further provider counts when it is
    // tried. A provider whose answer could not be kept is not called (design §7).
    onAttempt: async (provider) => {
      session.provider = provider.id;
      session.beginAttempt();
      const level = tighter(await services.privacy.levelOf(session.head), provider.answerLevel ?? 'full');
      await session.tighten(level, provider.id);
      return !session.lost.aborted && isRetainable(session.head.ceiling) ? 'go' : 'stop';
    },
    request: {
      task: head.task,
      context: head.context,
      client: head.client,
      profile: profile.id,
      message: input.message,
      history: input.history,
      contextMessages: input.contextMessages,
      references: input.references,
      ...given({ instructions: profile.instructions }),
      acceptedOutputModes: input.outputModes,
      agents: [],
      attempt: head.attempts,
      deadline: Math.min(head.deadline ?? until, until),
      signal: session.lost,
      progress: (text) => session.progress(text),
    },
  });
}

/**
 * The provider with the remote agents that it may hand steps to (disabled ones are not offered), and, if it was the one
 * that delegated, with what became of that.
 */
function withAgents(services: ExecutorServices, provider: Provider, turn: Turn | undefined): ProviderAdapter {
  const adapter = services.adapterFor(provider);
  const ids = provider.kind === 'remote' ? [] : agentsOf(provider);
  const own = turn?.provider === provider.id ? turn : undefined;
  if (ids.length === 0 && !own) return adapter;
  return {
    async run(request) {
      const found = await Promise.all(ids.map((id) => services.registry.agent(id)));
      const agents = found.flatMap((agent) =>
        agent && !agent.disabled ? [{ id: agent.id, name: agent.name, description: agent.description }] : [],
      );
      const delegation = own && { outcomes: own.outcomes, ...given({ transcript: own.transcript }) };
      return adapter.run({ ...request, agents, ...(delegation ? { delegation } : {}) });
    },
  };
}

async function finish(
  services: ExecutorServices,
  session: RunSession,
  profile: Profile | undefined,
  settings: Settings,
  result: ValidResult,
): Promise<Executed> {
  await session.tighten(await services.privacy.levelOf(session.head));
  if (session.lost.aborted) return DONE;
  const again = result.kind === 'failed' && isRetainable(session.head.ceiling);
  if (again && mayTryAgain(services, session.head, result)) return giveBack(services, session);
  const granted = agentsOf(await services.registry.provider(session.provider));
  const agent = async (id: string) => (granted.includes(id) ? services.registry.agent(id) : undefined);
  const concluding = {
    services: { ...services, agent },
    session,
    profile,
    settings,
  };
  const ending = await session.end((head) => stepOf(concluding, head, result));
  if (ending === 'committed' && session.head.run === 'ended') countEnding(services, session.head);
  if (ending === 'committed' && session.head.run === 'suspended') await wakeTurn(services, session.head);
  return DONE;
}

/** A retryable failure within deadline and attempts; `aborted` is a function that has to stop, never the run's fault. */
function mayTryAgain(
  services: ExecutorServices,
  head: Head,
  result: Extract<ValidResult, { kind: 'failed' }>,
): boolean {
  if (head.deadline !== undefined && services.clock.now() >= head.deadline) return false;
  return (result.retryable || result.reason === 'aborted') && head.attempts < head.maxAttempts;
}

async function giveBack(services: ExecutorServices, session: RunSession): Promise<Executed> {
  const { head } = session;
  if (session.lost.aborted) return DONE;
  try {
    await release(services, head.task, head.lease!.token);
  } catch {
    // The lease runs out by itself.
  }
  return { kind: 'again', delaySeconds: BACKOFF_SECONDS[head.attempts] ?? BACKOFF_SECONDS.at(-1)! };
}

/** A result that a person approved: the sealed draft, as it was suspended. */
async function readDraft(services: ExecutorServices, head: Head): Promise<ValidResult> {
  const draft = await readWorking<'draft'>(services, head, workingName.draft());
  if (!draft) return { kind: 'failed', retryable: true, reason: 'unavailable' };
  const { artifacts, message } = draft;
  return { kind: 'completed', artifacts, ...(message ? { message: message.parts } : {}) };
}

function countEnding(services: ExecutorServices, head: Head): void {
  services.metrics.count('TaskEnded', 1, { state: head.state, ...given({ reason: head.reason }) });
  services.metrics.milliseconds('TaskDuration', head.statusAt - head.createdAt);
}
