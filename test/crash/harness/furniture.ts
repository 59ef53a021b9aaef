import { createSecretBox, type Provider, type RemoteAgent } from '../../../shared/registry/index.ts';
import { keys, type Value } from '../../../shared/storage/index.ts';
import type { TaskServices } from '../../../shared/tasks/services.ts';
import type { AgentScript } from './remote-agents.ts';

/** How long a world waits for an agent unless its script says otherwise, seconds. */
const WAIT_SECONDS = 3_600;

/** What an agent is called with; the word is looked for in everything that is stored. */
export const credentialOf = (agent: string): string => `agent-credential-of-${agent}`;

/** Registers remote agents straight in the store, each with a credential of its own. */
export async function registerAgents(
  services: TaskServices,
  agents: Readonly<Record<string, AgentScript>>,
  change: Partial<RemoteAgent> = {},
): Promise<void> {
  const secrets = createSecretBox(services.sealer, 'agent');
  for (const [id, { push, waitSeconds = WAIT_SECONDS }] of Object.entries(agents)) {
    const agent: RemoteAgent = {
      ...{ id, name: id, description: `works as ${id}`, push, waitSeconds },
      cardUrl: `https://${id}.example/.well-known/agent-card.json`,
      credential: await secrets.seal(id, credentialOf(id)),
      ...{ disabled: false, allowedOrigins: [], trustedHosts: [], allowedPorts: [], cardReadAt: 0 },
      interface: { url: `https://${id}.example/rpc`, protocolVersion: '1.0' },
      ...change,
    };
    await services.store.write({
      kind: 'put',
      table: 'registry',
      item: { ...keys.agent(id), v: 1, edition: 1, data: agent as unknown as Value },
    });
  }
}

/** Providers of a world with agents: scripts that are granted them all, or one that hands everything on to the first. */
export function providerKindOf(
  agents: readonly string[],
  isScripted: boolean,
):
  | { readonly kind: 'echo' }
  | Pick<Extract<Provider, { kind: 'remote' }>, 'kind' | 'agent'>
  | Pick<Extract<Provider, { kind: 'function' }>, 'kind' | 'functionName' | 'agents'> {
  const [first] = agents;
  if (first === undefined) return { kind: 'echo' };
  return isScripted
    ? { kind: 'function', functionName: 'scripted', agents }
    : { kind: 'remote', agent: first };
}
