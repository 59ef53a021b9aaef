import { MAX_HOPS } from '../delegation/hops.ts';
import { suspendForAgents } from '../delegation/suspend.ts';
import { MAX_TURNS, type ValidResult } from '../providers/index.ts';
import { isRetainable, type Profile, type Settings } from '../registry/index.ts';
import { keys } from '../storage/keys.ts';
import type { Step } from '../tasks/commit.ts';
import { type ResultPayload, resultActions, sealerOf } from '../tasks/content.ts';
import { FORMAT, given, type Head, type Reason } from '../tasks/formats.ts';
import type { TaskServices } from '../tasks/services.ts';
import { beginWorking, workingActions, workingName } from '../tasks/working.ts';
import type { RunSession } from './session.ts';

/** Whose result is committed, and by which rules. */
export interface Concluding {
  readonly services: TaskServices & Parameters<typeof suspendForAgents>[0];
  readonly session: RunSession;
  readonly profile: Profile | undefined;
  readonly settings: Settings;
}

/**
 * What is committed for a result: the task's state, its content, where the run stands after it (design §5, complete).
 * Built for the head it is given; where something of the head changed, it is built anew. Where nothing may be kept, every
 * result ends the task FAILED, distinguishably (design §7).
 */
export async function stepOf(concluding: Concluding, head: Head, result: ValidResult): Promise<Step> {
  const { services, session, profile, settings } = concluding;
  const now = services.clock.now();
  if (!isRetainable(head.ceiling)) return endFor('RESULT_NOT_RETAINED');
  switch (result.kind) {
    case 'completed': {
      const message = result.message && session.say(head, result.message);
      const payload = { artifacts: result.artifacts, ...given({ message }) };
      const waits = profile?.approval === 'result' && head.approval !== 'given';
      return waits
        ? suspendForApproval(services, head, payload, now + profile.approvalSeconds * 1000)
        : endWith(services, head, 'TASK_STATE_COMPLETED', payload);
    }
    case 'delegated': {
      // A provider that never does anything else would never end (P6).
      if (session.turns >= MAX_TURNS) return endFor('TOO_MANY_TURNS');
      const { provider, message, turns, hops } = session;
      if (hops >= MAX_HOPS) return endFor('TOO_MANY_HOPS');
      const who = { provider, message, turns: turns + 1, hops: hops + 1 };
      const step = await suspendForAgents(concluding.services, head, who, result);
      // An agent that was taken away since it was offered: nothing an attempt more would mend.
      return step ?? endFor('EXECUTION_FAILED');
    }
    case 'input-required':
    case 'auth-required': {
      // A question is asked only where there is room for its answer.
      if (head.messages >= settings.maxTaskMessages - 1) return endFor('TOO_MANY_MESSAGES');
      const state =
        result.kind === 'input-required' ? 'TASK_STATE_INPUT_REQUIRED' : 'TASK_STATE_AUTH_REQUIRED';
      const deadline = now + (profile?.inputSeconds ?? 0) * 1000;
      return session.spoken(head, result.message, { state, run: 'suspended', deadline, endTurn: true });
    }
    case 'rejected': {
      if (!result.message) return { state: 'TASK_STATE_REJECTED', run: 'ended' };
      const message = session.say(head, result.message);
      return endWith(services, head, 'TASK_STATE_REJECTED', { artifacts: [], message });
    }
    case 'failed': {
      if (head.deadline !== undefined && now >= head.deadline) return endFor('DEADLINE_EXCEEDED');
      if (!result.message) return endFor('EXECUTION_FAILED');
      const message = session.say(head, result.message);
      return endWith(services, head, 'TASK_STATE_FAILED', { artifacts: [], message });
    }
  }
}

/** The result as it may be kept: the original of one that is kept redacted is never written to a result item (P9). */
async function endWith(
  services: TaskServices,
  head: Head,
  state: 'TASK_STATE_COMPLETED' | 'TASK_STATE_REJECTED' | 'TASK_STATE_FAILED',
  payload: ResultPayload,
): Promise<Step> {
  const id = Buffer.from(services.random.bytes(9)).toString('base64url');
  const kept = head.ceiling === 'redacted' ? await redactResult(services, head, payload) : payload;
  const written = await resultActions(sealerOf(services, head, head.salt!), head.copy, id, kept);
  if (written === 'too-large') return endFor('RESULT_TOO_LARGE');
  return { state, run: 'ended', result: written.ref, with: written.actions };
}

async function redactResult(
  services: TaskServices,
  head: Head,
  payload: ResultPayload,
): Promise<ResultPayload> {
  const { messages, artifacts } = await services.privacy.redact(head.profile, {
    messages: payload.message ? [payload.message] : [],
    artifacts: payload.artifacts,
  });
  const message = messages[0];
  return { artifacts, ...(message ? { message } : {}) };
}

/** The draft is working state, sealed, until a person decides (design §7, approval). */
async function suspendForApproval(
  services: TaskServices,
  head: Head,
  payload: ResultPayload,
  deadline: number,
): Promise<Step> {
  const sealer = sealerOf(services, head, head.salt!);
  if ((await resultActions(sealer, head.copy, 'draft', payload)) === 'too-large')
    return endFor('RESULT_TOO_LARGE');
  const working = head.working ?? (await beginWorking(services, head.client, head.task));
  const draft = await workingActions(services, head, working, workingName.draft(), payload);
  const waiting = {
    ...keys.approval(head.task),
    v: FORMAT,
    client: head.client,
    profile: head.profile,
    rev: head.revision + 1,
    at: services.clock.now(),
    deadline,
  };
  return {
    state: 'TASK_STATE_AUTH_REQUIRED',
    run: 'suspended',
    approval: 'awaited',
    reason: 'APPROVAL_REQUIRED',
    deadline,
    working,
    with: [...draft, { kind: 'put', table: 'state', item: waiting }],
  };
}

function endFor(reason: Reason): Step {
  return { state: 'TASK_STATE_FAILED', run: 'ended', reason };
}
