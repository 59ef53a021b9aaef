import { profileInput } from './schemas.ts';
import type { Profile, Provider, RemoteAgent } from './types.ts';

/** What of a provider, stored or in a file, says which remote agents it may hand steps to. */
export interface NamesAgents {
  readonly kind: Provider['kind'];
  readonly agent?: string;
  readonly agents?: readonly string[];
}

/** Remote agents that a provider may hand steps to (design §8). */
export function agentsOf(provider: NamesAgents | undefined): readonly string[] {
  if (provider?.agent !== undefined) return [provider.agent];
  return provider?.agents ?? [];
}

const PREFIX = 'agent:';

/** The name of the profile and the provider that hand a whole task on to an agent; none that is stored can have it. */
export function agentProfileId(agent: string): string {
  return `${PREFIX}${agent}`;
}

/** The agent in such a name; undefined for any other name. */
export function agentOfProfileId(id: string): string | undefined {
  return id.startsWith(PREFIX) ? id.slice(PREFIX.length) : undefined;
}

/**
 * What an administrator's run of a remote agent runs, without anybody having written a profile for it (design §8). It is
 * never published, so that no client can reach it.
 */
export function profileOfAgent(agent: RemoteAgent): Profile {
  const id = agentProfileId(agent.id);
  const defaults = profileInput.parse({ id: agent.id, name: agent.id, description: agent.id });
  return {
    ...defaults,
    id,
    name: agent.name,
    description: agent.description,
    providers: [id],
    inputModes: ['*/*'],
    outputModes: ['*/*'],
    published: false,
  };
}

export function providerOfAgent(agent: RemoteAgent): Provider {
  return { id: agentProfileId(agent.id), kind: 'remote', agent: agent.id, timeoutSeconds: 60 };
}
