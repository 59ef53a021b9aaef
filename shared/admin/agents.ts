import * as z from 'zod';
import {
  type AgentInput,
  agentChanges,
  agentCredential,
  agentInput,
  agentsOf,
  check,
  type Deed,
  MASK,
  type RemoteAgent,
  readRecord,
  readRecords,
} from '../registry/index.ts';
import type { AdminFailure } from './failures.ts';
import {
  anId,
  answerEdit,
  done,
  failed,
  isoTime,
  isPossible,
  notFound,
  type OperationParts,
  type Operations,
  operation,
} from './operation.ts';

/**
 * What is asked of remote agents for an administrator; `shared/delegation` implements it. The card is read without the
 * credential; a test changes nothing. Nothing that an agent wrote is in the sentences but names of its card.
 */
export interface AgentOperations {
  readCard(
    agent: Pick<RemoteAgent, 'cardUrl' | 'allowedOrigins' | 'trustedHosts' | 'allowedPorts' | 'cardKey'>,
    knownEtag?: string,
  ): Promise<CardRead>;
  test(agent: RemoteAgent): Promise<{ readonly ok: boolean; readonly checks: readonly object[] }>;
}

export type CardRead =
  | {
      readonly kind: 'read';
      readonly interface: RemoteAgent['interface'];
      readonly name: string;
      readonly description: string;
      readonly etag?: string;
      readonly warnings: readonly string[];
    }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'unusable'; readonly field: string; readonly why: string };

type ReadCard = Extract<CardRead, { kind: 'read' }>;

const anAgent = z.strictObject({ id: anId });
const aFile = z.strictObject({ agent: z.unknown() });
const changes = z
  .strictObject({ id: anId, ...agentChanges })
  .refine(({ push, allowedOrigins }) => push !== undefined || allowedOrigins !== undefined, {
    error: 'must name what is to be changed: push or allowedOrigins',
  });
const rotation = z.strictObject({ id: anId, credential: agentCredential });
/** Where cards of A2A 1.0 stand on a host. */
const WELL_KNOWN = '/.well-known/agent-card.json';

export function agentOperations(parts: OperationParts): Operations {
  const { store, clock, editor, log, agents, agentSecrets } = parts;

  /** An edit of an agent that must be there. */
  const edited = (id: string, deed: Deed, change: (agent: RemoteAgent) => RemoteAgent, more: object = {}) =>
    answerEdit(
      editor.edit<'agent', AdminFailure>('agent', id, deed, (current) =>
        current
          ? { kind: 'save', value: change(current.value) }
          : { kind: 'refuse', failure: notFound('agent', id) },
      ),
      ({ value, changed }) => ({ agent: showAgent(value), changed: changed.filter(isTold), ...more }),
    );
  const found = async (id: string) =>
    isPossible('agent', id) ? (await readRecord(store, 'agent', id))?.value : undefined;

  return {
    'agent.add': operation(aFile, async (input, deed) => {
      const read = check(agentInput, input.agent);
      if (read.kind === 'invalid') return failed(read);
      const file = withCardPath(read.value);
      if (await found(file.id)) return failed({ kind: 'exists', subject: 'agent', id: file.id });
      const card = await agents.readCard(file);
      // Nothing of an agent that cannot be called is stored.
      if (card.kind !== 'read') return failed(refusedCard(card));
      const { credential, name, description, ...rest } = file;
      const sealed = credential === undefined ? undefined : await agentSecrets.seal(file.id, credential);
      const added: RemoteAgent = {
        ...rest,
        name: name ?? (card.name || file.id),
        description: description ?? card.description,
        ...(sealed ? { credential: sealed } : {}),
        disabled: false,
        ...pinned(card, clock.now()),
      };
      const edit = editor.edit<'agent', AdminFailure>('agent', file.id, deed, (current) =>
        current
          ? { kind: 'refuse', failure: { kind: 'exists', subject: 'agent', id: file.id } }
          : { kind: 'save', value: added },
      );
      return answerEdit(edit, ({ value }) => ({ agent: showAgent(value), warnings: card.warnings }));
    }),

    'agent.list': operation(z.strictObject({}), async () => {
      const all = await readRecords(store, 'agent', log);
      return done({ agents: all.map(({ value }) => showAgent(value)) });
    }),

    'agent.show': operation(anAgent, async ({ id }) => {
      const agent = await found(id);
      if (!agent) return failed(notFound('agent', id));
      return done({ agent: showAgent(agent), providers: await providersNaming(id) });
    }),

    'agent.test': operation(anAgent, async ({ id }) => {
      const agent = await found(id);
      if (!agent) return failed(notFound('agent', id));
      const { ok, checks } = await agents.test(agent);
      return done({ agent: id, ok, disabled: agent.disabled, checks });
    }),

    /** Reads the card anew and pins what it says now; a card that still holds by its ETag changes nothing but the time. */
    'agent.refresh': operation(anAgent, async ({ id }, deed) => {
      const agent = await found(id);
      if (!agent) return failed(notFound('agent', id));
      const card = await agents.readCard(agent, agent.cardEtag);
      if (card.kind === 'unusable') return failed(refusedCard(card));
      const cardReadAt = clock.now();
      if (card.kind === 'unchanged')
        return edited(id, deed, (current) => ({ ...current, cardReadAt }), { card: 'unchanged' });
      return edited(
        id,
        deed,
        ({ cardEtag: _, ...current }) => ({ ...current, ...pinned(card, cardReadAt) }),
        {
          card: 'read anew',
          before: agent.interface,
          warnings: card.warnings,
        },
      );
    }),

    /** For what is handed on from now on; steps that are waited for stay as they were begun. */
    'agent.set': operation(changes, async ({ id, ...set }, deed) => {
      const agent = await found(id);
      if (!agent) return failed(notFound('agent', id));
      const { origin } = new URL(agent.interface.url);
      const isAllowed = [new URL(agent.cardUrl).origin, ...(set.allowedOrigins ?? agent.allowedOrigins)];
      if (!isAllowed.some((allowed) => new URL(allowed).origin === origin)) {
        const field = 'allowedOrigins';
        const message = `${field}: the interface that is pinned is at ${origin}; allow that origin, or refresh the agent once its card offers another`;
        return failed({ kind: 'refused', field, message });
      }
      return edited(id, deed, (current) => ({ ...current, ...set }));
    }),

    'agent.disable': operation(anAgent, async ({ id }, deed) =>
      isPossible('agent', id)
        ? edited(id, deed, (agent) => ({ ...agent, disabled: true }))
        : failed(notFound('agent', id)),
    ),

    'agent.enable': operation(anAgent, async ({ id }, deed) =>
      isPossible('agent', id)
        ? edited(id, deed, (agent) => ({ ...agent, disabled: false }))
        : failed(notFound('agent', id)),
    ),

    'agent.rotate': operation(rotation, async ({ id, credential }, deed) => {
      if (!(await found(id))) return failed(notFound('agent', id));
      const sealed = await agentSecrets.seal(id, credential);
      return edited(id, deed, (agent) => ({ ...agent, credential: sealed }));
    }),

    /** What waits for it ends as failed when it is looked at next. */
    'agent.remove': operation(anAgent, async ({ id }, deed) => {
      if (!isPossible('agent', id)) return failed(notFound('agent', id));
      const removed = await editor.remove<'agent', AdminFailure>('agent', id, deed, async (current) => {
        if (!current) return notFound('agent', id);
        const [naming] = await providersNaming(id);
        return naming === undefined
          ? undefined
          : {
              kind: 'refused',
              field: 'id',
              message: `id: the provider "${naming}" names this agent; change that first, or disable the agent`,
            };
      });
      if (removed.kind === 'refused') return failed(removed.failure);
      return removed.kind === 'conflict' ? failed({ kind: 'conflict' }) : done({ removed: id });
    }),
  };

  async function providersNaming(id: string): Promise<readonly string[]> {
    const providers = await readRecords(store, 'provider', log);
    return providers.filter(({ value }) => agentsOf(value).includes(id)).map(({ value }) => value.id);
  }
}

/** A card's URL without a path is the place where cards stand. */
function withCardPath(file: AgentInput): AgentInput {
  const url = new URL(file.cardUrl);
  return url.pathname === '/' ? { ...file, cardUrl: `${url.origin}${WELL_KNOWN}` } : file;
}

function pinned(card: ReadCard, now: number) {
  return {
    interface: card.interface,
    ...(card.etag ? { cardEtag: card.etag } : {}),
    cardReadAt: now,
  };
}

function refusedCard(card: Exclude<CardRead, ReadCard>): AdminFailure {
  const { field, why } =
    card.kind === 'unusable'
      ? card
      : { field: 'cardUrl', why: 'the card was not sent, though none is known' };
  return { kind: 'refused', field, message: `${field}: ${why}` };
}

/** When the card was read is no change to tell of. */
function isTold(field: string): boolean {
  return field !== 'cardReadAt' && field !== 'cardEtag';
}

function showAgent(agent: RemoteAgent): object {
  const { credential, cardEtag: _, cardReadAt, interface: target, cardKey, ...rest } = agent;
  return {
    ...rest,
    ...(credential ? { credential: MASK } : {}),
    interface: target,
    cardKey: cardKey ? 'pinned' : 'none',
    cardReadAt: isoTime(cardReadAt),
  };
}
