import * as z from 'zod';
import {
  agentOfProfileId,
  agentProfileId,
  type Deed,
  providerOfAgent,
  type RemoteAgent,
  readRecord,
} from '../registry/index.ts';
import type { AdminFailure } from './failures.ts';
import {
  type AdminAnswer,
  done,
  failed,
  isPossible,
  notFound,
  type OperationParts,
  type Operations,
  operation,
} from './operation.ts';
import { surroundings, unpublishable } from './profiles.ts';

/**
 * Runs that administrators start themselves, as the built-in client `admin` (design §8): delegation works with the server
 * role off. `shared/runs` implements it. Content is in no answer but `task` of a run that `actor` started.
 */
export interface RunOperations {
  start(run: PlannedRun & { readonly profile: string; readonly text: string }): Promise<object>;
  /** The ids that a run will have; its context says, to nobody else, who started it. */
  plan(actor: string): PlannedRun;
  /** Waits up to `waitMs` for the run to rest. */
  show(task: string, actor: string, waitMs: number): Promise<object | undefined>;
  reply(
    task: string,
    text: string,
    actor: string,
  ): Promise<'accepted' | 'not-asked' | 'not-kept' | 'not-yours' | 'unknown'>;
  cancel(task: string): Promise<'canceled' | 'terminal' | 'unknown'>;
}

export interface PlannedRun {
  readonly task: string;
  readonly context: string;
}

/** Characters of a message. */
const LONGEST = 500_000;
/** API Gateway gives up after 29 s. */
const MOST_WAIT = 20;

const text = z
  .string()
  .min(1)
  .max(LONGEST)
  .refine((value) => value.isWellFormed(), { error: 'must be well-formed Unicode' });
const aTask = z.string().min(1).max(128);
const start = z.strictObject({ target: z.string().min(1).max(80), message: text });
const show = z.strictObject({ id: aTask, waitSeconds: z.int().min(0).max(MOST_WAIT).default(0) });
const reply = z.strictObject({ id: aTask, message: text });

export function runOperations(parts: OperationParts): Operations {
  const { store, editor, runs } = parts;

  /** The profile that `target` names: `agent:<id>`, a profile's id, or an agent's where no profile has it. */
  async function profileOf(target: string): Promise<{ readonly profile: string } | AdminFailure> {
    const named = agentOfProfileId(target);
    const [profile, agent] = await Promise.all([
      isPossible('profile', target) ? readRecord(store, 'profile', target) : undefined,
      isPossible('agent', named ?? target) ? readRecord(store, 'agent', named ?? target) : undefined,
    ]);
    if (profile && agent)
      return refused(`"${target}" names a profile and an agent; write agent:${target} for the agent`);
    if (profile)
      return unpublishable(profile.value, await surroundings(store, profile.value)) ?? { profile: target };
    if (agent) return runnableAgent(agent.value);
    return notFound('profile or agent', target);
  }

  async function runnableAgent(agent: RemoteAgent): Promise<{ readonly profile: string } | AdminFailure> {
    if (agent.disabled) return refused('the agent is disabled');
    const profile = agentProfileId(agent.id);
    const { settings } = await surroundings(store, { providers: [] });
    const around = { settings, chain: [providerOfAgent(agent)], missing: [] };
    return unpublishable({ providers: [profile] }, around) ?? { profile };
  }

  return {
    'run.start': operation(start, async ({ target, message }, deed) => {
      const named = await profileOf(target);
      if ('kind' in named) return failed(named);
      const planned = runs.plan(deed.actor);
      await editor.record(deed, {
        kind: 'run',
        id: planned.task,
        profile: named.profile,
        context: planned.context,
      });
      return done(await runs.start({ ...named, ...planned, text: message }));
    }),

    'run.show': operation(show, async ({ id, waitSeconds }, deed) => {
      const shown = await runs.show(id, deed.actor, waitSeconds * 1000);
      return shown ? done(shown) : failed(notFound('run', id));
    }),

    'run.reply': operation(reply, async ({ id, message }, deed) => {
      await editor.record(deed, { kind: 'run', id });
      return replied(id, await runs.reply(id, message, deed.actor));
    }),

    'run.cancel': operation(z.strictObject({ id: aTask }), async ({ id }, deed: Deed) => {
      await editor.record(deed, { kind: 'run', id });
      switch (await runs.cancel(id)) {
        case 'canceled':
          return done({ id, state: 'TASK_STATE_CANCELED' });
        case 'terminal':
          return failed(refused('the run has ended already', 'id'));
        case 'unknown':
          return failed(notFound('run', id));
      }
    }),
  };
}

function replied(id: string, outcome: Awaited<ReturnType<RunOperations['reply']>>): AdminAnswer {
  switch (outcome) {
    case 'accepted':
      return done({ id, says: 'the reply is passed on' });
    case 'not-asked':
      return failed(refused('the run asks nothing now', 'id'));
    case 'not-kept':
      return failed(refused('the privacy policy in force keeps nothing of this run any more', 'id'));
    case 'not-yours':
      return failed(refused('only who started the run may reply', 'id'));
    case 'unknown':
      return failed(notFound('run', id));
  }
}

function refused(why: string, field = 'target'): AdminFailure {
  return { kind: 'refused', field, message: `${field}: ${why}` };
}
