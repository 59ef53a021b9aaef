import {
  type A2AClient,
  type CallFailure,
  type FetchedCard,
  fetchAgentCard,
  selectInterface,
  UnusableClientOptions,
} from '../client/index.ts';
import type { CallPolicy, Guard } from '../guard/index.ts';
import type { RemoteAgent } from '../registry/index.ts';
import type { Clock, Random } from '../runtime/ports.ts';
import { explainCall, explainCard, explainRefusal } from './explain.ts';

/** What of an agent decides how its card is read and whether its interface may be called. */
export type CardSource = Pick<
  RemoteAgent,
  'cardUrl' | 'allowedOrigins' | 'trustedHosts' | 'allowedPorts' | 'cardKey'
>;

export type CardReading =
  | {
      readonly kind: 'read';
      readonly interface: RemoteAgent['interface'];
      /** As the card has them, one line and a text within the registry's bounds. */
      readonly name: string;
      readonly description: string;
      readonly etag?: string;
      readonly isVerified: boolean;
      readonly takesPush: boolean;
      /** What is wrong with the card and does not keep it from being used. */
      readonly warnings: readonly string[];
    }
  /** The card of the known ETag still holds. */
  | { readonly kind: 'unchanged' }
  /** A sentence for administrators; nothing of the agent is to be stored or changed. */
  | { readonly kind: 'unusable'; readonly field: 'cardUrl' | 'cardKey'; readonly why: string };

export interface AgentServices {
  readonly guard: Guard;
  readonly clock: Clock;
  readonly random: Pick<Random, 'uuid'>;
  /** A client for an agent, with its credential. */
  readonly clientOf: (agent: RemoteAgent) => Promise<A2AClient>;
}

/** How long an administrator waits for an agent, ms; API Gateway gives up after 29 s. */
const CARD_MS = 10_000;
const CALL_MS = 10_000;

/**
 * Reads an agent's card through the guard, without any credential, and chooses its interface: the first with binding
 * JSONRPC and version 1.0 or 1.0.x, on the card's origin or one that the administrator allowed (design §8). Nothing is
 * called but the card. Never throws for what the agent or the network does.
 */
export async function readAgentCard(
  services: Pick<AgentServices, 'guard' | 'clock'>,
  agent: CardSource,
  knownEtag?: string,
): Promise<CardReading> {
  const { guard, clock } = services;
  const outcome = await fetchAgentCard({
    guard,
    policy: policyOf(agent),
    clock,
    url: agent.cardUrl,
    ...(agent.cardKey ? { pinnedKey: agent.cardKey } : {}),
    ...(knownEtag === undefined ? {} : { knownEtag }),
    timeouts: { totalMs: CARD_MS },
  });
  switch (outcome.kind) {
    case 'unchanged':
      return outcome;
    case 'card':
      return readingOf(guard, agent, outcome);
    case 'signature-refused':
      return { kind: 'unusable', field: 'cardKey', why: explainCard(outcome) };
    case 'transport-error':
    case 'invalid-card':
      return { kind: 'unusable', field: 'cardUrl', why: explainCard(outcome) };
  }
}

/** How an agent may be called, as far as the guard has to know. */
export function policyOf(agent: Pick<RemoteAgent, 'trustedHosts' | 'allowedPorts'>): CallPolicy {
  return {
    purpose: 'remote-agent',
    trustedHosts: agent.trustedHosts,
    allowedPorts: agent.allowedPorts,
  };
}

function readingOf(guard: Guard, agent: CardSource, fetched: FetchedCard): CardReading {
  const { card } = fetched;
  const unusable = (why: string): CardReading => ({ kind: 'unusable', field: 'cardUrl', why });
  const choice = selectInterface(card, agent.cardUrl, agent.allowedOrigins);
  if (choice.kind === 'no-compatible-interface') {
    const offered = choice.offered.map(
      ({ protocolBinding, protocolVersion }) =>
        `${printable(protocolBinding) || '?'} ${printable(protocolVersion) || '?'}`,
    );
    return unusable(
      `the card has no compatible interface: JSONRPC of version 1.0 is needed, and it offers ${offered.slice(0, 8).join(', ')}`,
    );
  }
  if (choice.kind === 'origin-refused')
    return unusable(
      `the card's interface is at ${printable(choice.origin)}, the card itself at ${choice.cardOrigin}; allow that origin if the credential may go there`,
    );
  const { url, protocolVersion, tenant } = choice.interface;
  const judged = guard.checkText(url, policyOf(agent));
  if (judged.verdict === 'refuse')
    return unusable(`the card's interface cannot be called: its URL ${explainRefusal(judged.rule)}`);
  return {
    kind: 'read',
    interface: { url, protocolVersion, ...(tenant ? { tenant } : {}) },
    name: printable(card.name).slice(0, 200).toWellFormed(),
    description: card.description
      .replaceAll(/[^\P{Cc}\t\n\r]/gu, ' ')
      .slice(0, 5_000)
      .toWellFormed(),
    ...(fetched.etag ? { etag: fetched.etag } : {}),
    isVerified: fetched.isVerified,
    takesPush: card.capabilities.pushNotifications === true,
    warnings: fetched.missing.map((field) => `the card leaves out ${field}, which A2A 1.0 requires`),
  };
}

function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ').trim();
}

/** One thing that a test of an agent looked at. */
export interface Check {
  readonly check: 'card' | 'signature' | 'interface' | 'push' | 'call';
  readonly outcome: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly says: string;
}

export interface AgentTest {
  readonly ok: boolean;
  readonly checks: readonly Check[];
}

/**
 * Reads the card anew and makes an authenticated GetTask of an id that nobody has, which changes nothing anywhere; says
 * what it saw in sentences. Holds no credential and nothing that the agent wrote but names of its card.
 */
export async function testAgent(services: AgentServices, agent: RemoteAgent): Promise<AgentTest> {
  const reading = await readAgentCard(services, agent);
  const checks = [...cardChecks(agent, reading), await callCheck(services, agent)];
  return { ok: checks.every(({ outcome }) => outcome !== 'failed'), checks };
}

function cardChecks(agent: RemoteAgent, reading: CardReading): Check[] {
  if (reading.kind === 'unchanged') return [];
  if (reading.kind === 'unusable') {
    const check = reading.field === 'cardKey' ? 'signature' : 'card';
    return [{ check, outcome: 'failed', says: reading.why }];
  }
  const { warnings } = reading;
  const isSame =
    reading.interface.url === agent.interface.url &&
    reading.interface.protocolVersion === agent.interface.protocolVersion &&
    reading.interface.tenant === agent.interface.tenant;
  return [
    {
      check: 'card',
      outcome: warnings.length > 0 ? 'warning' : 'ok',
      says: warnings.length > 0 ? warnings.join('; ') : 'the card could be read and is complete',
    },
    {
      check: 'signature',
      outcome: reading.isVerified ? 'ok' : 'skipped',
      says: reading.isVerified ? 'the card is signed by the pinned key' : 'no key is pinned for this agent',
    },
    {
      check: 'interface',
      outcome: isSame ? 'ok' : 'warning',
      says: isSame
        ? 'the card offers the interface that is pinned'
        : 'the card offers another interface than the one that is pinned; refresh the agent to use it',
    },
    pushCheck(agent, reading.takesPush),
  ];
}

function pushCheck(agent: RemoteAgent, takesPush: boolean): Check {
  if (agent.push === 'off')
    return { check: 'push', outcome: 'skipped', says: 'push is off for this agent: it is polled' };
  return takesPush
    ? { check: 'push', outcome: 'ok', says: 'the card says that the agent can call back' }
    : {
        check: 'push',
        outcome: 'warning',
        says: 'the card does not say that the agent can call back; where it does not, it is polled',
      };
}

async function callCheck(services: AgentServices, agent: RemoteAgent): Promise<Check> {
  const sent = agent.credential ? 'the credential' : 'a call without a credential';
  let client: A2AClient;
  try {
    client = await services.clientOf(agent);
  } catch (error) {
    if (!(error instanceof UnusableClientOptions)) throw error;
    return { check: 'call', outcome: 'failed', says: `the agent cannot be called (${error.message})` };
  }
  const answer = await client.getTask(
    { id: `sealpost-test-${services.random.uuid()}`, historyLength: 0 },
    { withinMs: CALL_MS },
  );
  if (answer.kind === 'ok')
    return {
      check: 'call',
      outcome: 'failed',
      says: 'the agent answered with a task for an id that nobody has',
    };
  return isNotFound(answer)
    ? {
        check: 'call',
        outcome: 'ok',
        says: `the agent took ${sent} and does not know the task, as it should (-32001)`,
      }
    : { check: 'call', outcome: 'failed', says: explainCall(answer, agent.credential !== undefined) };
}

function isNotFound(failure: CallFailure): boolean {
  return failure.kind === 'remote-error' && failure.code === -32001;
}
