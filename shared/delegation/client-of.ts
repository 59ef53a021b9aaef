import { type A2AClient, createA2AClient } from '../client/index.ts';
import type { Guard } from '../guard/index.ts';
import type { RemoteAgent, SecretBox } from '../registry/index.ts';
import type { Clock, Random } from '../runtime/ports.ts';
import { policyOf } from './agents.ts';

/**
 * Clients for remote agents, each for the interface that was pinned and with the agent's credential, which is opened for
 * the call only. Rejects with `UnusableClientOptions`, `SealBroken` or `KeyUnavailable`.
 */
export function createClientOf(parts: {
  readonly guard: Guard;
  /** Of kind `agent`. */
  readonly secrets: Pick<SecretBox, 'open'>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
}): (agent: RemoteAgent) => Promise<A2AClient> {
  const { guard, secrets, clock, random } = parts;
  return async (agent) => {
    const { url, protocolVersion, tenant } = agent.interface;
    return createA2AClient({
      guard,
      policy: policyOf(agent),
      interface: { url, protocolBinding: 'JSONRPC', protocolVersion, ...(tenant ? { tenant } : {}) },
      ...(agent.credential ? { credential: await secrets.open(agent.id, agent.credential) } : {}),
      clock,
      random,
    });
  };
}
