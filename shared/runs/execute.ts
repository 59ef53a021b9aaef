import { type ProviderAdapter, runChain, type ValidResult } from '../providers/index.ts';
import type { Profile, Provider, Registry, Settings } from '../registry/index.ts';
import type { Step } from '../tasks/commit.ts';
import { resultActions, sealerOf } from '../tasks/content.ts';
import { type EndReason, given, type Head } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';
import { needOf } from './decide.ts';
import { claim, noteTried, release } from './lease.ts';
import { loadRun } from './load.ts';
import { endRun, nameOf } from './recover.ts';
import { type OwnMessage, RunSession } from './session.ts';

export interface ExecutorServices extends TaskServices {
  readonly registry: Pick<Registry, 'profile' | 'provider' | 'settings'>;
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
    const result = profile
      ? await callProviders(services, session, profile, settings, until)
      : ({ kind: 'failed', retryable: false, reason: 'configuration' } as const);
    return await conclude(services, session, profile, settings, result);
  } catch (error) {
    // Ours, not the provider's: the run is given back, and its attempt stays counted.
    services.log.error('an execution failed', { task, error: nameOf(error) });
    services.metrics.count('ExecutionFault');
    return await giveBack(services, session);
  } finally {
    await session.stop();
  }
}

async function callProviders(
  services: ExecutorServices,
  session: RunSession,
  profile: Profile,
  settings: Settings,
  until: number,
): Promise<ValidResult> {
  const { head } = session;
  const input = await loadRun(services, head, settings);
  const found = await Promise.all(profile.providers.map((id) => services.registry.provider(id)));
  return runChain({
    providers: found.filter((provider) => provider !== undefined),
    adapterFor: services.adapterFor,
    metrics: services.metrics,
    clock: services.clock,
    newId: () => services.random.uuid(),
    // The first provider was counted when the task was accepted; a further one is noted before it is tried (design §7).
    onAttempt: async (provider, index) => {
      if (index === 0) return 'go';
      return (await noteTried(services, head.task, head.lease!.token, provider.id)) ? 'go' : 'stop';
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
      attempt: head.attempts,
      deadline: Math.min(head.deadline ?? until, until),
      signal: session.lost,
      progress: (text) => session.progress(text),
    },
  });
}

async function conclude(
  services: ExecutorServices,
  session: RunSession,
  profile: Profile | undefined,
  settings: Settings,
  result: ValidResult,
): Promise<Executed> {
  if (session.lost.aborted) return DONE;
  if (result.kind === 'failed' && mayTryAgain(services, session.head, result))
    return giveBack(services, session);
  const ending = await session.end((head) => stepOf(services, session, head, profile, settings, result));
  if (ending === 'committed') countEnding(services, session.head);
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

/** What is committed for a result: the task's state, its content, where the run stands after it. */
async function stepOf(
  services: ExecutorServices,
  session: RunSession,
  head: Head,
  profile: Profile | undefined,
  settings: Settings,
  result: ValidResult,
): Promise<Step> {
  switch (result.kind) {
    case 'completed': {
      const message = result.message && session.message(head, result.message);
      return endWith(services, head, 'TASK_STATE_COMPLETED', {
        artifacts: result.artifacts,
        ...given({ message }),
      });
    }
    case 'input-required':
    case 'auth-required': {
      if (head.messages >= settings.maxTaskMessages) return endFor('TOO_MANY_MESSAGES');
      const state =
        result.kind === 'input-required' ? 'TASK_STATE_INPUT_REQUIRED' : 'TASK_STATE_AUTH_REQUIRED';
      const deadline = services.clock.now() + (profile?.inputSeconds ?? 0) * 1000;
      return session.spoken(head, result.message, { state, run: 'suspended', deadline });
    }
    case 'rejected':
      if (!result.message) return { state: 'TASK_STATE_REJECTED', run: 'ended' };
      return endWith(services, head, 'TASK_STATE_REJECTED', {
        artifacts: [],
        message: session.message(head, result.message),
      });
    case 'failed': {
      if (head.deadline !== undefined && services.clock.now() >= head.deadline)
        return endFor('DEADLINE_EXCEEDED');
      if (!result.message) return endFor('EXECUTION_FAILED');
      return endWith(services, head, 'TASK_STATE_FAILED', {
        artifacts: [],
        message: session.message(head, result.message),
      });
    }
  }
}

async function endWith(
  services: ExecutorServices,
  head: Head,
  state: 'TASK_STATE_COMPLETED' | 'TASK_STATE_REJECTED' | 'TASK_STATE_FAILED',
  payload: Parameters<typeof resultActions>[2],
): Promise<Step> {
  const id = Buffer.from(services.random.bytes(9)).toString('base64url');
  const written = await resultActions(sealerOf(services, head, head.salt!), id, payload);
  if (written === 'too-large') return endFor('RESULT_TOO_LARGE');
  return { state, run: 'ended', result: written.ref, with: written.actions };
}

function endFor(reason: EndReason): Step {
  return { state: 'TASK_STATE_FAILED', run: 'ended', reason };
}

function countEnding(services: ExecutorServices, head: Head): void {
  services.metrics.count('TaskEnded', 1, { state: head.state, ...given({ reason: head.reason }) });
  services.metrics.milliseconds('TaskDuration', head.statusAt - head.createdAt);
}
